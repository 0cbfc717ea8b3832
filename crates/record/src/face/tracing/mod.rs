//! The spans and events of [`tracing`](https://docs.rs/tracing) in the same recording (feature `tracing`).
//!
//! ```
//! use tracing_subscriber::prelude::*;
//!
//! tracing_subscriber::registry().with(ferrum_trace::tracing::layer()).init();
//!
//! let _span = tracing::info_span!("decode", layer = 3, tokens = 128).entered();
//! tracing::info!(request = 7, "first token");
//! ```
//!
//! There is no guard to keep: the file is complete when the process ends, as ever. What is recorded:
//!
//! - **Each time a span is entered** is a slice of the thread that entered it, with the span's fields as arguments and its
//!   target as category.
//! - **A span that is a task** is also drawn on a row of its own, from its first to its last moment; `busy_ns` and `idle_ns` at
//!   its end say how much of that it was entered. Slices on threads are when it worked, the row is how long it took. A task
//!   is what is entered again on another thread, or is entered again and has fields, such as the number of a request. A span
//!   without fields that one thread enters again and again is a part of a program, as candle's spans are, and has no row.
//! - **Tasks nest.** A task is drawn in the row of the span around it, which gets a row as well if it has been left and so waits
//!   for it. If another task is there at that time (`join!`), it gets a row of its own with the name of both: `request 42 / fetch`.
//!   All rows of a request have the category of its outermost span; the argument `target` is that of the span, if it is another.
//! - **Rows have ids.** The value of a field `request_id`, `request`, `req_id`, `req` or `id` (the first of these that the span has
//!   when it becomes a task) is in the title of the row: `request 42`. The events are still called `request`, so that they are counted together.
//! - **Events** are instants, called by the first line of their message; the whole message is an argument as well if there are other
//!   fields. An event without a message is called by its place, `src/main.rs:12`. So are those with other fields once a recording has 65,536
//!   different names.
//!
//! Fields keep their types. Those named `layer`, `request`, `batch`, `tokens` mean what the words of this crate mean.
//!
//! Whether the process records is asked when a span is *entered*: one that was made before recording began is recorded
//! from then on. What filters of other layers leave out is not seen here; to leave out more, give this layer a filter of
//! its own (`.with_filter(…)`).

mod cache;
mod callsite;
mod fields;
mod kept;
mod layer;
mod row;
mod span_key;
mod stack;

pub use layer::{Layer, layer};
