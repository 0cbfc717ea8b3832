//! Probes: what programs call to record.

pub(crate) mod async_span;
pub(crate) mod flow;
pub(crate) mod laps;
pub mod llm;
pub(crate) mod span;
pub(crate) mod timer;
pub(crate) mod track;
