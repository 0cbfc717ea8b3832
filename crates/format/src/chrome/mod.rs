//! Chrome trace events: the JSON that Perfetto, chrome://tracing, speedscope and most other viewers open.
//!
//! `docs/chrome-json.md` describes the output field by field.

#[cfg_attr(not(feature = "read"), expect(dead_code, unreachable_pub, reason = "some of it is for readers only"))]
mod cursor;
mod plain;
#[cfg(feature = "read")]
pub mod read;
mod snippet;
#[cfg_attr(not(feature = "read"), expect(unreachable_pub, reason = "public for readers only"))]
mod text;
mod write;

pub(crate) use cursor::{Cursor, Stop};
pub(crate) use snippet::Snippet;
pub(crate) use text::Text;
pub use write::{ARGS_STRIPPED, METADATA_CATEGORY, push_decimal, push_micros, push_text};
pub(crate) use write::{push_args_value, push_counter_value, push_start_and_duration};
