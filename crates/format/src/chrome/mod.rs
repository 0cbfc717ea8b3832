//! Chrome trace events: the JSON that Perfetto, chrome://tracing, speedscope and most others open.
//!
//! What is written, field by field, is in `docs/chrome-json.md`.

#[cfg(feature = "read")]
pub mod read;
mod snippet;
mod write;

pub use snippet::Snippet;
pub use write::{
    Counterable, push_args_value, push_counter_value, push_decimal, push_micros, push_start_and_duration, push_text,
};
