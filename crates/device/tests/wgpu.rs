//! wgpu on a real Vulkan driver: the machine's own, or Mesa's lavapipe, which runs on the CPU.
//!
//! These tests do not skip: without a driver they fail. On Debian: `apt install mesa-vulkan-drivers`.
#![cfg(feature = "wgpu-vulkan")]
#![allow(clippy::print_stdout, reason = "tests may print")]

mod common;

use common::{ERROR_NS_MAX, Window, assert_inside, learn_drift, leave_for_viewers, recorded, turn};
use ferrum_trace::{Timestamp, span};
use ferrum_trace_device::{Counts, WgpuTimeline, request_calibrated_device};
use ferrum_trace_testkit::trace_file::TraceFile;
use std::sync::MutexGuard;
use wgpu::{ComputePipeline, Device, Features, PollType, Queue};

const TIMESTAMPS: Features = Features::TIMESTAMP_QUERY.union(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);

const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var x = data[id.x];
    for (var i = 0u; i < 64u; i++) { x = x * 1.0001 + 0.5; }
    data[id.x] = x;
}";

/// The way a device was created.
enum Opened {
    Calibrated,
    Plainly,
}

struct Gpu {
    _turn: MutexGuard<'static, ()>,
    device: Device,
    queue: Queue,
    pipeline: ComputePipeline,
    bindings: wgpu::BindGroup,
}

impl Gpu {
    fn new(features: Features, how: Opened) -> Self {
        let turn = turn();
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
            .expect("expected a Vulkan driver, found none; on Debian: `apt install mesa-vulkan-drivers`");
        println!("{}", adapter.get_info().name);
        let descriptor = wgpu::DeviceDescriptor { required_features: features, ..Default::default() };
        let (device, queue) = match how {
            Opened::Calibrated => pollster::block_on(request_calibrated_device(&adapter, &descriptor)),
            Opened::Plainly => pollster::block_on(adapter.request_device(&descriptor)),
        }
        .unwrap();
        let shader = wgpu::ShaderSource::Wgsl(SHADER.into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source: shader });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        let data = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * 64 * 16,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let entry = wgpu::BindGroupEntry { binding: 0, resource: data.as_entire_binding() };
        let layout = pipeline.get_bind_group_layout(0);
        let bindings =
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &[entry] });
        Self { _turn: turn, device, queue, pipeline, bindings }
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.create_command_encoder(&Default::default())
    }

    /// Adds a small kernel to the encoder.
    fn dispatch(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bindings, &[]);
        pass.dispatch_workgroups(16, 1, 1);
    }

    fn wait(&self) {
        self.device.poll(PollType::wait_indefinitely()).unwrap();
    }

    /// Submits a dispatch in a slot of its own, without waiting.
    fn launch(&self, timeline: &mut WgpuTimeline) {
        let mut encoder = self.encoder();
        let slot = timeline.begin(&mut encoder, "kernel", "gemm");
        self.dispatch(&mut encoder, None);
        timeline.end(&mut encoder, slot);
        timeline.resolve(&mut encoder);
        self.queue.submit([encoder.finish()]);
    }
}

/// Dispatches kernels one at a time, and returns the host's window of each.
fn dispatched(gpu: &Gpu, timeline: &mut WgpuTimeline, file: &str, n_dispatches: u32) -> (TraceFile, Vec<Window>) {
    recorded(file, || {
        let dispatch = |n| {
            if n % 100 == 0 {
                timeline.calibrate(&gpu.queue).unwrap();
            }
            let before = Timestamp::now();
            {
                let _launch = span!("launch", "scheduler", n);
                gpu.launch(timeline);
            }
            gpu.wait();
            let after = Timestamp::now();
            assert_eq!(timeline.collect().unwrap(), 1);
            (before, after)
        };
        (0..n_dispatches).map(dispatch).collect()
    })
}

#[test]
fn a_thousand_dispatches_are_inside_the_windows_of_the_host() {
    let gpu = Gpu::new(TIMESTAMPS, Opened::Calibrated);
    let mut timeline = WgpuTimeline::new("GPU 0 / queue", &gpu.device, &gpu.queue, 64).unwrap();
    learn_drift(|| timeline.calibrate(&gpu.queue));
    let (trace, windows) = dispatched(&gpu, &mut timeline, "wgpu.json", 1000);
    assert_inside(&trace, "kernel", &windows, ERROR_NS_MAX);
    assert_eq!(timeline.counts(), Counts { recorded: 1000, ..Counts::default() });
    leave_for_viewers("wgpu.json", "slices=2000\ninstants=0\nunended=0\nflows=1000\n");
}

/// The clock is read by commands then, as on any other backend, and is less precise: without optimization, wgpu takes
/// some tens of microseconds to submit a command and to wait for it.
#[test]
fn dispatches_on_a_device_without_the_extension_are_inside_the_windows_of_the_host() {
    let gpu = Gpu::new(TIMESTAMPS, Opened::Plainly);
    let mut timeline = WgpuTimeline::new("GPU 0 / queue", &gpu.device, &gpu.queue, 64).unwrap();
    let (trace, windows) = dispatched(&gpu, &mut timeline, "wgpu-plain.json", 300);
    assert_inside(&trace, "kernel", &windows, 50 * ERROR_NS_MAX);
}

#[test]
fn passes_nest_in_the_slices_around_them() {
    let gpu = Gpu::new(TIMESTAMPS, Opened::Calibrated);
    let mut timeline = WgpuTimeline::new("GPU 0 / queue", &gpu.device, &gpu.queue, 64).unwrap();
    let (trace, ()) = recorded("wgpu-passes.json", || {
        let _step = span!("launch", "step");
        let mut encoder = gpu.encoder();
        let layer = timeline.begin(&mut encoder, "layer", "layer");
        for _ in 0..3 {
            let pass = timeline.pass("pass", "gemm");
            gpu.dispatch(&mut encoder, pass.as_ref().map(|pass| pass.compute()));
        }
        timeline.end(&mut encoder, layer);
        // Never ended, so `resolve` ends it.
        let _open = timeline.begin(&mut encoder, "open", "layer");
        // Never used for a pass, so nothing is written.
        let _unused = timeline.pass("unused", "gemm");
        timeline.resolve(&mut encoder);
        gpu.queue.submit([encoder.finish()]);
        gpu.wait();
        assert_eq!(timeline.collect().unwrap(), 5);
    });
    assert_eq!(timeline.counts(), Counts { recorded: 5, lost: 1, ..Counts::default() });
    let layer = trace.named("layer").next().unwrap();
    for pass in trace.named("pass") {
        assert_eq!(pass.tid, layer.tid, "on one track");
        assert!(layer.start_ns <= pass.start_ns && pass.end_ns <= layer.end_ns);
    }
    assert_eq!((trace.count("pass"), trace.count("open"), trace.count("unused")), (3, 1, 0));
}

#[test]
fn an_unused_pass_is_counted_as_lost_also_in_a_reused_slot() {
    let gpu = Gpu::new(TIMESTAMPS, Opened::Calibrated);
    let mut timeline = WgpuTimeline::new("GPU 0 / queue", &gpu.device, &gpu.queue, 32).unwrap();
    let (trace, ()) = recorded("wgpu-stale.json", || {
        for is_used in [true, false, true] {
            let mut encoder = gpu.encoder();
            let pass = timeline.pass("pass", "gemm");
            if is_used {
                gpu.dispatch(&mut encoder, pass.as_ref().map(|pass| pass.compute()));
            }
            timeline.resolve(&mut encoder);
            gpu.queue.submit([encoder.finish()]);
            gpu.wait();
            assert_eq!(timeline.collect().unwrap(), u64::from(is_used));
        }
    });
    assert_eq!(timeline.counts(), Counts { recorded: 2, lost: 1, ..Counts::default() });
    assert_eq!(trace.count("pass"), 2);
}

#[test]
fn a_dispatch_without_a_free_slot_is_dropped_and_slots_are_reused() {
    let gpu = Gpu::new(TIMESTAMPS, Opened::Calibrated);
    let mut timeline = WgpuTimeline::new("GPU 0 / queue", &gpu.device, &gpu.queue, 64).unwrap();
    let (trace, ()) = recorded("wgpu-slots.json", || {
        let _launch = span!("launch", "scheduler");
        // 64 slots are two batches; each encoder takes one.
        (0..5).for_each(|_| gpu.launch(&mut timeline));
        assert_eq!(timeline.counts().dropped, 3);
        gpu.wait();
        assert_eq!(timeline.collect().unwrap(), 2);
        // One encoder can take all slots.
        let mut encoder = gpu.encoder();
        for _ in 0..70 {
            let slot = timeline.begin(&mut encoder, "kernel", "gemm");
            timeline.end(&mut encoder, slot);
        }
        timeline.resolve(&mut encoder);
        gpu.queue.submit([encoder.finish()]);
        gpu.wait();
        assert_eq!(timeline.collect().unwrap(), 64);
    });
    assert_eq!(timeline.counts(), Counts { recorded: 66, dropped: 9, ..Counts::default() });
    assert_eq!(trace.named("flow").count(), 2 * 66, "a dropped dispatch starts no flow");
    assert_eq!(trace.count("kernel"), 66);
}

#[test]
fn slots_of_discarded_commands_are_reused() {
    let gpu = Gpu::new(TIMESTAMPS, Opened::Calibrated);
    let mut timeline = WgpuTimeline::new("GPU 0 / queue", &gpu.device, &gpu.queue, 32).unwrap();
    recorded("wgpu-abandoned.json", || {
        let mut encoder = gpu.encoder();
        let slot = timeline.begin(&mut encoder, "kernel", "gemm");
        timeline.end(&mut encoder, slot);
        timeline.resolve(&mut encoder);
        drop(encoder);
        assert_eq!(timeline.collect().unwrap(), 0);
        gpu.launch(&mut timeline);
        gpu.wait();
        assert_eq!(timeline.collect().unwrap(), 1);
    });
    assert_eq!(timeline.counts(), Counts { recorded: 1, lost: 1, ..Counts::default() });
}

#[test]
fn nothing_is_measured_while_recording_is_off() {
    let gpu = Gpu::new(TIMESTAMPS, Opened::Calibrated);
    let mut timeline = WgpuTimeline::new("GPU 0 / queue", &gpu.device, &gpu.queue, 32).unwrap();
    let mut encoder = gpu.encoder();
    assert!(timeline.begin(&mut encoder, "kernel", "gemm").is_none());
    assert!(timeline.pass("kernel", "gemm").is_none());
    timeline.resolve(&mut encoder);
    gpu.queue.submit([encoder.finish()]);
    gpu.wait();
    assert_eq!(timeline.collect().unwrap(), 0);
    assert_eq!(timeline.counts(), Counts::default());
}

#[test]
fn a_lost_device_is_an_error() {
    let gpu = Gpu::new(TIMESTAMPS, Opened::Calibrated);
    let mut timeline = WgpuTimeline::new("GPU 0 / queue", &gpu.device, &gpu.queue, 64).unwrap();
    recorded("wgpu-lost.json", || {
        gpu.launch(&mut timeline);
        gpu.wait();
        assert_eq!(timeline.collect().unwrap(), 1);
        gpu.device.destroy();
        gpu.launch(&mut timeline);
        let error = timeline.collect().unwrap_err();
        assert!(error.is_lost(), "{error}");
        let error = timeline.calibrate(&gpu.queue).unwrap_err();
        assert!(error.is_lost(), "{error}");
    });
    assert_eq!(timeline.counts(), Counts { recorded: 1, lost: 1, ..Counts::default() });
}

#[test]
fn a_device_without_timestamps_is_refused() {
    let gpu = Gpu::new(Features::empty(), Opened::Plainly);
    let error = WgpuTimeline::new("GPU 0 / queue", &gpu.device, &gpu.queue, 64).unwrap_err();
    assert!(error.is_unsupported());
    assert_eq!(error.to_string(), "expected a device with the feature TIMESTAMP_QUERY, found one without");
}
