//! OpenCL on a real driver: the machine's own, or PoCL, which runs on the CPU.
//!
//! These tests do not skip: without a driver they fail. On Debian: `apt install pocl-opencl-icd`.
#![cfg(feature = "opencl")]
#![allow(clippy::print_stdout, reason = "tests may print")]
#![allow(unsafe_code)]

mod common;

use common::{ERROR_NS_MAX, Window, assert_inside, learn_drift, leave_for_viewers, recorded, turn};
use ferrum_trace::{Timestamp, span};
use ferrum_trace_device::{ClockMap, Counts, OpenClTimeline};
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device, get_all_devices};
use opencl3::event::{Event, create_user_event, set_user_event_status};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::platform::Platform;
use opencl3::program::Program;
use std::sync::MutexGuard;

const SOURCE: &str = "
kernel void work(global float* data) {
    size_t i = get_global_id(0);
    float x = data[i];
    for (int n = 0; n < 64; n++) x = x * 1.0001f + 0.5f;
    data[i] = x;
}";

struct Gpu {
    _turn: MutexGuard<'static, ()>,
    context: Context,
    queue: CommandQueue,
    kernel: Kernel,
    data: Buffer<f32>,
}

impl Gpu {
    fn new(properties: u64) -> Self {
        let turn = turn();
        let devices = get_all_devices(CL_DEVICE_TYPE_ALL)
            .expect("expected an OpenCL driver, found none; on Debian: `apt install pocl-opencl-icd`");
        let device = Device::new(*devices.first().expect("expected an OpenCL device, found none"));
        println!("{:?} {:?}", device.name(), device.driver_version());
        let context = Context::from_device(&device).unwrap();
        let queue = CommandQueue::create_default(&context, properties).unwrap();
        let program = Program::create_and_build_from_source(&context, SOURCE, "").unwrap();
        let kernel = Kernel::create(&program, "work").unwrap();
        // SAFETY: the buffer is made without memory of the host.
        let data = unsafe { Buffer::<f32>::create(&context, CL_MEM_READ_WRITE, 1024, std::ptr::null_mut()) }.unwrap();
        Self { _turn: turn, context, queue, kernel, data }
    }

    fn is_pocl(&self) -> bool {
        let platform = Platform::new(Device::new(self.context.devices()[0]).platform().unwrap());
        platform.name().unwrap() == "Portable Computing Language"
    }

    /// Enqueues a small kernel, optionally after an event.
    fn enqueue(&self, after: Option<&Event>) -> Event {
        let mut execution = ExecuteKernel::new(&self.kernel);
        // SAFETY: the kernel has one argument, a buffer with one float per item.
        let execution = unsafe { execution.set_arg(&self.data) }.set_global_work_size(1024);
        if let Some(event) = after {
            execution.set_event_wait_list(&[event.get()]);
        }
        // SAFETY: as above; nothing else uses the buffer.
        unsafe { execution.enqueue_nd_range(&self.queue) }.unwrap()
    }

    /// Enqueues a kernel in a slot of its own.
    fn launch(&self, timeline: &mut OpenClTimeline, after: Option<&Event>) -> Event {
        let launch = timeline.launch("kernel", "gemm");
        let event = self.enqueue(after);
        timeline.launched(launch, &event);
        event
    }
}

#[test]
fn a_thousand_dispatches_are_inside_the_windows_of_the_host() {
    let gpu = Gpu::new(CL_QUEUE_PROFILING_ENABLE);
    let mut timeline = OpenClTimeline::new("GPU 0 / queue", &gpu.queue, 64).unwrap();
    learn_drift(|| timeline.calibrate(&gpu.queue));
    let (trace, windows) = recorded("opencl.json", || {
        let dispatch = |n| -> Window {
            if n % 20 == 0 {
                timeline.calibrate(&gpu.queue).unwrap();
            }
            let before = Timestamp::now();
            {
                let _launch = span!("launch", "scheduler", n);
                gpu.launch(&mut timeline, None);
            }
            gpu.queue.finish().unwrap();
            let after = Timestamp::now();
            assert_eq!(timeline.collect().unwrap(), 1);
            (before, after)
        };
        (0..1000).map(dispatch).collect::<Vec<Window>>()
    });
    assert_inside(&trace, "kernel", &windows, ERROR_NS_MAX);
    assert_eq!(timeline.counts(), Counts { recorded: 1000, ..Counts::default() });
    leave_for_viewers("opencl.json", "slices=2000\ninstants=0\nunended=0\nflows=1000\n");
}

/// PoCL takes its times from a clock of the host that is not the clock of the trace; they drift apart by some ppm. So
/// the true time is known here, and every mapped time must be within its error of it.
#[test]
fn the_true_time_is_within_the_error() {
    let gpu = Gpu::new(CL_QUEUE_PROFILING_ENABLE);
    assert!(gpu.is_pocl(), "expected PoCL as the first device: the clock of this device is unknown");
    let mut clock = ClockMap::new();
    let mut errors = Vec::new();
    for n in 0..2000 {
        let before = Timestamp::now();
        let event = gpu.enqueue(None);
        event.wait().unwrap();
        let after = Timestamp::now();
        let (begin, end) = (event.profiling_command_start().unwrap(), event.profiling_command_end().unwrap());
        clock.not_before(begin, before.monotonic_nanos());
        clock.not_after(end, after.monotonic_nanos());
        clock.settle();
        let (offset, width) = offset_of_raw_clock();
        for device in [begin, end] {
            let mapped = clock.map(device).unwrap();
            let truth = device.checked_add_signed(offset).unwrap();
            let apart = mapped.host.abs_diff(truth);
            errors.push(mapped.error);
            assert!(
                apart <= mapped.error + width,
                "{n}: {mapped:?} is {apart} ns from the true time, known to {width} ns"
            );
        }
    }
    let (offset, _) = offset_of_raw_clock();
    println!("the clocks are {offset} ns apart, known to {:?}..{:?} ns", errors.iter().min(), errors.iter().max());
    assert_eq!(clock.n_conflicts(), 0);
}

/// Offset of the monotonic clock from the raw one, and its uncertainty: the best of several reads.
fn offset_of_raw_clock() -> (i64, u64) {
    let read = |_| {
        let before = Timestamp::now().monotonic_nanos();
        let mut raw = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `raw` is a valid timespec that the call fills.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut raw) };
        let after = Timestamp::now().monotonic_nanos();
        let raw = raw.tv_sec * 1_000_000_000 + raw.tv_nsec;
        (after - before, before as i64 - raw)
    };
    (0..10).map(read).min().map(|(width, offset)| (offset, width)).unwrap()
}

#[test]
fn markers_enclose_the_commands_between_them() {
    let gpu = Gpu::new(CL_QUEUE_PROFILING_ENABLE);
    let mut timeline = OpenClTimeline::new("GPU 0 / queue", &gpu.queue, 64).unwrap();
    let (trace, ()) = recorded("opencl-markers.json", || {
        let layer = timeline.begin(&gpu.queue, "layer", "layer");
        (0..3).for_each(|_| drop(gpu.launch(&mut timeline, None)));
        timeline.end(&gpu.queue, layer);
        gpu.queue.finish().unwrap();
        assert_eq!(timeline.collect().unwrap(), 4);
    });
    let layer = trace.named("layer").next().unwrap();
    for kernel in trace.named("kernel") {
        assert_eq!(kernel.tid, layer.tid, "on one track");
        assert!(layer.start_ns <= kernel.start_ns && kernel.end_ns <= layer.end_ns);
    }
    assert_eq!(trace.count("kernel"), 3);
}

#[test]
fn a_command_without_a_free_slot_is_dropped_and_slots_are_reused() {
    let gpu = Gpu::new(CL_QUEUE_PROFILING_ENABLE);
    let mut timeline = OpenClTimeline::new("GPU 0 / queue", &gpu.queue, 3).unwrap();
    let (trace, ()) = recorded("opencl-slots.json", || {
        let gate = Event::new(create_user_event(gpu.context.get()).unwrap());
        (0..5).for_each(|_| drop(gpu.launch(&mut timeline, Some(&gate))));
        // Nothing can have run yet, and `collect` does not wait.
        assert_eq!(timeline.collect().unwrap(), 0);
        assert_eq!(timeline.counts(), Counts { dropped: 2, ..Counts::default() });
        set_user_event_status(gate.get(), 0).unwrap();
        gpu.queue.finish().unwrap();
        assert_eq!(timeline.collect().unwrap(), 3);
        gpu.launch(&mut timeline, None);
        gpu.queue.finish().unwrap();
        assert_eq!(timeline.collect().unwrap(), 1);
    });
    assert_eq!(timeline.counts(), Counts { recorded: 4, dropped: 2, ..Counts::default() });
    assert_eq!(trace.count("kernel"), 4);
}

#[test]
fn a_failed_command_and_a_lost_device_are_errors() {
    const DEVICE_NOT_AVAILABLE: i32 = -2;
    let gpu = Gpu::new(CL_QUEUE_PROFILING_ENABLE);
    let mut timeline = OpenClTimeline::new("GPU 0 / queue", &gpu.queue, 8).unwrap();
    recorded("opencl-lost.json", || {
        let event = gpu.launch(&mut timeline, None);
        event.wait().unwrap();
        assert_eq!(timeline.collect().unwrap(), 1);
        // The driver reports the error of a device that is gone for this event.
        let gone = Event::new(create_user_event(gpu.context.get()).unwrap());
        let launch = timeline.launch("kernel", "gemm");
        timeline.launched(launch, &gone);
        let waits = Event::new(create_user_event(gpu.context.get()).unwrap());
        let launch = timeline.launch("kernel", "gemm");
        timeline.launched(launch, &waits);
        set_user_event_status(gone.get(), DEVICE_NOT_AVAILABLE).unwrap();
        let error = timeline.collect().unwrap_err();
        assert!(error.is_lost(), "{error}");
        assert_eq!(error.to_string(), "the device is lost: OpenCL reports error -2");
        assert!(timeline.collect().unwrap_err().is_lost(), "it stays lost");
        set_user_event_status(waits.get(), 0).unwrap();
    });
    assert_eq!(timeline.counts(), Counts { recorded: 1, lost: 2, ..Counts::default() });
}

#[test]
fn a_queue_without_profiling_is_refused() {
    let gpu = Gpu::new(0);
    let error = OpenClTimeline::new("GPU 0 / queue", &gpu.queue, 8).unwrap_err();
    assert!(error.is_unsupported());
    assert_eq!(error.to_string(), "expected a queue with CL_QUEUE_PROFILING_ENABLE, found one without");
}
