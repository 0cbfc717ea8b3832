//! Interfaces that control recordings, and adapters for other tracing interfaces.

pub mod control;
pub(crate) mod recorder;
pub(crate) mod text;
#[cfg(feature = "tracing")]
pub mod tracing;
pub(crate) mod writer;
