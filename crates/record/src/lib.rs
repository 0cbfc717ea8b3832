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
//! let mut lap = laps!("layer", layer = 2); // consecutive slices: one clock read each
//! lap.mark("attention");
//! lap.mark("mlp");
//! drop(lap);
//! counter!("kv_cache", used = pool.used(), free = pool.free());
//! instant!("preempt", "scheduler", request);
//! ```
//!
//! Run the program with `FERRUM_TRACE_OUT=trace.json` and open `trace.json` in <https://ui.perfetto.dev>,
//! chrome://tracing, speedscope or the Firefox Profiler. No guard has to be held and no call is needed: the file is
//! complete after `main` returns, after `std::process::exit` and after a panic. After `kill -9`, `abort` or a crash,
//! everything recorded up to that instant is in `trace.json.spool`, and `ferrum-trace recover trace.json` makes the
//! file from it.
//!
//! # Probes
//!
//! | to record | use |
//! | --- | --- |
//! | a span: a slice of a thread's time | [`span!`]; [`Span::dynamic`] for a name made at run time |
//! | consecutive slices (laps) | [`laps!`] |
//! | an instant: a point in time | [`instant!`] |
//! | a counter: a value that changes | [`counter!`] |
//! | an async slice, which may begin and end on different threads | [`async_span!`] with a guard; [`async_begin!`], [`async_instant!`], [`async_end!`] with your own id, such as that of a request |
//! | a flow: an arrow between spans | [`Flow`] |
//! | slices with given times on a track other than a thread, such as a stream of a GPU | [`Track`], [`complete_at!`], [`Timestamp`] |
//! | a slice that a device measured by another clock, with its error | [`Track::measured`] |
//! | work on any backend, measured by a timer | [`TraceWriter::probe`] with a [`BackendTimer`] |
//!
//! Arguments are integers, floats, booleans and texts: [`Value`]. They are evaluated only while recording.
//!
//! # LLM vocabulary
//!
//! The module [`llm`] has typed probes for the steps, layers, operations, requests and counters of an engine. They use
//! names that the command `ferrum-trace` knows.
//!
//! # Control
//!
//! - The environment starts a recording, see [Settings](#settings). A program that decides by itself uses
//!   [`Recorder::builder`].
//! - [`control`] pauses, resumes and stops a running recording, changes its categories and returns its status.
//! - [`flush`] brings the output up to date, [`finish`] ends the recording, [`dump`] writes the content of a flight
//!   recorder to a file, [`stats`] returns counts, [`is_on`] returns true while the process records.
//! - [`set_process_name`] and [`set_thread_name`] set names in the trace.
//!
//! # Adapters
//!
//! - `ferrum_trace::tracing::layer()` (feature `tracing`) records the spans and events of `tracing`.
//! - `ferrum_trace::http` (feature `http`) controls the recording from outside, on a port, a Unix socket or in an axum
//!   server.
//! - [`TraceWriter`], [`global_trace`] and [`TraceEvent`] are the original engine's interface: slices are pushed when
//!   they have ended.
//! - The crate `ferrum-trace-device` records what devices measure, for wgpu, OpenCL, CUDA and Metal.
//!
//! # Files
//!
//! The **spool** is the file that is being recorded to, through memory shared with the kernel: `trace.json.spool`. The
//! **output** is made from it at the end, at a [`flush`] and by `ferrum-trace recover`.
//!
//! The extension of the path chooses the output format. `.pftrace` (or `.perfetto-trace`) is Perfetto's own, `.spool`
//! keeps the spool, to be converted later, anything else is Chrome JSON. A further `.gz` or `.zst` compresses the file,
//! as in `trace.json.zst`. All of them are completed, flushed and recovered alike.
//!
//! In a path, `%p` is the process, `%r` the rank (`RANK`, `OMPI_COMM_WORLD_RANK` or `SLURM_PROCID`, else 0), `%h` the
//! host, `%%` a percent sign. A directory means `DIR/PROGRAM-PID.json`. With `FERRUM_TRACE_ROTATE`, files are named
//! `trace.001.json` and so on.
//!
//! If a live process records to the path, the next one records to `trace.PID.json` and prints a line about it; so does
//! a forked child that records, unless `%p` gives it its own path. A spool that a killed process left is renamed, never
//! overwritten. A finished trace is replaced only by a trace that has events: a process that records nothing leaves the
//! file as it is, whatever it calls and however it ends, and prints one line about it. If there is no file, it writes
//! one without events.
//!
//! All files are created anew and are private to their user until they are complete (mode 0600); links are not followed
//! for them, and files of other users are not used: the recorder prints a line and records to `trace.PID.json`. A
//! complete trace gets the permissions of the file that it replaces, or those of any new file (the umask). At the end,
//! it is synced to the disk before the spool is removed; a spool that could not be read completely is kept, and a line
//! says so.
//!
//! # Settings
//!
//! | variable | meaning |
//! | --- | --- |
//! | `FERRUM_TRACE_OUT` | path of the trace; unset, empty, `0`, `off`, `false`, `no` or `none`: nothing is recorded |
//! | `FERRUM_TRACE_LIMIT` | maximum size of the spool, by default 4 GiB; `512MiB`, `2G`, … |
//! | `FERRUM_TRACE_RING` | a flight recorder, which keeps only the newest events: `64MiB` of them, or the last `30s` if the limit has room for that |
//! | `FERRUM_TRACE_ROTATE` | rotation: several files in sequence, each of `256MiB` of spool, or of `10min`, or `1GiB,1h,keep=8` to keep the newest eight |
//! | `FERRUM_TRACE_WINDOW` | the part of the run that is recorded: `steps=100..120`, `first=30s`, `every=1000`, `requests=1/100`, `ranks=0`, `skip=50`; see [`Window`] |
//! | `FERRUM_TRACE_CATEGORIES` | `attention,gemm` for only these, `-memory` for all but this; see [`Categories`] |
//! | `FERRUM_TRACE_TRIGGER` | conditions that cause a dump of a flight recorder: `step>50ms`, `decode>3xp99`, `request>2s`, `ttft>500ms`, `tpot>80ms`, `panic`, `signal=SIGUSR2`; see [`Trigger`] |
//! | `FERRUM_TRACE_DUMPS` | limits on dumps: `files=10,bytes=4GiB,every=10s,after=1s`; see [`DumpLimits`] |
//! | `FERRUM_TRACE_HTTP` | with the feature `http`: address to listen at, `127.0.0.1:9123` or `unix:/run/engine.sock` |
//! | `FERRUM_TRACE_HTTP_TOKEN` | token that requests must send as `Authorization: Bearer`; without it, only loopback addresses and Unix sockets are allowed |
//! | `FERRUM_TRACE_HTTP_DIR` | directory of recordings that are started over HTTP; by default that of `FERRUM_TRACE_OUT`, or the current directory |
//! | `FERRUM_TRACE_TIME` | `us`: times in JSON are whole microseconds, and every event has `dur`, for readers that accept nothing else; `ns`, the default: three decimals |
//! | `FERRUM_TRACE_SIGBUS` | `off`: no handler of `SIGBUS` is installed; see [`RecorderBuilder::without_sigbus_handler`] |
//! | `FERRUM_TRACE_CLOCK` | `auto`, `ticks` (the processor's counter) or `monotonic` (the system's clock) |
//!
//! An invalid value of `FERRUM_TRACE_LIMIT`, `_RING`, `_ROTATE`, `_WINDOW`, `_CATEGORIES` or `_DUMPS` switches
//! recording off, with one line on standard error that says what was expected: a misspelled bound must not mean no
//! bound. An invalid trigger is ignored, an invalid clock is replaced by the default. A line names a category that is
//! nearly one of [`llm`]; if no event has any of the chosen categories, a line at the end says so and lists the
//! categories that exist.
//!
//! The environment is read once, at the first call of any macro or function of this crate. If it requests a recording,
//! that recording has precedence: [`RecorderBuilder::start`] returns a handle to it instead of an error, and prints one
//! line that the program's own settings are not used.
//!
//! A program that runs with more rights than its caller (set-user-id, set-group-id, or with capabilities of its own)
//! ignores all of these variables, with one line if `FERRUM_TRACE_OUT` is set: its caller must not choose the files
//! that it writes. Recordings that the program itself starts are not affected.
//!
//! # What it costs
//!
//! Measured on 2 cores of an AMD EPYC (`bench/runs/` has the tables), as a multiple of the floor: two reads of the
//! cycle counter and one store, about 19 ns.
//!
//! | mode | cost |
//! | --- | --- |
//! | compiled out (feature `compiled-out`) | no instruction |
//! | off | one relaxed load and a branch that is not taken: 0.15 ns |
//! | on: a span, or one with two integers | 1.0 to 1.1 times the floor; 16 and 32 bytes of spool |
//! | on: a lap of `laps!` | 0.6 times the floor |
//! | on: instant, counter | about 1 to 2 times the floor |
//! | on: [`Span::dynamic`], [`TraceWriter::push`] | about 1.5 to 2 times the floor |
//! | on: text of more than 7 bytes as argument | a copy of it |
//!
//! The first event of a call site takes a lock and defines its name; the first event of a thread takes a lock and gives
//! it a number and a chunk. After that no event takes a lock, allocates or calls the system. Memory grows by less than
//! 64 MiB, plus 32 KiB per living thread, whatever is recorded.
//!
//! # Limits
//!
//! - Names and texts: 8 KiB of UTF-8 each; longer ones are cut and end in `… [cut: N bytes]`. JSON arguments of
//!   [`TraceWriter::push_with_args`] longer than that are replaced by a text that states their length.
//! - Arguments: 255 per event. Call sites: 8 million. Names made at run time: 65,536 or 1 MiB of them are numbered;
//!   further names are written with each event and cost more.
//! - In JSON, NaN and the infinities become the texts `NaN`, `Infinity`, `-Infinity`; NUL becomes `␀`; a counter value
//!   that is not a finite number becomes an argument of an instant of the same name.
//! - A flight recorder overwrites the oldest events, but never the last events of a living thread while other threads
//!   have more. [`dump`] writes its content to a separate file, and recording continues. A request or a flow whose
//!   begin was overwritten begins with the ring, or is left out.
//! - An async slice that has not ended ends at the last event of the file, with the argument `unclosed`.
//! - With rotation, a request or a flow across a part boundary is treated as in a flight recorder; spans are complete,
//!   in the part in which they end. A text of more than 7 bytes is `(lost)` if a rotation happens between the text and
//!   its event. A thread that is suspended for more than half a second in the middle of writing an event, during a
//!   rotation, loses that event.
//! - At the limit of the spool, recording stops and later events are counted by thread. The count is in the file, in
//!   [`Stats`], in [`control::status`] and in one line on standard error. While the disk is full, events are lost and
//!   counted in the same way, and recording continues when there is room again.
//! - Spans of a thread are drawn nested. If a guard is dropped before a guard that began later, its span moves to a
//!   lane, named `NAME (2)`.
//! - Between threads, times may differ by up to 40 ns: the counters of two cores are read without a fence.
//! - A signal handler may record. If it interrupts the recorder itself on the same thread, its event is counted as
//!   dropped. It may also interrupt the allocator: events allocate no memory, not even the first one of a thread, a
//!   call site or a name. docs/production.md lists the exceptions.
//!
//! # No file appears?
//!
//! - `FERRUM_TRACE_OUT` is not set in the environment of the process, or no call site of this crate was reached.
//! - The line on standard error gives the reason: the directory is missing, read-only or full.
//! - The file is an older one: the process recorded nothing, so the file was kept, and a line on standard error says
//!   so.
//! - The process was killed, aborted, or ended by `_exit`: `trace.json.spool` exists, use `ferrum-trace recover`.
//! - Another process used the path, or another user's file was in the way: look for `trace.PID.json`.
//! - The program is set-user-id or has capabilities of its own, so that the environment is ignored.
//! - The feature `compiled-out` is on somewhere in the build (`cargo tree -e features -i ferrum-trace`).
//!
//! # Platforms
//!
//! Tested on Linux. On macOS it compiles with the same code for memory and files, but without reserved disk space; the
//! end of the process is detected by `atexit`, so events from handlers that were registered earlier are missing. On
//! Windows it compiles and stays off, with one line that says so.
//!
//! # Features
//!
//! - `gzip`, `zstd` (both on): paths that end in `.gz` and `.zst` are compressed. Without the feature, one line says
//!   so, and the file is written as it would be without that extension. `zstd` compiles C.
//! - `tracing`: `ferrum_trace::tracing::layer()`.
//! - `http`: `ferrum_trace::http`. Without it, neither the interface nor its dependencies are compiled.
//! - `compiled-out`: every call site compiles to nothing.
//!
//! # Non-goals
//!
//! It does not sample, sends nothing anywhere, and installs no signal handler except for the signal that a [`Trigger`]
//! names, and for `SIGBUS` while it records, which concerns its own memory only
//! ([`RecorderBuilder::without_sigbus_handler`]). It does not read traces: that is the command `ferrum-trace`.

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
    /// Reads settings as from the environment, and returns the messages about invalid ones. For the fuzzer.
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
