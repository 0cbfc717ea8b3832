//! Reads Chrome trace events, including files that are damaged or not quite valid.
//!
//! `Scanner` finds [`Event`]s in bytes, [`for_each`] and, on several threads, [`read`](read()) find them in a stream,
//! and [`load`] stores them in a [`Trace`](ferrum_trace_model::Trace).

mod column_pool;
mod columns;
mod decimal;
mod event;
mod facts;
mod load;
mod loss;
mod losses;
mod members;
mod merge;
mod metadata_field;
mod pairing;
mod pieces;
mod renumbering;
mod rows;
mod scanner;
mod valid_numbers;

mod wanted_keys;
mod whole_file;

pub use super::cursor::{Cursor, Stop};
pub use super::text::Text;
pub use event::{Arg, Event, Number, Scalar};
pub use facts::recording_of;
pub use load::{LoadOptions, Loaded, load, load_async_args, load_within};
pub use loss::Loss;
pub use losses::Losses;
pub use members::{for_each_element, for_each_member};
pub use metadata_field::for_each_event_in_field;
pub use renumbering::Limits;
pub use rows::RowFinder;
pub(crate) use scanner::DOCUMENT_SEPARATOR;
pub use scanner::{BYTE_ORDER_MARK, DocumentShape, EventSink};
pub use valid_numbers::{repair_numbers, with_valid_numbers};
pub use whole_file::{Outline, for_each, read, read_in_pieces};
