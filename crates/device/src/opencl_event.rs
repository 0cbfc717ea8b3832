//! OpenCL events that this crate owns, and markers.
#![allow(unsafe_code)]

use opencl3::command_queue::{CommandQueue, enqueue_marker_with_wait_list};
use opencl3::event::{
    CL_EVENT_COMMAND_EXECUTION_STATUS, CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_START, Event, cl_event,
    get_event_info, get_event_profiling_info, release_event, retain_event, wait_for_events,
};

/// An OpenCL error code.
pub(crate) type Code = i32;

/// An event that is released when it is dropped. (The type of the crate `opencl3` panics if that fails.)
#[derive(Debug)]
pub(crate) struct OwnedEvent(cl_event);

// SAFETY: OpenCL's functions may be called from any thread at any time, but for those that set arguments of kernels.
unsafe impl Send for OwnedEvent {}

impl OwnedEvent {
    /// Retains an event of the caller.
    pub(crate) fn retained(event: &Event) -> Result<Self, Code> {
        // SAFETY: an `Event` holds a reference, so it is valid.
        unsafe { retain_event(event.get()) }?;
        Ok(Self(event.get()))
    }

    /// Enqueues a command that only has timestamps, taken when all earlier commands are done.
    pub(crate) fn marker(queue: &CommandQueue) -> Result<Self, Code> {
        // SAFETY: the queue is valid, and no events are to be waited for.
        unsafe { enqueue_marker_with_wait_list(queue.get(), 0, std::ptr::null()) }.map(Self)
    }

    /// 0 if the command has run, positive if it is pending, negative if it has failed.
    pub(crate) fn status(&self) -> Result<Code, Code> {
        get_event_info(self.0, CL_EVENT_COMMAND_EXECUTION_STATUS).map(Into::into)
    }

    /// Begin of the command, in nanoseconds of the device.
    pub(crate) fn start(&self) -> Result<u64, Code> {
        get_event_profiling_info(self.0, CL_PROFILING_COMMAND_START).map(Into::into)
    }

    /// End of the command, in nanoseconds of the device.
    pub(crate) fn end(&self) -> Result<u64, Code> {
        get_event_profiling_info(self.0, CL_PROFILING_COMMAND_END).map(Into::into)
    }

    pub(crate) fn wait(&self) -> Result<(), Code> {
        wait_for_events(&[self.0])
    }
}

impl Drop for OwnedEvent {
    fn drop(&mut self) {
        // SAFETY: we own one reference to the event, which is released once. A failure cannot be handled.
        let _ = unsafe { release_event(self.0) };
    }
}
