//! Access to the CUDA driver.
#![allow(unsafe_code)]

use crate::driver_failure::DriverFailure;
use crate::error::Error;
use crate::event_timeline::Events;
use cudarc::driver::sys::{CUevent_flags, is_culib_present};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError};
use std::panic::catch_unwind;
use std::sync::Arc;

/// The device's primary context.
#[derive(Debug)]
pub(crate) struct CudaDriver {
    context: Arc<CudaContext>,
}

impl CudaDriver {
    /// Loads the driver, which is installed only with a GPU.
    pub(crate) fn new(ordinal: usize) -> Result<Self, Error> {
        // SAFETY: it loads the library that `cudarc` would load, and only tests whether that works; loading CUDA's
        // driver runs no foreign code.
        if !unsafe { is_culib_present() } {
            return Err(Error::unsupported("expected a CUDA driver, found none"));
        }
        // A driver that is too old lacks functions; `cudarc` panics if it does not find one.
        match catch_unwind(|| CudaContext::new(ordinal)) {
            Ok(Ok(context)) => Ok(Self { context }),
            Ok(Err(error)) => Err(Error::unsupported(format!("cannot open CUDA device {ordinal}: {error}"))),
            Err(_) => Err(Error::unsupported("the CUDA driver is too old")),
        }
    }

    pub(crate) fn default_stream(&self) -> Arc<CudaStream> {
        self.context.default_stream()
    }
}

impl Events for CudaDriver {
    type Event = CudaEvent;
    type Stream = CudaStream;

    fn new_event(&self) -> Result<CudaEvent, DriverFailure> {
        // Events have no times by default.
        Ok(self.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?)
    }

    fn record(&self, event: &CudaEvent, stream: &CudaStream) -> Result<(), DriverFailure> {
        Ok(event.record(stream)?)
    }

    fn is_complete(&self, event: &CudaEvent) -> Result<bool, DriverFailure> {
        Ok(event.try_is_complete()?)
    }

    fn elapsed_ms(&self, from: &CudaEvent, to: &CudaEvent) -> Result<f32, DriverFailure> {
        Ok(from.elapsed_ms(to)?)
    }

    fn wait(&self, event: &CudaEvent) -> Result<(), DriverFailure> {
        Ok(event.synchronize()?)
    }
}

impl From<DriverError> for DriverFailure {
    fn from(error: DriverError) -> Self {
        // An invalid context, value or handle is an error of the caller, and so is an operation that is not allowed
        // while a stream is captured into a graph. All other errors are permanent for the context.
        let is_usage_error = matches!(error.0 as u32, 1 | 201 | 400 | 900..=908);
        Self { message: error.to_string(), is_lost: !is_usage_error }
    }
}
