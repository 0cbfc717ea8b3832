//! tracy-client without a connected viewer: events queue in memory.

use std::path::Path;
use std::sync::OnceLock;

use tracy_client::{Client, span};

use super::{Contender, Outcome, Readable, Work, body};

pub(crate) static TRACY: Tracy = Tracy;

/// Zones only: no sampling, no system tracing, no call stacks.
pub(crate) struct Tracy;

static CLIENT: OnceLock<Client> = OnceLock::new();

impl Contender for Tracy {
    fn name(&self) -> &'static str {
        "tracy"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["tracy-client", "tracy-client-sys"]
    }

    /// Its queue keeps everything in memory until a viewer connects.
    fn batch(&self) -> u64 {
        500_000
    }

    fn output(&self) -> &'static str {
        "viewer only"
    }

    fn start(&self, _dir: &Path, _work: Work) -> Outcome {
        CLIENT.get_or_init(Client::start);
        Ok(())
    }

    fn record(&self, work: Work) {
        for idx in 0..work.spans {
            let zone = span!("rms_norm");
            if work.args {
                zone.emit_value(idx);
                zone.emit_value(idx + 1);
            }
            body();
        }
    }

    fn finish(&self, _dir: &Path) -> Outcome {
        Ok(())
    }

    fn readable(&self, _dir: &Path) -> Outcome<Readable> {
        Ok(Readable::NoFile("needs a viewer"))
    }
}
