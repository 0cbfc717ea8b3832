//! perfetto-recorder: enum events in a thread-local `Vec`, converted to protobuf at the end.

use std::path::Path;

use perfetto_recorder::{
    EVENTS_PER_ARG, EVENTS_PER_SPAN, ThreadTraceData, TraceBuilder, current_thread_reserve, scope,
};

use super::{Contender, Outcome, Readable, SITES, Work, body, sixteen};
use crate::pftrace;

pub(crate) static PERFETTO_RECORDER: PerfettoRecorder = PerfettoRecorder;

/// With its fast clock and reserved capacity, as in its own benchmark.
pub(crate) struct PerfettoRecorder;

impl Contender for PerfettoRecorder {
    fn name(&self) -> &'static str {
        "perfetto-recorder"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["perfetto-recorder"]
    }

    fn batch(&self) -> u64 {
        500_000
    }

    fn output(&self) -> &'static str {
        "protobuf"
    }

    fn start(&self, _dir: &Path, _work: Work) -> Outcome {
        perfetto_recorder::start()?;
        Ok(())
    }

    fn reserve(&self, work: Work) {
        let events = EVENTS_PER_SPAN + if work.args { 2 * EVENTS_PER_ARG } else { 0 };
        current_thread_reserve(work.spans as usize * events);
    }

    fn record(&self, work: Work) {
        if work.args {
            for idx in 0..work.spans {
                scope!("rms_norm", layer = idx, tokens = idx + 1);
                body();
            }
        } else {
            for _ in 0..work.spans {
                scope!("rms_norm");
                body();
            }
        }
    }

    fn finish(&self, dir: &Path) -> Outcome {
        TraceBuilder::new()?
            .process_thread_data(&ThreadTraceData::take_current_thread())
            .write_to_file(dir.join("spans.pftrace"))?;
        Ok(())
    }

    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        pftrace::slices(&dir.join("spans.pftrace")).map(Readable::Spans)
    }

    fn off(&self) -> Option<fn(u64)> {
        Some(|calls| {
            for _ in 0..calls / SITES {
                sixteen!({
                    scope!("rms_norm");
                    body();
                });
            }
        })
    }
}
