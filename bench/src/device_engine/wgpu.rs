//! The engine on wgpu's Vulkan backend.

use ferrum_trace_device::{WgpuTimeline, request_calibrated_device};
use wgpu::util::DeviceExt as _;
use wgpu::{
    Backends, BindGroup, Buffer, BufferUsages, CommandEncoder, ComputePipeline, Device, Features, PollType, Queue,
};

use super::{DeviceOp, Driver, VALUES};
use crate::contenders::Outcome;

const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@group(0) @binding(1) var<storage, read> repeats: u32;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var x = data[id.x];
    for (var i = 0u; i < repeats; i++) { x = x * 0.999 + 0.001; }
    data[id.x] = x;
}";

const WORKGROUP: usize = 64;
/// Measurements that can be pending.
const SLOTS: u32 = 1024;

pub(super) struct Wgpu {
    timeline: WgpuTimeline,
    pipeline: ComputePipeline,
    data: Buffer,
    /// Bindings by the number of repeats.
    bindings: Vec<(u32, BindGroup)>,
    encoder: Option<CommandEncoder>,
    queue: Queue,
    device: Device,
}

impl Wgpu {
    pub(super) fn new() -> Outcome<Self> {
        pollster::block_on(Self::request())
    }

    async fn request() -> Outcome<Self> {
        let descriptor = wgpu::InstanceDescriptor {
            backends: Backends::VULKAN,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        };
        let adapter = wgpu::Instance::new(descriptor).request_adapter(&wgpu::RequestAdapterOptions::default()).await?;
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
            size: (VALUES * size_of::<f32>()) as u64,
            usage: BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let timeline = WgpuTimeline::new("GPU 0 / queue", &device, &queue, SLOTS)?;
        Ok(Self { timeline, pipeline, data, bindings: Vec::new(), encoder: None, queue, device })
    }

    /// Returns the position of the bindings for a number of repeats.
    fn bindings(&mut self, repeats: u32) -> usize {
        if let Some(place) = self.bindings.iter().position(|(known, _)| *known == repeats) {
            return place;
        }
        let number = self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: &repeats.to_le_bytes(),
            usage: BufferUsages::STORAGE,
        });
        let layout = self.pipeline.get_bind_group_layout(0);
        let entries = [(0, &self.data), (1, &number)]
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
        let bindings = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &entries,
        });
        self.bindings.push((repeats, bindings));
        self.bindings.len() - 1
    }
}

impl Driver for Wgpu {
    fn calibrate(&mut self) -> Outcome {
        Ok(self.timeline.calibrate(&self.queue).map(drop)?)
    }

    fn launch(&mut self, op: DeviceOp, repeats: u32) -> Outcome {
        let place = self.bindings(repeats);
        let mut encoder =
            self.encoder.take().unwrap_or_else(|| self.device.create_command_encoder(&Default::default()));
        let slot = self.timeline.begin(&mut encoder, op.name, op.category);
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &self.bindings[place].1, &[]);
            pass.dispatch_workgroups((VALUES / WORKGROUP) as u32, 1, 1);
        }
        self.timeline.end(&mut encoder, slot);
        self.encoder = Some(encoder);
        Ok(())
    }

    fn submit(&mut self) {
        if let Some(mut encoder) = self.encoder.take() {
            self.timeline.resolve(&mut encoder);
            self.queue.submit([encoder.finish()]);
        }
    }

    fn wait(&mut self) -> Outcome {
        self.device.poll(PollType::wait_indefinitely())?;
        self.timeline.collect()?;
        Ok(())
    }
}
