//! File formats of traces: conversion between bytes and the model.
//!
//! - [`spool`]: the file that the recorder writes while the program runs, and its conversion to output formats;
//! - [`chrome`]: Chrome trace events as JSON;
//! - `open` (feature `read`): detection of the format and the containers of a trace;
//! - [`perfetto`]: Perfetto traces; reading them needs the feature `read`;
//! - `spill_sort` (feature `read`): sorting of more data than fits in memory.
//!
//! This crate does not depend on paths, standard output, clocks or the recorder.

pub mod chrome;
mod error;
#[cfg(feature = "read")]
pub mod open;
mod ordered;
mod pack;
pub mod perfetto;
mod read_at;
mod reserve_ahead;
#[cfg(feature = "read")]
pub mod spill_sort;
pub mod spool;

pub use error::Error;
pub use pack::Packing;
pub use read_at::ReadAt;
pub use reserve_ahead::ReserveAhead;
