//! The engine on OpenCL.
#![allow(unsafe_code, reason = "kernels of OpenCL are not checked by the compiler")]

use ferrum_trace_device::OpenClTimeline;
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device, get_all_devices};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::program::Program;
use opencl3::types::cl_uint;

use super::{DeviceOp, Driver, VALUES};
use crate::contenders::Outcome;

const SOURCE: &str = "
kernel void work(global float* data, uint repeats) {
    size_t i = get_global_id(0);
    float x = data[i];
    for (uint n = 0; n < repeats; n++) x = x * 0.999f + 0.001f;
    data[i] = x;
}";

/// Measurements that can be pending.
const SLOTS: usize = 256;

pub(super) struct OpenCl {
    kernel: Kernel,
    data: Buffer<f32>,
    timeline: OpenClTimeline,
    queue: CommandQueue,
    _context: Context,
}

impl OpenCl {
    pub(super) fn new() -> Outcome<Self> {
        let devices = get_all_devices(CL_DEVICE_TYPE_ALL)?;
        let device = devices.first().ok_or("expected an OpenCL device; on Debian: `apt install pocl-opencl-icd`")?;
        let context = Context::from_device(&Device::new(*device))?;
        let queue = CommandQueue::create_default(&context, CL_QUEUE_PROFILING_ENABLE)?;
        let program = Program::create_and_build_from_source(&context, SOURCE, "")?;
        let kernel = Kernel::create(&program, "work")?;
        // SAFETY: the buffer is made without memory of the host.
        let data = unsafe { Buffer::<f32>::create(&context, CL_MEM_READ_WRITE, VALUES, std::ptr::null_mut()) }?;
        let timeline = OpenClTimeline::new("GPU 0 / queue", &queue, SLOTS)?;
        Ok(Self { kernel, data, timeline, queue, _context: context })
    }
}

impl Driver for OpenCl {
    fn calibrate(&mut self) -> Outcome {
        Ok(self.timeline.calibrate(&self.queue).map(drop)?)
    }

    fn launch(&mut self, op: DeviceOp, repeats: u32) -> Outcome {
        let launch = self.timeline.launch(op.name, op.category);
        let mut execution = ExecuteKernel::new(&self.kernel);
        // SAFETY: the kernel has two arguments, a buffer with one float per item and a number.
        let execution = unsafe { execution.set_arg(&self.data).set_arg(&cl_uint::from(repeats)) };
        // SAFETY: as above, and the queue runs kernels one after the other.
        let event = unsafe { execution.set_global_work_size(VALUES).enqueue_nd_range(&self.queue) }?;
        self.timeline.launched(launch, &event);
        self.queue.flush()?;
        Ok(())
    }

    fn submit(&mut self) {}

    fn wait(&mut self) -> Outcome {
        self.queue.finish()?;
        self.timeline.collect()?;
        Ok(())
    }
}
