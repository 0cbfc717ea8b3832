//! tsc-trace: a thread-local ring of (tag, begin, end) in raw cycles.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use tsc_trace::{TSC_TRACE_CAPACITY, TraceSpan, trace_span, write_traces_binary};

use super::{Contender, Outcome, Readable, Work, body};

pub(crate) static TSC_TRACE: TscTrace = TscTrace;

/// Default capacity without fences: the setting with the lowest cost.
pub(crate) struct TscTrace;

/// Three `u64` per span.
const SPAN_BYTES: usize = 24;
const TAG: u64 = 7;

impl Contender for TscTrace {
    fn name(&self) -> &'static str {
        "tsc-trace"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["tsc-trace"]
    }

    /// Once around its ring: it overwrites its oldest spans, so its steady state never touches a new page.
    fn warm_up(&self) -> u64 {
        TSC_TRACE_CAPACITY as u64 + 1000
    }

    fn takes_args(&self) -> bool {
        false
    }

    fn output(&self) -> &'static str {
        "binary"
    }

    fn start(&self, _dir: &Path, _work: Work) -> Outcome {
        Ok(())
    }

    fn record(&self, work: Work) {
        for _ in 0..work.spans {
            trace_span!(TAG);
            body();
        }
    }

    fn finish(&self, dir: &Path) -> Outcome {
        let mut out = BufWriter::new(File::create(dir.join("spans.tsc"))?);
        write_traces_binary(&mut out)?;
        out.flush()?;
        Ok(())
    }

    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        let path = dir.join("spans.tsc");
        if !path.exists() {
            return Ok(Readable::Spans(0));
        }
        let bytes = std::fs::read(path)?;
        let spans =
            bytes.chunks_exact(SPAN_BYTES).filter(|span| span[..8] == TAG.to_le_bytes() && span[16..] != [0; 8]);
        Ok(Readable::Spans(spans.count() as u64))
    }
}
