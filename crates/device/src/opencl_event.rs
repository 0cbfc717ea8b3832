//! Events of OpenCL that we keep, and markers.
#![allow(unsafe_code)]

use opencl3::command_queue::{CommandQueue, enqueue_marker_with_wait_list};
use opencl3::event::{
    CL_EVENT_COMMAND_EXECUTION_STATUS, CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_START, Event, cl_event,
    get_event_info, get_event_profiling_info, release_event, retain_event, wait_for_events,
};

/// A number of OpenCL's that is no success.
pub type Code = i32;

/// An event that is released when it is dropped. (That of the crate `opencl3` panics if that fails.)
#[derive(Debug)]
pub struct HeldEvent(cl_event);

// SAFETY: OpenCL's functions may be called from any thread at any time, but for those that set arguments of kernels.
unsafe impl Send for HeldEvent {}

impl HeldEvent {
    /// Keeps an event of somebody else.
    pub fn retained(event: &Event) -> Result<Self, Code> {
        // SAFETY: whoever has an `Event` holds it, so it is valid.
        unsafe { retain_event(event.get()) }?;
        Ok(Self(event.get()))
    }

    /// Enqueues what does nothing but to tell the time when all before it is done.
    pub fn marker(queue: &CommandQueue) -> Result<Self, Code> {
        // SAFETY: the queue is valid, and no events are to be waited for.
        unsafe { enqueue_marker_with_wait_list(queue.get(), 0, std::ptr::null()) }.map(Self)
    }

    /// 0 if the command has run, above that if it will, below that if it has failed.
    pub fn status(&self) -> Result<Code, Code> {
        get_event_info(self.0, CL_EVENT_COMMAND_EXECUTION_STATUS).map(Into::into)
    }

    /// When the command began, in nanoseconds of the device.
    pub fn start(&self) -> Result<u64, Code> {
        get_event_profiling_info(self.0, CL_PROFILING_COMMAND_START).map(Into::into)
    }

    /// When the command ended.
    pub fn end(&self) -> Result<u64, Code> {
        get_event_profiling_info(self.0, CL_PROFILING_COMMAND_END).map(Into::into)
    }

    pub fn wait(&self) -> Result<(), Code> {
        wait_for_events(&[self.0])
    }
}

impl Drop for HeldEvent {
    fn drop(&mut self) {
        // SAFETY: one reference to the event is ours, and is given back once. What else could be done if that fails?
        let _ = unsafe { release_event(self.0) };
    }
}
