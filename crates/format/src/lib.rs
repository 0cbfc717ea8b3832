//! How a trace is spelled: bytes to model and back, on anything that can be read or written.
//!
//! - [`spool`]: the file the recorder fills while the program runs, and its conversion into what viewers open;
//! - [`chrome`]: Chrome trace events as JSON, the array form;
//! - `open` (feature `read`): whatever a trace comes in;
//! - [`perfetto`]: Perfetto's own traces; reading them needs the feature `read`;
//! - `spill_sort` (feature `read`): sorting more than fits in memory.
//!
//! This crate knows nothing of paths, standard output, clocks or the recorder.

pub mod chrome;
mod error;
#[cfg(feature = "read")]
pub mod open;
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
