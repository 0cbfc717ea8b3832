//! Records every step, layer and operation of a program at a cost near two clock reads, and loses nothing.

pub(crate) const COMPILED_OUT: bool = cfg!(feature = "compiled-out");

mod arg;
mod async_span;
mod attach;
mod buffer;
mod chunk;
mod clock;
mod config;
mod destination;
mod error;
mod event;
mod flow;
mod global;
mod keeper;
mod laps;
mod late;
mod macros;
mod names;
mod output;
mod recorder;
mod say;
mod session;
mod site;
mod span;
mod spool;
mod stats;
mod text;
mod track;
mod writer;

pub use arg::{Arg, Value};
pub use async_span::AsyncSpan;
pub use error::Error;
pub use flow::Flow;
pub use laps::Laps;
pub use recorder::{Recorder, RecorderBuilder, finish, flush, is_on, set_process_name, set_thread_name, stats};
pub use span::{DynamicSpan, Span};
pub use stats::Stats;
pub use text::Text;
pub use track::{Timestamp, Track};
pub use writer::{TraceEvent, TraceWriter, flush_global_trace, global_trace};

/// For the macros only.
#[doc(hidden)]
pub mod __private {
    pub use crate::async_span::{async_begin, async_end, async_instant};
    pub use crate::event::{counter, instant};
    pub use crate::global::OFF;
    pub use crate::laps::LapSite;
    pub use crate::site::Site;

    /// Whether and how the process records.
    #[inline(always)]
    pub fn mode() -> u8 {
        if crate::COMPILED_OUT { OFF } else { crate::global::mode() }
    }
}
