//! The compared recorders, behind a common trait.
//!
//! A contender runs alone in a child process, so that it is not affected by the background threads, the heap or the
//! exit handlers of another, and starts only once.

pub(crate) mod floor;
mod instant;
pub(crate) mod ours;
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
pub(crate) mod tracing_chrome;
#[cfg(feature = "peers")]
pub(crate) mod tracing_ours;
#[cfg(feature = "peers")]
mod tracy;
#[cfg(feature = "peers")]
mod tsc_trace;

use std::error::Error;
use std::path::Path;

pub(crate) use floor::FLOOR;
pub(crate) use reference::{Model as ReferenceModel, REFERENCE};

/// An error of a contender is always fatal to its child, so only the message is kept.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// The work of one thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    pub spans: u64,
    /// Adds two integer arguments to every span.
    pub args: bool,
}

/// The content of the files of a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readable {
    /// Number of the bench's spans, counted by parsing the format.
    Spans(u64),
    /// The tool writes no file by itself.
    NoFile(&'static str),
}

/// One recorder, used as its documentation recommends for the lowest cost.
pub(crate) trait Contender: Sync {
    /// The name in tables and for `--only`.
    fn name(&self) -> &'static str;

    /// The packages whose versions are in the header.
    fn packages(&self) -> &'static [&'static str] {
        &[]
    }

    /// Spans per thread in one batch: about 50 ms, limited by memory.
    fn batch(&self) -> u64 {
        1_000_000
    }

    /// Spans recorded before the clock starts, per thread.
    fn warm_up(&self) -> u64 {
        20_000
    }

    /// Returns true if a span can have two integer arguments.
    fn takes_args(&self) -> bool {
        true
    }

    /// Returns true if it takes part in the figures per span; a second output format of one recorder need not be timed
    /// again.
    fn times_spans(&self) -> bool {
        true
    }

    /// The format of the finished file.
    fn output(&self) -> &'static str;

    /// Switches recording on, with files inside `dir`.
    fn start(&self, dir: &Path, work: Work) -> Outcome;

    /// Reserves memory for `work` on the calling thread, if the recorder supports it.
    fn reserve(&self, _work: Work) {}

    /// Records on the calling thread, with the enclosing span or frame that the recorder requires.
    fn record(&self, work: Work);

    /// Completes the file. Called on the recording thread.
    fn finish(&self, dir: &Path) -> Outcome;

    /// Called after the measurement: returns an error if fewer than `spans` were recorded, since a dropped span is
    /// cheap.
    fn verify(&self, _spans: u64) -> Outcome {
        Ok(())
    }

    /// Counts the readable spans in `dir`, after `finish` or after a kill.
    fn readable(&self, dir: &Path) -> Outcome<Readable>;

    /// A loop over call sites while recording is switched off at run time, if that is possible.
    fn off(&self) -> Option<fn(u64)> {
        None
    }
}

/// Every contender, in the order of the tables.
pub(crate) fn all() -> Vec<&'static dyn Contender> {
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

/// The contender with this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Contender> {
    all().into_iter().find(|contender| contender.name() == name)
}

/// Sixteen call sites in a row, so that the loop around them does not matter at a fraction of a nanosecond each.
macro_rules! sixteen {
    ($site:block) => {
        $site $site $site $site $site $site $site $site
        $site $site $site $site $site $site $site $site
    };
}
pub(crate) use sixteen;

/// Number of call sites that [`sixteen`] creates.
pub(crate) const SITES: u64 = 16;

/// The body of every measured span: empty, and a barrier for the optimizer.
#[inline(always)]
pub(crate) fn body() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}
