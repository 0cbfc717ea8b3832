//! Child processes that record, and the spools that they leave.

use crate::scene::Scene;
use ferrum_trace::{Timestamp, Track, complete_at};
use ferrum_trace_testkit::process::Running;
use std::io::BufRead;
use std::process::Command;
use std::time::Duration;

/// The variable that makes this process the child.
pub(crate) const CHILD: &str = "FERRUM_TRACE_CLI_TEST_CHILD";
/// Arguments that run only the child of the test program.
pub(crate) const CHILD_ARGS: [&str; 3] = ["--exact", "maker::the_child_records_until_it_is_killed", "--nocapture"];
/// The line that the child prints after each order.
const DONE: &str = "@done";

/// A child process that records on demand.
pub(crate) struct Maker {
    running: Running,
}

impl Maker {
    /// Starts a process that records to this file of the scene.
    pub(crate) fn start(scene: &Scene, trace: &str) -> Self {
        Self::start_with(scene, trace, &[])
    }

    /// Like [`start`](Self::start), with more variables.
    pub(crate) fn start_with(scene: &Scene, trace: &str, vars: &[(&str, &str)]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(CHILD_ARGS).env(CHILD, "1").env("FERRUM_TRACE_OUT", scene.path(trace)).envs(vars.iter().copied());
        let mut maker = Self { running: Running::start(&mut command) };
        maker.running.wait_for_line(DONE);
        maker
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Records `n_spans` spans on each of two threads.
    pub(crate) fn record(&mut self, n_spans: u32) {
        self.tell(&format!("record {n_spans}"));
    }

    /// Records requests one after the other, each with a prefill step and two decode steps.
    pub(crate) fn serve(&mut self, n_requests: u32) {
        self.tell(&format!("serve {n_requests}"));
    }

    /// Records every kind of event `n` times.
    pub(crate) fn record_everything(&mut self, n: u32) {
        self.tell(&format!("everything {n}"));
    }

    /// Records four steps of an engine with a device, with known times: see [`record_device`].
    pub(crate) fn record_device(&mut self, rank: u64) {
        self.tell(&format!("device {rank}"));
    }

    /// Flushes the recording.
    pub(crate) fn flush(&mut self) {
        self.tell("flush");
    }

    /// Kills the process.
    pub(crate) fn kill(mut self) {
        self.running.kill();
        self.running.finish();
    }

    /// Lets the process end normally.
    pub(crate) fn exit(self) {
        self.running.finish().expect_success();
    }

    fn tell(&mut self, order: &str) {
        self.running.tell(order);
        self.running.wait_for_line(DONE);
    }
}

/// Leaves a spool with `2 * n_spans` spans of two threads, whose process was killed.
pub(crate) fn killed(scene: &Scene, trace: &str, n_spans: u32) {
    let mut maker = Maker::start(scene, trace);
    maker.record(n_spans);
    maker.kill();
}

/// A scene with the spool `trace.json.spool` of a killed process, with `2 * n_spans` spans.
pub(crate) fn spool_of_killed_process(n_spans: u32) -> Scene {
    let scene = Scene::new();
    killed(&scene, "trace.json", n_spans);
    scene
}

/// Does nothing when it is run as a test; [`Maker`] runs it as the child.
#[test]
fn the_child_records_until_it_is_killed() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    assert!(ferrum_trace::is_on(), "the environment asks for a recording");
    // The test harness has printed an incomplete line.
    println!("\n{DONE}");
    for order in std::io::stdin().lock().lines() {
        match order.unwrap().split_once(' ') {
            Some(("record", n_spans)) => record(n_spans.parse().unwrap()),
            Some(("serve", n_requests)) => (0..n_requests.parse().unwrap()).for_each(serve),
            Some(("everything", n)) => (0..n.parse().unwrap()).for_each(record_everything),
            Some(("device", rank)) => record_device(rank.parse().unwrap()),
            _ => ferrum_trace::flush().unwrap(),
        }
        println!("{DONE}");
    }
}

/// Records four steps of a millisecond, each with these slices on two streams, in microseconds; `R` is 50 times the
/// rank:
///
/// ```text
/// stream 7     100 qkv 300      400 mlp 600      700 copy 750
/// stream 20           250 all_reduce 450 + R
/// ```
fn record_device(rank: u64) {
    let (engine, compute) = (Track::new("engine"), Track::new("GPU 0 / stream 7"));
    let comm = Track::new("GPU 0 / stream 20");
    let base = Timestamp::now();
    for step in 0..4 {
        let at = |micros: u64| base + Duration::from_micros(step * 1000 + micros);
        complete_at!(engine, at(0), at(900), "decode", "step", phase = "decode", batch = 2);
        complete_at!(engine, at(50), at(650), "layer", "layer", layer = 0);
        complete_at!(compute, at(100), at(300), "qkv", "gemm", layer = 0);
        complete_at!(comm, at(250), at(450 + 50 * rank), "all_reduce", "comm");
        complete_at!(compute, at(400), at(600), "mlp", "gemm", layer = 0);
        complete_at!(compute, at(700), at(750), "kv d2h", "memory");
    }
}

fn record(n_spans: u32) {
    for name in ["prefill loop", "decode loop"] {
        let work = move || {
            for n in 0..n_spans {
                let _span = ferrum_trace::span!("step", "engine", n, text = "a text that is longer than eight bytes");
            }
        };
        std::thread::Builder::new().name(name.to_owned()).spawn(work).unwrap().join().unwrap();
    }
}

/// Records a request that overlaps with its neighbors, nested slices, instants, counters and flows.
fn record_everything(id: u64) {
    use ferrum_trace::{Flow, async_begin, async_end, async_instant, counter, instant, span};
    async_begin!("request", "request", id, prompt_tokens = 7);
    async_begin!("decode", "request", id);
    async_instant!("token", "request", id, text = "a text that is longer than eight bytes");
    let flow = Flow::new();
    {
        let step = span!("decode", "step", batch = 2, ratio = 0.5);
        step.flow_out(flow);
        let _op = span!("up_proj", "gemm");
        instant!("mark", "step", reason = "test");
        counter!("queue", waiting = id, running = 1);
    }
    let work = move || span!("copy", "memory").flow_in(flow);
    std::thread::Builder::new().name("copies".to_owned()).spawn(work).unwrap().join().unwrap();
    async_end!("decode", "request", id);
    if let Some(before) = id.checked_sub(1) {
        async_end!("request", "request", before, reason = "length");
    }
}

fn serve(id: u64) {
    use ferrum_trace::{async_begin, async_end, async_instant, span};
    async_begin!("request", "request", id, prompt_tokens = 7);
    async_begin!("queued", "request", id);
    async_end!("queued", "request", id);
    async_begin!("prefill", "request", id);
    {
        let _step = span!("prefill", "step", phase = "prefill", batch = 1, prefill_tokens = 7, decode_tokens = 0);
        let _op = span!("up_proj", "gemm");
    }
    async_end!("prefill", "request", id);
    async_instant!("first token", "request", id);
    async_begin!("decode", "request", id);
    for n_tokens in [1, 3] {
        {
            let _step =
                span!("decode", "step", phase = "decode", batch = 1, prefill_tokens = 0, decode_tokens = n_tokens);
            let _op = span!("up_proj", "gemm");
        }
        async_instant!("token", "request", id, tokens = n_tokens);
    }
    async_end!("decode", "request", id);
    async_end!("request", "request", id, output_tokens = 5, reason = "length");
}
