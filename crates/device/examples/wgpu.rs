//! A few simulated engine steps on a real device: layers of two kernels, each timed by the device.
//!
//! ```sh
//! FERRUM_TRACE_OUT=trace.json cargo run -p ferrum-trace-device --features wgpu-vulkan --example wgpu
//! ```
//!
//! Needs a Vulkan driver, for example Mesa's lavapipe (Debian: `apt install mesa-vulkan-drivers`). Open `trace.json` in
//! <https://ui.perfetto.dev> and select a slice of the track `GPU 0 / queue`.

use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::span;
use ferrum_trace_device::{WgpuTimeline, request_calibrated_device};
use std::error::Error;
use wgpu::{BindGroup, CommandEncoder, ComputePipeline, Device, Features, PollType, Queue};

const STEPS: u32 = 4;
const LAYERS: usize = 3;

const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var x = data[id.x];
    for (var i = 0u; i < 2000u; i++) { x = x * 1.0001 + 0.5; }
    data[id.x] = x;
}";

fn main() -> Result<(), Box<dyn Error>> {
    let engine = pollster::block_on(Engine::new())?;
    let mut timeline = WgpuTimeline::new("GPU 0 / queue", &engine.device, &engine.queue, 256)?;
    engine.warm_up()?;
    let error = timeline.calibrate(&engine.queue)?;
    for step in 0..STEPS {
        let _step = llm::step(Step {
            phase: Phase::Decode,
            batch: 1,
            prefill_tokens: 0,
            decode_tokens: 1,
            context_tokens: step as usize + 1,
        });
        engine.submit(&mut timeline);
        engine.wait()?;
        timeline.collect()?;
    }
    #[expect(clippy::print_stdout, reason = "an example prints")]
    {
        println!("{:?}, times within {error:?}", timeline.counts());
    }
    Ok(())
}

struct Engine {
    device: Device,
    queue: Queue,
    pipeline: ComputePipeline,
    bindings: BindGroup,
}

impl Engine {
    async fn new() -> Result<Self, Box<dyn Error>> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await?;
        let required_features = Features::TIMESTAMP_QUERY | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS;
        let descriptor = wgpu::DeviceDescriptor { required_features, ..Default::default() };
        let (device, queue) = request_calibrated_device(&adapter, &descriptor).await?;
        let source = wgpu::ShaderSource::Wgsl(SHADER.into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
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
            size: 4 * 64 * 64,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let entry = wgpu::BindGroupEntry { binding: 0, resource: data.as_entire_binding() };
        let layout = pipeline.get_bind_group_layout(0);
        let bindings =
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &[entry] });
        Ok(Self { device, queue, pipeline, bindings })
    }

    /// Drivers compile a kernel at its first use.
    fn warm_up(&self) -> Result<(), Box<dyn Error>> {
        let _span = span!("warm up", "startup");
        let mut encoder = self.device.create_command_encoder(&Default::default());
        self.dispatch(&mut encoder, 1);
        self.queue.submit([encoder.finish()]);
        self.wait()
    }

    /// Submits one encoder per step, as engines do.
    fn submit(&self, timeline: &mut WgpuTimeline) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        for layer in 0..LAYERS {
            let _layer = llm::layer(layer);
            let slot = timeline.begin(&mut encoder, "attention", "attention");
            self.dispatch(&mut encoder, 64);
            timeline.end(&mut encoder, slot);
            let slot = timeline.begin(&mut encoder, "mlp", "gemm");
            self.dispatch(&mut encoder, 32);
            timeline.end(&mut encoder, slot);
        }
        timeline.resolve(&mut encoder);
        let _span = span!("submit", "scheduler");
        self.queue.submit([encoder.finish()]);
    }

    fn dispatch(&self, encoder: &mut CommandEncoder, n_workgroups: u32) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bindings, &[]);
        pass.dispatch_workgroups(n_workgroups, 1, 1);
    }

    fn wait(&self) -> Result<(), Box<dyn Error>> {
        let _span = span!("wait", "scheduler");
        self.device.poll(PollType::wait_indefinitely())?;
        Ok(())
    }
}
