//! The spool: the file that the recorder fills through shared memory while the program runs.
//!
//! It is complete at every moment, also after `kill -9`, and can be read alone: names, threads and the clock's
//! calibration are in it. [`to_form`] makes of it what viewers open; [`Converter`] does the same bit by bit while the spool
//! still grows.

mod begins_present;
mod calibration;
mod converter;
mod definition;
mod diagnostic;
mod dictionary;
mod encode_chrome;
mod encode_perfetto;
mod encoding;
mod event_counter;
pub(crate) mod facts;
mod json_check;
mod lanes;
pub mod layout;
mod open_asyncs;
mod open_slices;
mod open_span;
mod ordered;
mod output_format;
mod piece;
mod progress;
pub mod record;
pub mod row_title;
mod spool_writer;
mod summary;
mod text;

pub use converter::{Batch, Converter, to_chrome, to_chrome_bytes, to_form, write_whole};
pub use definition::{Definition, THREAD_DROPPED_WORD, write_site};
pub use diagnostic::Diagnostic;
pub use event_counter::EventCounter;
pub use open_span::empty_unstable_slots;
pub use output_format::{OutputFormat, Spelling};
pub use progress::is_spool;
pub use summary::Summary;
pub use text::{stamp_bits, text_reference};
