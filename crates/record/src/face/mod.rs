//! Interfaces that control recordings, and adapters for other tracing interfaces.

pub mod control;
#[cfg(feature = "http")]
pub mod http;
pub(crate) mod recorder;
pub(crate) mod text;
pub(crate) mod timer;
#[cfg(feature = "tracing")]
pub mod tracing;
pub(crate) mod writer;
