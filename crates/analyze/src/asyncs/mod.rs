//! Async operations: requests, tasks, and other work that belongs to no single thread.

mod count;
mod ops;
mod select;
mod summary;

pub use count::{AsyncCount, count_asyncs};
pub use ops::{ASYNC_ARGS, AsyncOp, BusyTime, async_ops};
pub use summary::{AsyncRest, AsyncRow, AsyncSummary, summarize_asyncs};
