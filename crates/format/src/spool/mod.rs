//! The spool: the memory-mapped file that the recorder writes while the program runs.
//!
//! It is complete at every moment, even after `kill -9`, and self-contained: names, threads and the calibration of the
//! clock are in it. [`to_format`] converts it to a format that viewers open; [`Converter`] does the same incrementally
//! while the spool still grows.

mod begins_present;
mod calibration;
mod chunk_names;
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
mod output_format;
mod piece;
mod progress;
pub mod record;
pub mod row_title;
mod spool_writer;
mod summary;
mod text;

pub use converter::{Batch, Converter, to_chrome, to_chrome_bytes, to_format, write_whole};
pub use definition::{Definition, THREAD_DROPPED_WORD, site_bytes, thread_bytes, write_site, write_thread};
pub use diagnostic::Diagnostic;
pub use event_counter::EventCounter;
pub use layout::{FILE_ENDING, FILE_EXTENSION};
pub use open_span::empty_unstable_slots;
pub use output_format::{Encoding, OutputFormat};
pub use progress::is_spool;
pub use summary::Summary;
pub use text::{stamp_bits, text_reference};
