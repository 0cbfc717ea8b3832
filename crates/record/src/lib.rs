//! Records every step, layer and operation of a program at a cost near two clock reads, and loses nothing.
//!
//! ```
//! use ferrum_trace::{counter, instant, laps, span};
//!
//! # struct Pool; impl Pool { fn used(&self) -> usize { 1 } fn free(&self) -> usize { 2 } }
//! # let (pool, tokens, request) = (Pool, [1, 2, 3], 7);
//! for layer in 0..2u32 {
//!     let _span = span!("rms_norm", "norm", layer, tokens = tokens.len()); // ends when dropped
//! }
//! let mut lap = laps!("layer", layer = 2); // stretches that follow each other: one clock read each
//! lap.mark("attention");
//! lap.mark("mlp");
//! drop(lap);
//! counter!("kv_cache", used = pool.used(), free = pool.free());
//! instant!("preempt", "scheduler", request);
//! ```
//!
//! Run the program with `FERRUM_TRACE_OUT=trace.json` and open `trace.json` in <https://ui.perfetto.dev>,
//! chrome://tracing, speedscope or the Firefox Profiler. There is no guard to hold and no call to make: the file is
//! complete after `main` returns, after `std::process::exit` and after a panic. After `kill -9`, `abort` or a crash,
//! everything recorded up to that instant is in `trace.json.spool`, and `ferrum-trace recover trace.json` makes the file.
//!
//! # Words
//!
//! - A **span** is a slice of a thread's time. [`span!`] for a name known when compiling, [`Span::dynamic`] for others,
//!   [`laps!`] for stretches that follow each other.
//! - An **instant** is a point in time: [`instant!`]. A **counter** is a value that changes: [`counter!`].
//! - An **asynchronous** span may begin and end on different threads: [`async_span!`] with a guard,
//!   [`async_begin!`], [`async_instant!`], [`async_end!`] with an id of yours, such as that of a request.
//! - A **flow** is an arrow between spans: [`Flow`].
//! - A **track** is a row that is no thread, such as a stream of a GPU; slices on it have times of their own: [`Track`],
//!   [`complete_at!`], [`Timestamp`]. What a device measured by another clock carries its error: [`Track::measured`]; the crate
//!   `ferrum-trace-device` does that for wgpu, OpenCL, CUDA and Metal.
//! - A **probe** times work on any backend and pushes a slice: [`TraceWriter::probe`] with a [`BackendTimer`].
//! - **Steps, layers, operations, requests** of an engine have words that the command knows: [`llm`].
//! - **Arguments** are integers, floats, truth values and texts: [`Value`]. They are evaluated only while recording.
//! - The **spool** is the file that is being recorded to, through memory shared with the kernel: `trace.json.spool`. The
//!   **output** is made of it at the end, at a [`flush`] and by `ferrum-trace recover`.
//!
//! # Settings
//!
//! | variable | meaning |
//! | --- | --- |
//! | `FERRUM_TRACE_OUT` | where the trace goes; unset, empty, `0`, `off`, `false`, `no` or `none`: nothing is recorded |
//! | `FERRUM_TRACE_LIMIT` | how large the spool may become, 4 GiB if not given; `512MiB`, `2G`, … |
//! | `FERRUM_TRACE_RING` | a flight recorder: only the newest is kept, as much as `64MiB`, or the last `30s` if the limit has room |
//! | `FERRUM_TRACE_ROTATE` | several files, one after the other: each of `256MiB` of spool, or of `10min`, or `1GiB,1h,keep=8` to keep the newest eight |
//! | `FERRUM_TRACE_WINDOW` | which part of the run is recorded: `steps=100..120`, `first=30s`, `every=1000`, `requests=1/100`, `ranks=0`, `skip=50`; see [`Window`] |
//! | `FERRUM_TRACE_CATEGORIES` | `attention,gemm` for these only, `-memory` for all but this; see [`Categories`] |
//! | `FERRUM_TRACE_TRIGGER` | what has a flight recorder write a file by itself: `step>50ms`, `decode>3xp99`, `request>2s`, `ttft>500ms`, `tpot>80ms`, `panic`, `signal=SIGUSR2`; see [`Trigger`] |
//! | `FERRUM_TRACE_DUMPS` | how much it may write: `files=10,bytes=4GiB,every=10s,after=1s`; see [`DumpLimits`] |
//! | `FERRUM_TRACE_HTTP` | with the feature `http`: listen for requests at `127.0.0.1:9123` or `unix:/run/engine.sock` |
//! | `FERRUM_TRACE_HTTP_TOKEN` | requests need `Authorization: Bearer` and this; without it, only loopback and Unix sockets are listened at |
//! | `FERRUM_TRACE_HTTP_DIR` | where recordings go that are begun so; if not given, where `FERRUM_TRACE_OUT` goes, or the current directory |
//! | `FERRUM_TRACE_TIME` | `us`: times in JSON are whole microseconds, and every event has `dur`, for readers that know no other; `ns`, the default: three decimals |
//! | `FERRUM_TRACE_CLOCK` | `auto`, `ticks` (the processor's counter) or `monotonic` (the system's clock) |
//!
//! A value of `FERRUM_TRACE_LIMIT`, `_RING`, `_ROTATE`, `_WINDOW`, `_CATEGORIES` or `_DUMPS` that is not understood switches recording off, with one
//! line on standard error that says what was expected: a misspelled bound is not taken for no bound. A trigger that is not understood is
//! left out, a clock is replaced by the default. A category that is nearly one of [`llm`] is named in a line; if no event has any of the
//! chosen categories, a line at the end says so, and which there are.
//!
//! The path: its ending chooses the form. `.pftrace` (or `.perfetto-trace`) is Perfetto's own, `.spool` leaves the spool, to be converted
//! later, anything else is Chrome JSON; `.gz` or `.zst` behind it packs that, as in `trace.json.zst`. All of them are complete, flushed
//! and recovered alike. With `FERRUM_TRACE_ROTATE`, files are named `trace.001.json` and so on. `%p` is the process, `%r` the rank (`RANK`, `OMPI_COMM_WORLD_RANK` or `SLURM_PROCID`, else 0), `%h` the host, `%%` a percent sign.
//! A directory means `DIR/PROGRAM-PID.json`. If a live process records to the path, the next one takes `trace.PID.json`
//! and says so; so does a forked child that records, unless `%p` gives it a path of its own. What a killed process left there is
//! kept aside, never overwritten. A finished trace is replaced only by one that has an event: a process that records nothing leaves the
//! file as it is, whatever it calls and however it ends, and says so in one line. If there is no file, it writes one without events.
//!
//! A program that wants to decide by itself uses [`Recorder::builder`], and [`control`] while it runs. The environment is asked at the first call of
//! any macro or function of this crate, once. If it asks for a recording, that one wins: [`RecorderBuilder::start`] returns a handle to
//! it instead of an error, and says in one line that the program's own settings are not used.
//!
//! # What it costs
//!
//! Measured on 2 cores of an AMD EPYC (`bench/runs/` has the tables), as a multiple of the floor: two reads of the cycle
//! counter and one store, about 19 ns.
//!
//! | mode | cost |
//! | --- | --- |
//! | compiled out (feature `compiled-out`) | no instruction |
//! | off | one relaxed load and a branch that is not taken: 0.15 ns |
//! | on: a span, or one with two integers | 1.0 to 1.1 times the floor; 16 and 32 bytes of spool |
//! | on: a stretch of `laps!` | 0.6 times the floor |
//! | on: instant, counter | about 1 to 2 times the floor |
//! | on: [`Span::dynamic`], [`TraceWriter::push`] | about 1.5 to 2 times the floor |
//! | on: text of more than 7 bytes as argument | a copy of it |
//!
//! The first event of a call site takes a lock and defines its name; the first event of a thread takes a lock and gives it
//! a number and a chunk. After that no event takes a lock, allocates or calls the system. Memory grows by less than
//! 64 MiB, plus 32 KiB a thread that is alive, whatever is recorded.
//!
//! # Limits
//!
//! - Names and texts: 8 KiB of UTF-8 each; what is longer is cut and ends in `… [cut: N bytes]`. JSON arguments of
//!   [`TraceWriter::push_with_args`] longer than that are replaced by a text that says so.
//! - Arguments: 255 an event. Call sites: 8 million. Names made at run time: 65,536 or 1 MiB of them are numbered;
//!   further ones are written with each event and cost more.
//! - In JSON, NaN and the infinities become the texts `NaN`, `Infinity`, `-Infinity`; NUL becomes `␀`; a counter value
//!   that is no finite number becomes an argument of an instant of the same name.
//! - A flight recorder overwrites the oldest, but never the last moments of a living thread while others have more. [`dump`] writes
//!   what it has to a file of its own, and recording goes on. A request or an arrow whose begin is overwritten begins where the ring
//!   does, or is left out.
//! - What is asynchronous and has not ended ends at the last event of the file, with the argument `unclosed`.
//! - With several files, a request or an arrow over an edge is as in a flight recorder; spans are whole, in the file in which they end.
//!   A text of more than 7 bytes is `(lost)` if the recording goes on in the next file between it and its event. A thread that is kept
//!   from running for more than half a second in the middle of writing an event, at such a moment, loses that event.
//! - At the limit of the spool, or when the disk is full, recording stops, what comes later is counted by thread, and the
//!   count is in the file, in [`Stats`] and in one line on standard error.
//! - Spans of a thread are drawn nested. A guard that is dropped before one that began after it moves to a row of its own,
//!   `NAME (2)`.
//! - Between threads, times may differ by up to 40 ns: the counters of two cores are read without a fence.
//! - A signal handler may record. If it interrupts the recorder itself on the same thread, its event is counted as lost.
//!   The first event of a thread, and of a call site, should not come from a signal handler, since it allocates.
//!
//! # No file appears?
//!
//! - `FERRUM_TRACE_OUT` is not set in the environment of the process, or no call site of this crate was reached.
//! - The line on standard error says why: the directory is missing, read-only or full.
//! - The file is an older one: the process recorded nothing, so it was left as it was, and a line on standard error says so.
//! - The process was killed, aborted, or ended by `_exit`: `trace.json.spool` is there, use `ferrum-trace recover`.
//! - Another process had the path: look for `trace.PID.json`.
//! - The feature `compiled-out` is on somewhere in the build (`cargo tree -e features -i ferrum-trace`).
//!
//! # Where it runs
//!
//! Tested on Linux. On macOS it compiles with the same code for memory and files (without reserved disk space, and the end
//! of the process is seen by `atexit`, so that what handlers registered before it record is missing). On Windows it
//! compiles and stays off, with one line that says so.
//!
//! # Features
//!
//! - `gzip`, `zstd` (both on): paths that end in `.gz` and `.zst` are packed. Without, one line says so, and the file is what it would be
//!   without that ending. `zstd` compiles C.
//! - `tracing`: `ferrum_trace::tracing::layer()` records the spans and events of `tracing` as well.
//! - `http`: `ferrum_trace::http` starts, stops and answers from outside, on a port, a Unix socket or in an axum server. Nothing of it,
//!   and of what it depends on, is there otherwise.
//! - `compiled-out`: every call site compiles to nothing.
//!
//! # What it does not do
//!
//! It samples nothing, sends nothing anywhere, and takes over no signal but the one that a [`Trigger`] names. It reads no
//! traces: that is the command `ferrum-trace`.

/// Whether all call sites are to vanish.
pub(crate) const COMPILED_OUT: bool = cfg!(feature = "compiled-out");

mod error;
mod face;
mod flight;
mod lifecycle;
mod macros;
mod memory;
mod os;
mod probe;
mod process;
mod recording;
#[cfg(feature = "http")]
mod server;
mod stats;
mod thread;
mod util;
mod watch;

pub use error::Error;
pub use face::control;
#[cfg(feature = "http")]
pub use face::http;
pub use face::recorder::{Recorder, RecorderBuilder, finish, flush, is_on, set_process_name, set_thread_name, stats};
pub use face::text::Text;
pub use face::timer::{BackendTimer, CpuTimer};
#[cfg(feature = "tracing")]
pub use face::tracing;
pub use face::writer::{TraceEvent, TraceWriter, flush_global_trace, global_trace};
pub use ferrum_trace_model::RefusedDumps;
pub use ferrum_trace_model::settings::{Categories, DumpLimits, SettingError, Signal, StepLimit, Trigger, Window};
pub use ferrum_trace_model::vocab::about::DumpRefusal;
pub use probe::async_span::AsyncSpan;
pub use probe::dump::dump;
pub use probe::flow::Flow;
pub use probe::laps::Laps;
pub use probe::llm;
pub use probe::span::{DynamicSpan, Span};
pub use probe::track::{Measured, Timestamp, Track};
pub use process::value::Value;
pub use stats::Stats;
pub use thread::arg::Arg;

/// For the macros only.
#[doc(hidden)]
pub mod __private {
    /// Reads settings as the environment has them, and returns what is said about them. For the fuzzer.
    pub fn read_settings<'a>(vars: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
        let mut complaints = Vec::new();
        crate::lifecycle::environment::options_from_vars(vars, |complaint| complaints.push(complaint));
        complaints
    }

    pub use crate::probe::async_span::{AsyncSite, async_begin, async_end, async_instant};
    pub use crate::probe::laps::LapSite;
    pub use crate::probe::mode::mode;
    pub use crate::process::event::{counter, instant};
    pub use crate::process::switch::OFF;
    pub use crate::thread::site::Site;
    pub use ferrum_trace_format::spool::row_title::TITLE_KEY;
}
