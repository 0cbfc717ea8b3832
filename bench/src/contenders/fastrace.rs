//! fastrace: local spans under a root span, collected by a background thread and passed to a reporter.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;

use fastrace::Span;
use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use fastrace::local::LocalSpan;

use super::{Contender, Outcome, Readable, SITES, Work, body, sixteen};
use crate::spelling;

pub(crate) static FASTRACE: Fastrace = Fastrace;

/// `LocalSpan`, the cheap variant, with a reporter of ours: fastrace has none that writes a file.
pub(crate) struct Fastrace;

/// A local parent holds at most 10,240 spans and silently drops the rest, so each root has fewer.
const SPANS_PER_ROOT: u64 = 10_000;

static OUT: Mutex<Option<BufWriter<File>>> = Mutex::new(None);

impl Contender for Fastrace {
    fn name(&self) -> &'static str {
        "fastrace"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["fastrace"]
    }

    fn batch(&self) -> u64 {
        500_000
    }

    fn output(&self) -> &'static str {
        "JSON (our reporter)"
    }

    fn start(&self, dir: &Path, _work: Work) -> Outcome {
        let mut out = BufWriter::new(File::create(dir.join("spans.json"))?);
        out.write_all(b"[")?;
        *OUT.lock().expect("unpoisoned") = Some(out);
        fastrace::set_reporter(Json, Config::default());
        Ok(())
    }

    fn record(&self, work: Work) {
        let mut left = work.spans;
        while left > 0 {
            let spans = left.min(SPANS_PER_ROOT);
            left -= spans;
            let root = Span::root("step", SpanContext::random());
            let _parent = root.set_local_parent();
            if work.args {
                with_args(spans);
            } else {
                plain(spans);
            }
        }
    }

    fn finish(&self, _dir: &Path) -> Outcome {
        fastrace::flush();
        if let Some(mut out) = OUT.lock().expect("unpoisoned").take() {
            // The event that closes the list without a comma.
            out.write_all(b"{\"name\":\"end\",\"ph\":\"i\",\"ts\":0,\"pid\":1,\"tid\":1,\"s\":\"g\"}]")?;
            out.flush()?;
        }
        Ok(())
    }

    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        // Roots have another phase, so that only the measured spans are counted.
        spelling::json_events(&dir.join("spans.json"), "X").map(Readable::Spans)
    }

    /// No local parent is set: the state of a library whose application does not trace.
    fn off(&self) -> Option<fn(u64)> {
        Some(|calls| {
            for _ in 0..calls / SITES {
                sixteen!({
                    let _span = LocalSpan::enter_with_local_parent("rms_norm");
                    body();
                });
            }
        })
    }
}

fn plain(spans: u64) {
    for _ in 0..spans {
        let _span = LocalSpan::enter_with_local_parent("rms_norm");
        body();
    }
}

fn with_args(spans: u64) {
    for idx in 0..spans {
        let _span = LocalSpan::enter_with_local_parent("rms_norm")
            .with_properties(|| [("layer", idx.to_string()), ("tokens", (idx + 1).to_string())]);
        body();
    }
}

/// Writes Chrome trace events directly, the cheapest reporter whose file a viewer can open.
struct Json;

impl Reporter for Json {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        let mut out = OUT.lock().expect("unpoisoned");
        let Some(out) = out.as_mut() else { return };
        for span in spans {
            write_event(out, &span).expect("the scratch folder is writable");
        }
    }
}

fn write_event(out: &mut impl Write, span: &SpanRecord) -> std::io::Result<()> {
    let phase = if span.name == "step" { "x" } else { "X" };
    let (ts, dur) = (span.begin_time_unix_ns, span.duration_ns);
    write!(out, "{{\"name\":\"{}\",\"ph\":\"{phase}\",\"ts\":{}.{:03}", span.name, ts / 1000, ts % 1000)?;
    write!(out, ",\"dur\":{}.{:03},\"pid\":1,\"tid\":1", dur / 1000, dur % 1000)?;
    if !span.properties.is_empty() {
        out.write_all(b",\"args\":{")?;
        for (idx, (key, value)) in span.properties.iter().enumerate() {
            let comma = if idx == 0 { "" } else { "," };
            write!(out, "{comma}\"{key}\":\"{value}\"")?;
        }
        out.write_all(b"}")?;
    }
    out.write_all(b"},\n")
}
