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
//! No guard has to be kept: the file is complete when the process ends. Recorded are:
//!
//! - **Each entry of a span** is a slice of the thread that entered it, with the span's fields as arguments and its
//!   target as category.
//! - **A span that is a task** is also drawn on a separate row, from its first entry to its close; `busy_ns` and
//!   `idle_ns` at its end state how much of that time it was entered. Slices on threads show when it worked, the row
//!   shows how long it took. A span is a task if it is entered again and
//!   - has fields, such as the number of a request, or
//!   - is entered on another thread, or
//!   - is entered inside its parent again, or, if it has no parent, was first entered right after it was created. So
//!     every call of an async function with `#[instrument]` is a task, since each poll enters its span.
//!
//!   A span without fields that one thread enters in other places than the one where it was created is a part of a
//!   program, as candle's spans are, and has no row.
//! - **Tasks nest.** A task is drawn in the row of the span around it, which also gets a row if it has been left and so
//!   waits for the task. If another task is there at that time (`join!`), the task gets a separate row with both names:
//!   `request 42 / fetch`. All rows of a request have the category of its outermost span; the argument `target` is the
//!   span's own target, if that differs.
//! - **Rows have ids.** The value of a field `request_id`, `request`, `req_id`, `req` or `id` (the first of these that
//!   the span has when it becomes a task) is in the title of the row: `request 42`. The events are still named
//!   `request`, so that they are counted together.
//! - **Events** are instants, named by the first line of their message; the whole message is an argument as well if
//!   there are other fields. An event without a message is named by its source location, `src/main.rs:12`. So are
//!   events with other fields once a recording has 65,536 different names.
//! - **`follows_from`** draws an arrow from the span that the thread is in to the next entry of the span that follows.
//!
//! Fields keep their types. Fields named `layer`, `request`, `batch`, `tokens` have the meaning they have in this
//! crate.
//!
//! Recording is checked when a span is *entered*: a span that was created before recording started is recorded from
//! then on. Spans that filters of other layers leave out are not seen here; to leave out more, give this layer its own
//! filter (`.with_filter(…)`).

mod cache;
mod callsite;
mod fields;
mod kept;
mod layer;
mod row;
mod slot;
mod span_key;
mod stack;
mod table;

pub use layer::{Layer, layer};
