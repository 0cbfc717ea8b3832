//! A small engine that computes on a device, with operations that can be slowed down or skipped.
//!
//! Each step launches the kernels of a few layers and waits for them. A kernel repeats a multiplication and an addition
//! as often as its operation states, so that a slower operation computes more. `figures/what_if` compares runs of it.

mod opencl;
mod wgpu;

use std::path::Path;
use std::time::{Duration, Instant};

use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::span;

use crate::contenders::Outcome;
use crate::engine_runs::{finish, program};

/// The first argument that makes this program the engine.
pub(crate) const ENGINE: &str = "device-engine";
/// The drivers that the engine can use, by the names of its second argument.
pub(crate) const DRIVERS: [&str; 2] = ["opencl", "wgpu"];

/// Number of layers.
const LAYERS: usize = 3;
/// Steps before the recorded ones: drivers compile kernels at their first use.
const WARM_UP: usize = 20;
/// Recorded steps.
const STEPS: usize = 300;
/// Number of values that a kernel computes.
const VALUES: usize = 4096;
/// Time of operations of the host.
const SCHEDULE: Duration = Duration::from_micros(60);
const SAMPLE: Duration = Duration::from_micros(150);

/// An operation of the device.
#[derive(Clone, Copy, Debug)]
struct DeviceOp {
    name: &'static str,
    category: &'static str,
    /// Number of products and sums of each value.
    repeats: u32,
}

const IN_LAYERS: [DeviceOp; 3] = [
    DeviceOp { name: "qkv_proj", category: "gemm", repeats: 150 },
    DeviceOp { name: "attention", category: "attention", repeats: 250 },
    DeviceOp { name: "mlp", category: "gemm", repeats: 350 },
];
const LAST: DeviceOp = DeviceOp { name: "lm_head", category: "gemm", repeats: 600 };

/// Starts the engine as a process of its own, records it, and waits for it. Drivers compute on one thread.
pub(crate) fn start(driver: &str, trace: &Path, changes: &[(&str, f64)]) -> Outcome {
    let mut command = program(&std::env::current_exe()?);
    command.args([ENGINE, driver]).args(changes.iter().map(|(op, factor)| format!("{op}={factor}")));
    command.env("FERRUM_TRACE_OUT", trace).env("POCL_MAX_PTHREAD_COUNT", "1").env("LP_NUM_THREADS", "1");
    finish(command)
}

/// A driver with one queue.
trait Driver {
    /// Compares the clocks of device and host.
    fn calibrate(&mut self) -> Outcome;
    /// Launches a kernel, with this number of products and sums of each value.
    fn launch(&mut self, op: DeviceOp, repeats: u32) -> Outcome;
    /// Submits what was launched, if the driver has not done so.
    fn submit(&mut self);
    /// Waits until the device is done.
    fn wait(&mut self) -> Outcome;
}

/// The engine's `main`: the driver, and changes such as `attention=2` or `lm_head=0`.
pub(crate) fn run(mut args: impl Iterator<Item = String>) -> Outcome {
    let driver = args.next().unwrap_or_default();
    let changes: Vec<(String, f64)> = args.map(|text| parse_change(&text)).collect::<Result<_, _>>()?;
    let slow = |name: &str| changes.iter().find(|(op, _)| op == name).map_or(1.0, |(_, factor)| *factor);
    match driver.as_str() {
        "opencl" => steps(&mut opencl::OpenCl::new()?, &slow),
        "wgpu" => steps(&mut wgpu::Wgpu::new()?, &slow),
        _ => Err(format!("expected one of the drivers {}, found `{driver}`", DRIVERS.join(", ")).into()),
    }
}

fn parse_change(text: &str) -> Result<(String, f64), String> {
    let expected = || format!("expected OP=FACTOR, found `{text}`");
    let (op, factor) = text.split_once('=').ok_or_else(expected)?;
    Ok((op.to_owned(), factor.parse().map_err(|_| expected())?))
}

fn steps(driver: &mut impl Driver, slow: &impl Fn(&str) -> f64) -> Outcome {
    for _ in 0..WARM_UP {
        layers(driver, slow)?;
        driver.submit();
        driver.wait()?;
    }
    driver.calibrate()?;
    for step in 0..STEPS {
        host_op(SCHEDULE, slow("schedule"), || llm::op!("schedule", Scheduler));
        let _step = llm::step(Step {
            phase: Phase::Decode,
            batch: 1,
            prefill_tokens: 0,
            decode_tokens: 1,
            context_tokens: step + 1,
        });
        layers(driver, slow)?;
        {
            let _submit = span!("submit", "launch");
            driver.submit();
        }
        {
            let _wait = span!("wait", "sync");
            driver.wait()?;
        }
        host_op(SAMPLE, slow("sample"), || llm::op!("sample", Sampling));
    }
    Ok(())
}

fn layers(driver: &mut impl Driver, slow: &impl Fn(&str) -> f64) -> Outcome {
    for layer in 0..LAYERS {
        let _layer = llm::layer(layer);
        for op in IN_LAYERS {
            launch(driver, op, slow)?;
        }
    }
    launch(driver, LAST, slow)
}

fn launch(driver: &mut impl Driver, op: DeviceOp, slow: &impl Fn(&str) -> f64) -> Outcome {
    let repeats = f64::from(op.repeats) * slow(op.name);
    if repeats > 0.0 {
        let _launch = span!("launch", "launch");
        driver.launch(op, repeats.round() as u32)?;
    }
    Ok(())
}

/// Computes for a time, as an operation of the host does.
fn host_op<S>(time: Duration, factor: f64, probe: impl FnOnce() -> S) {
    let _span = probe();
    let end = Instant::now() + time.mul_f64(factor);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}
