//! What we need of CUDA, from its driver.
#![allow(unsafe_code)]

use crate::error::Error;
use crate::event_timeline::Events;
use crate::trouble::Trouble;
use cudarc::driver::sys::{CUevent_flags, is_culib_present};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError};
use std::panic::catch_unwind;
use std::sync::Arc;

/// The device's primary context.
#[derive(Debug)]
pub struct CudaDriver {
    context: Arc<CudaContext>,
}

impl CudaDriver {
    /// Loads the driver, which is there only if a GPU is.
    pub fn new(ordinal: usize) -> Result<Self, Error> {
        // SAFETY: it loads the library that `cudarc` would load, and only to see whether that works; loading CUDA's driver runs
        // no code of anybody else.
        if !unsafe { is_culib_present() } {
            return Err(Error::unsupported("expected the driver of CUDA, found none"));
        }
        // A driver that is too old lacks functions, and the crate panics where it does not find one.
        match catch_unwind(|| CudaContext::new(ordinal)) {
            Ok(Ok(context)) => Ok(Self { context }),
            Ok(Err(error)) => Err(Error::unsupported(format!("no device {ordinal} of CUDA: {error}"))),
            Err(_) => Err(Error::unsupported("the driver of CUDA is too old")),
        }
    }

    pub fn default_stream(&self) -> Arc<CudaStream> {
        self.context.default_stream()
    }
}

impl Events for CudaDriver {
    type Event = CudaEvent;
    type Stream = CudaStream;

    fn new_event(&self) -> Result<CudaEvent, Trouble> {
        // Events have no times unless that is asked for.
        Ok(self.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?)
    }

    fn record(&self, event: &CudaEvent, stream: &CudaStream) -> Result<(), Trouble> {
        Ok(event.record(stream)?)
    }

    fn is_complete(&self, event: &CudaEvent) -> Result<bool, Trouble> {
        Ok(event.try_is_complete()?)
    }

    fn elapsed_ms(&self, from: &CudaEvent, to: &CudaEvent) -> Result<f32, Trouble> {
        Ok(from.elapsed_ms(to)?)
    }

    fn wait(&self, event: &CudaEvent) -> Result<(), Trouble> {
        Ok(event.synchronize()?)
    }
}

impl From<DriverError> for Trouble {
    fn from(error: DriverError) -> Self {
        // An invalid context, value or handle is a mistake of the caller's, and so is what cannot be done while a stream is
        // being captured into a graph. All else stays with a context for ever.
        let is_mistake = matches!(error.0 as u32, 1 | 201 | 400 | 900..=908);
        Self { message: error.to_string(), is_lost: !is_mistake }
    }
}
