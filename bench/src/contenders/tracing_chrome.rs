//! `tracing` spans with tracing-chrome's layer: messages to a thread that writes JSON.

use std::path::Path;
use std::sync::Mutex;

use tracing::{Level, span};
use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::{Contender, Outcome, Readable, SITES, Work, body, sixteen};
use crate::spelling;

pub(crate) static TRACING_CHROME: TracingChrome = TracingChrome;

/// Its cheapest setting: without source locations, and with arguments only where they are measured.
pub(crate) struct TracingChrome;

struct Guard(FlushGuard);

static GUARD: Mutex<Option<Guard>> = Mutex::new(None);

/// Records spans of `tracing`, for any subscriber.
pub(crate) fn record(work: Work) {
    if work.args {
        for idx in 0..work.spans {
            let _span = span!(Level::INFO, "rms_norm", layer = idx, tokens = idx + 1).entered();
            body();
        }
    } else {
        for _ in 0..work.spans {
            let _span = span!(Level::INFO, "rms_norm").entered();
            body();
        }
    }
}

impl Contender for TracingChrome {
    fn name(&self) -> &'static str {
        "tracing-chrome"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["tracing", "tracing-subscriber", "tracing-chrome"]
    }

    /// Its queue is unbounded: events wait in memory until the writer has written them.
    fn batch(&self) -> u64 {
        100_000
    }

    fn output(&self) -> &'static str {
        "JSON"
    }

    fn start(&self, dir: &Path, work: Work) -> Outcome {
        let (layer, guard) = ChromeLayerBuilder::new()
            .file(dir.join("spans.json"))
            .include_locations(false)
            .include_args(work.args)
            .build();
        tracing_subscriber::registry().with(layer).try_init()?;
        *GUARD.lock().expect("unpoisoned") = Some(Guard(guard));
        Ok(())
    }

    fn record(&self, work: Work) {
        record(work);
    }

    fn finish(&self, _dir: &Path) -> Outcome {
        if let Some(Guard(guard)) = GUARD.lock().expect("unpoisoned").take() {
            drop(guard);
        }
        Ok(())
    }

    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        // A span has a begin and an end; the ends count complete spans.
        spelling::json_events(&dir.join("spans.json"), "E").map(Readable::Spans)
    }

    /// No subscriber is installed.
    fn off(&self) -> Option<fn(u64)> {
        Some(|calls| {
            for _ in 0..calls / SITES {
                sixteen!({
                    let _span = span!(Level::INFO, "rms_norm").entered();
                    body();
                });
            }
        })
    }
}
