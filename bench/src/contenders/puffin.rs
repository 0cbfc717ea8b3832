//! puffin: a byte stream per thread, passed to a global profiler when the outermost scope closes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;

use puffin::{FrameView, GlobalFrameView, GlobalProfiler, profile_scope};

use super::{Contender, Outcome, Readable, SITES, Work, body, sixteen};

pub(crate) static PUFFIN: Puffin = Puffin;

/// Frames of a thousand scopes under one outer scope, compressed only when the file is written.
pub(crate) struct Puffin;

const SPANS_PER_FRAME: u64 = 1_000;

static VIEW: Mutex<Option<GlobalFrameView>> = Mutex::new(None);

impl Contender for Puffin {
    fn name(&self) -> &'static str {
        "puffin"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["puffin"]
    }

    fn batch(&self) -> u64 {
        300_000
    }

    fn output(&self) -> &'static str {
        "binary (LZ4)"
    }

    fn start(&self, _dir: &Path, _work: Work) -> Outcome {
        let view = GlobalFrameView::default();
        view.lock().set_pack_frames(false);
        view.lock().set_max_recent(usize::MAX);
        *VIEW.lock().expect("unpoisoned") = Some(view);
        puffin::set_scopes_on(true);
        Ok(())
    }

    fn record(&self, work: Work) {
        let mut left = work.spans;
        while left > 0 {
            let spans = left.min(SPANS_PER_FRAME);
            left -= spans;
            if work.args {
                frame_with_args(spans);
            } else {
                frame(spans);
            }
            GlobalProfiler::lock().new_frame();
        }
    }

    fn finish(&self, dir: &Path) -> Outcome {
        let mut out = BufWriter::new(File::create(dir.join("spans.puffin"))?);
        let view = VIEW.lock().expect("unpoisoned").take().expect("started");
        view.lock().write(&mut out).map_err(|error| error.to_string())?;
        out.flush()?;
        Ok(())
    }

    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        let path = dir.join("spans.puffin");
        if !path.exists() {
            return Ok(Readable::Spans(0));
        }
        let view = FrameView::read(&mut BufReader::new(File::open(path)?)).map_err(|error| error.to_string())?;
        // One scope of each frame is the outer one.
        let spans = view.all_uniq().map(|frame| frame.meta().num_scopes.saturating_sub(1) as u64).sum();
        Ok(Readable::Spans(spans))
    }

    fn off(&self) -> Option<fn(u64)> {
        Some(|calls| {
            puffin::set_scopes_on(false);
            for _ in 0..calls / SITES {
                sixteen!({
                    profile_scope!("rms_norm");
                    body();
                });
            }
        })
    }
}

fn frame(spans: u64) {
    profile_scope!("step");
    for _ in 0..spans {
        profile_scope!("rms_norm");
        body();
    }
}

/// Its only argument is a string, so two integers are formatted.
fn frame_with_args(spans: u64) {
    profile_scope!("step");
    for idx in 0..spans {
        profile_scope!("rms_norm", format!("layer={idx} tokens={}", idx + 1));
        body();
    }
}
