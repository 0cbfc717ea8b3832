//! `tracing` spans with our layer, and with a layer that does nothing, for the cost of `tracing` itself.

use std::path::Path;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry};

use super::{Contender, Outcome, Readable, Work, ours, tracing_chrome};

pub(crate) static TRACING_OURS: TracingOurs = TracingOurs;
pub(crate) static TRACING_ALONE: TracingAlone = TracingAlone;

/// Our layer, with JSON as output as in tracing-chrome.
pub(crate) struct TracingOurs;

/// The registry with a layer that does nothing. (Without any layer, the registry never removes a span.)
pub(crate) struct TracingAlone;

struct Nothing;

impl Layer<Registry> for Nothing {}

impl Contender for TracingOurs {
    fn name(&self) -> &'static str {
        "tracing-ferrum"
    }

    fn output(&self) -> &'static str {
        "JSON"
    }

    fn start(&self, dir: &Path, work: Work) -> Outcome {
        ours::JSON.start(dir, work)?;
        tracing_subscriber::registry().with(ferrum_trace::tracing::layer()).try_init()?;
        Ok(())
    }

    fn record(&self, work: Work) {
        tracing_chrome::record(work);
    }

    fn finish(&self, dir: &Path) -> Outcome {
        ours::JSON.finish(dir)
    }

    fn verify(&self, spans: u64) -> Outcome {
        ours::JSON.verify(spans)
    }

    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        ours::JSON.readable(dir)
    }
}

impl Contender for TracingAlone {
    fn name(&self) -> &'static str {
        "tracing-alone"
    }

    fn output(&self) -> &'static str {
        "none"
    }

    fn start(&self, _dir: &Path, _work: Work) -> Outcome {
        tracing_subscriber::registry().with(Nothing).try_init()?;
        Ok(())
    }

    fn record(&self, work: Work) {
        tracing_chrome::record(work);
    }

    fn finish(&self, _dir: &Path) -> Outcome {
        Ok(())
    }

    fn readable(&self, _dir: &Path) -> Outcome<Readable> {
        Ok(Readable::NoFile("records nothing"))
    }
}
