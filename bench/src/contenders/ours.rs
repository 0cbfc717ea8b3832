//! ferrum-trace itself.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ferrum_trace::{Recorder, RecorderBuilder, TraceWriter, instant, laps, span};
use ferrum_trace_format::spool;

use super::{Contender, Outcome, Readable, SITES, Work, body, sixteen};
use crate::spelling;

pub(crate) static SPOOL: Ours =
    Ours { name: "ferrum-trace", file: "spans.spool", output: "binary (spool)", ring: None };
pub(crate) static JSON: Ours = Ours { name: "ferrum-trace-json", file: "spans.json", output: "JSON", ring: None };
/// Small enough that each chunk is reused many times.
pub(crate) static RING: Ours =
    Ours { name: "ferrum-trace-ring", file: "spans.spool", output: "the newest 4 MiB", ring: Some(4 << 20) };

/// The recorder with one of its output formats; recording is the same for all.
pub(crate) struct Ours {
    name: &'static str,
    file: &'static str,
    output: &'static str,
    /// Bytes of the ring, for a flight recorder.
    ring: Option<u64>,
}

/// Enough for every figure of the bench, so that the limit never matters.
const LIMIT_BYTES: u64 = 1 << 32;

static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

impl Contender for Ours {
    fn name(&self) -> &'static str {
        self.name
    }

    fn packages(&self) -> &'static [&'static str] {
        if self.name == SPOOL.name { &["ferrum-trace"] } else { &[] }
    }

    fn times_spans(&self) -> bool {
        self.name != JSON.name
    }

    fn output(&self) -> &'static str {
        self.output
    }

    fn start(&self, dir: &Path, _work: Work) -> Outcome {
        let path = dir.join(self.file);
        match self.ring {
            None => start(&path),
            Some(bytes) => start_with(Recorder::builder().path(path).ring(bytes)),
        }
    }

    fn record(&self, work: Work) {
        if work.args {
            for idx in 0..work.spans {
                let _span = span!("rms_norm", "norm", layer = idx, tokens = idx + 1);
                body();
            }
        } else {
            for _ in 0..work.spans {
                one_span();
            }
        }
    }

    fn finish(&self, _dir: &Path) -> Outcome {
        finish()?;
        Ok(())
    }

    /// A ring reports dropped events, but not how many were overwritten.
    fn verify(&self, spans: u64) -> Outcome {
        match self.ring {
            None => verify(spans),
            Some(_) => finish().map(|_| ()),
        }
    }

    /// Reads the finished JSON if it exists, otherwise the spool.
    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        let json = dir.join("spans.json");
        if json.exists() {
            return spelling::json_events(&json, "X").map(Readable::Spans);
        }
        let Some(spool) = spool_in(dir)? else {
            return Ok(Readable::Spans(0));
        };
        let recovered = dir.join("recovered.json");
        convert(&spool, &recovered, 1)?;
        spelling::json_events(&recovered, "X").map(Readable::Spans)
    }

    fn off(&self) -> Option<fn(u64)> {
        // Recording that is off costs the same with and without a ring.
        if self.ring.is_some() {
            return None;
        }
        Some(|calls| {
            for _ in 0..calls / SITES {
                sixteen!({
                    let _span = span!("rms_norm", "norm");
                    body();
                });
            }
        })
    }
}

/// Starts the process-wide recorder with its output at `path`; the extension selects the format.
pub(crate) fn start(path: &Path) -> Outcome {
    start_with(Recorder::builder().path(path).limit(LIMIT_BYTES))
}

fn start_with(builder: RecorderBuilder) -> Outcome {
    let recorder = builder.start()?;
    *RECORDER.lock().expect("unpoisoned") = Some(recorder);
    Ok(())
}

/// Finishes the file and returns its number of events; an error if any was dropped, since that would distort the
/// result.
pub(crate) fn finish() -> Outcome<u64> {
    let recorder = RECORDER.lock().expect("unpoisoned").take().ok_or("not started")?;
    let stats = recorder.finish()?;
    if stats.dropped > 0 {
        return Err(format!("{} events were dropped, {} recorded", stats.dropped, stats.recorded).into());
    }
    Ok(stats.recorded)
}

/// Finishes, and returns an error if the number of events is not the measured one.
pub(crate) fn verify(events: u64) -> Outcome {
    let recorded = finish()?;
    if recorded != events {
        return Err(format!("expected {events} events, found {recorded}").into());
    }
    Ok(())
}

/// One span without arguments.
#[inline(always)]
pub(crate) fn one_span() {
    let _span = span!("rms_norm", "norm");
    body();
}

/// Consecutive laps: `layers` outer slices of [`MARKS`] laps each.
pub(crate) fn run_laps(layers: u64) {
    for layer in 0..layers {
        let mut lap = laps!("layer", layer = layer);
        body();
        lap.mark("norm");
        body();
        lap.mark("qkv");
        body();
        lap.mark("rope");
        body();
        lap.mark("attention");
        body();
        lap.mark("out");
        body();
        lap.mark("gate");
        body();
        lap.mark("mlp");
        body();
        lap.mark("residual");
    }
}

/// The same with one name in two laps, as in a layer with two norms.
pub(crate) fn run_laps_with_repeated_name(layers: u64) {
    for layer in 0..layers {
        let mut lap = laps!("layer", layer = layer);
        body();
        lap.mark("norm");
        body();
        lap.mark("qkv");
        body();
        lap.mark("attention");
        body();
        lap.mark("out");
        body();
        lap.mark("norm");
        body();
        lap.mark("gate");
        body();
        lap.mark("mlp");
        body();
        lap.mark("residual");
    }
}

/// Marks of one outer slice in [`run_laps`].
pub(crate) const MARKS: u64 = 8;

/// A writer of the original engine's interface, implemented by ours.
pub(crate) fn writer(path: PathBuf) -> TraceWriter {
    TraceWriter::enabled(path)
}

/// An instant with a reading of the monotonic clock as argument.
#[inline]
pub(crate) fn clock_mark(monotonic_ns: u64) {
    instant!("clock", "bench", monotonic_ns = monotonic_ns);
}

/// Marks the instant with that reading as disturbed.
#[cold]
pub(crate) fn clock_mark_spoiled(monotonic_ns: u64) {
    instant!("spoiled", "bench", monotonic_ns = monotonic_ns);
}

/// Converts a spool to finished JSON and returns the number of events.
pub(crate) fn convert(spool: &Path, out: &Path, threads: usize) -> Outcome<u64> {
    let summary = spool::to_chrome(&File::open(spool)?, &mut File::create(out)?, threads)?;
    Ok(summary.events)
}

/// The spool of a run in `dir`, finished or not.
pub(crate) fn spool_in(dir: &Path) -> Outcome<Option<PathBuf>> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "spool") {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
