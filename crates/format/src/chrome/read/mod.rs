//! Reading Chrome trace events, as they are found in the wild.
//!
//! [`Scanner`] finds [`Event`]s in bytes, [`Pieces`] cuts a stream of bytes into parts that can be scanned at the same
//! time, [`read`] does both, and [`load`] makes a [`Trace`](ferrum_trace_model::Trace) of them.

mod cursor;
mod decimal;
mod event;
mod loss;
mod scanner;
mod text;

pub use cursor::{Cursor, Stop};
pub use event::{Event, Number, Scalar};
pub use loss::Loss;
pub use scanner::{Form, More, Scanner, Sink, VALUE_BYTES_MAX};
pub use text::Text;
