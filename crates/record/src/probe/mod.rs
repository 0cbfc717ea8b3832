//! Probes: what programs call to record.

pub(crate) mod async_span;
pub(crate) mod dump;
pub(crate) mod flow;
pub(crate) mod laps;
pub mod llm;
pub(crate) mod mode;
pub(crate) mod span;
pub(crate) mod track;
