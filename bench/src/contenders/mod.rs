//! The recorders that are compared, each behind the same few calls.
//!
//! A contender runs alone in a child process, so none sees the background threads, the heap or the exit handlers of
//! another, and none needs a way to start twice.

pub mod floor;
mod instant;
pub mod ours;
mod reference;

#[cfg(feature = "peers")]
mod fastrace;
#[cfg(feature = "peers")]
mod measureme;
#[cfg(feature = "peers")]
mod perfetto_recorder;
#[cfg(feature = "peers")]
mod perfetto_sdk;
#[cfg(feature = "peers")]
mod puffin;
#[cfg(feature = "peers")]
mod sparkles;
#[cfg(feature = "peers")]
pub mod tracing_chrome;
#[cfg(feature = "peers")]
pub mod tracing_ours;
#[cfg(feature = "peers")]
mod tracy;
#[cfg(feature = "peers")]
mod tsc_trace;

use std::error::Error;
use std::path::Path;

pub use floor::FLOOR;
pub use reference::{Model as ReferenceModel, REFERENCE};

/// What can go wrong in a contender: always fatal to its child, so the message is all that is kept.
pub type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// What one thread is asked to record.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub spans: u64,
    /// Two integers on every span.
    pub args: bool,
}

/// What a reader finds in the files a contender left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readable {
    /// So many of the bench's spans, counted by parsing the format.
    Spans(u64),
    /// This tool writes no file by itself.
    NoFile(&'static str),
}

/// One recorder, used as its documentation recommends for the lowest cost.
pub trait Contender: Sync {
    /// The name in tables and for `--only`.
    fn name(&self) -> &'static str;

    /// The packages whose versions the header prints.
    fn packages(&self) -> &'static [&'static str] {
        &[]
    }

    /// Spans per thread in one batch: about as many as take 50 ms, and no more than its memory allows.
    fn batch(&self) -> u64 {
        1_000_000
    }

    /// Spans recorded before the clock starts, per thread.
    fn warm_up(&self) -> u64 {
        20_000
    }

    /// Whether a span can carry two integers.
    fn takes_args(&self) -> bool {
        true
    }

    /// Whether it takes part in the figures per span; a second output form of one recorder need not be timed twice.
    fn times_spans(&self) -> bool {
        true
    }

    /// What the finished file is.
    fn output(&self) -> &'static str;

    /// Switches recording on, with files inside `dir`.
    fn start(&self, dir: &Path, work: Work) -> Outcome;

    /// Room for `work` on the calling thread, where the recorder lets its user ask for it ahead.
    fn reserve(&self, _work: Work) {}

    /// Records on the calling thread, with whatever enclosing span or frame the recorder asks for.
    fn record(&self, work: Work);

    /// Completes the file. Called on the thread that recorded.
    fn finish(&self, dir: &Path) -> Outcome;

    /// After the clock has stopped: refuses the figure if fewer than `spans` were recorded. A dropped span is cheap.
    fn verify(&self, _spans: u64) -> Outcome {
        Ok(())
    }

    /// Counts what can be read in `dir`, after `finish` or after a kill.
    fn readable(&self, dir: &Path) -> Outcome<Readable>;

    /// A loop over call sites while recording is switched off at run time, if it can be.
    fn off(&self) -> Option<fn(u64)> {
        None
    }
}

/// Every contender, in the order of the tables.
pub fn all() -> Vec<&'static dyn Contender> {
    let mut all: Vec<&'static dyn Contender> = vec![&floor::FLOOR, &instant::INSTANT];
    #[cfg(feature = "peers")]
    all.extend([
        &tsc_trace::TSC_TRACE as &dyn Contender,
        &sparkles::SPARKLES,
        &tracy::TRACY,
        &measureme::MEASUREME,
        &perfetto_recorder::PERFETTO_RECORDER,
        &fastrace::FASTRACE,
        &puffin::PUFFIN,
        &perfetto_sdk::PERFETTO_SDK,
        &tracing_chrome::TRACING_CHROME,
        &tracing_ours::TRACING_ALONE,
        &tracing_ours::TRACING_OURS,
    ]);
    all.extend([&reference::REFERENCE as &dyn Contender, &ours::SPOOL, &ours::RING, &ours::JSON]);
    all
}

/// The contender of that name.
pub fn find(name: &str) -> Option<&'static dyn Contender> {
    all().into_iter().find(|contender| contender.name() == name)
}

/// Sixteen call sites in a row, so that at a fraction of a nanosecond each the loop around them does not count.
macro_rules! sixteen {
    ($site:block) => {
        $site $site $site $site $site $site $site $site
        $site $site $site $site $site $site $site $site
    };
}
pub(crate) use sixteen;

/// Call sites that [`sixteen`] makes of one.
pub const SITES: u64 = 16;

/// The body of every measured span: nothing, and the compiler may not move anything across it.
#[inline(always)]
pub fn body() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}
