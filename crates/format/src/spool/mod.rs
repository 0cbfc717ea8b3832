//! The spool: the file that the recorder fills through shared memory while the program runs.
//!
//! It is complete at every moment, also after `kill -9`, and can be read alone: names, threads and the clock's
//! calibration are in it. [`to_form`] makes of it what viewers open; [`Converter`] does the same bit by bit while the spool
//! still grows.

mod begun;
mod calibration;
mod converter;
mod counter;
mod definition;
mod diagnostic;
mod dictionary;
pub(crate) mod facts;
mod form;
mod json_check;
mod lanes;
pub mod layout;
mod open_slices;
mod open_span;
mod ordered;
mod piece;
pub mod record;
pub mod row_title;
mod sink;
mod source;
mod spell_chrome;
mod spell_perfetto;
mod spelling;
mod summary;
mod text;
mod unclosed;

pub use converter::{Batch, Converter, to_chrome, to_chrome_bytes, to_form, write_whole};
pub use counter::EventCounter;
pub use definition::{Definition, THREAD_DROPPED_WORD, write_site};
pub use diagnostic::Diagnostic;
pub use form::{OutputFormat, Spelling};
pub use open_span::empty_unstable_slots;
pub use source::is_spool;
pub use summary::Summary;
pub use text::{stamp_bits, text_reference};
