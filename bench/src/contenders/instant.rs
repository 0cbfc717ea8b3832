//! `std::time::Instant` twice without storing anything: the cost of manual timing.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use super::{Contender, Outcome, Readable, Work, body};

pub(super) static INSTANT: InstantPair = InstantPair;

/// `Instant::now` and `elapsed`.
pub(super) struct InstantPair;

impl Contender for InstantPair {
    fn name(&self) -> &'static str {
        "instant"
    }

    fn takes_args(&self) -> bool {
        false
    }

    fn output(&self) -> &'static str {
        "none"
    }

    fn start(&self, _dir: &Path, _work: Work) -> Outcome {
        Ok(())
    }

    fn record(&self, work: Work) {
        for _ in 0..work.spans {
            let begin = Instant::now();
            body();
            black_box(begin.elapsed());
        }
    }

    fn finish(&self, _dir: &Path) -> Outcome {
        Ok(())
    }

    fn readable(&self, _dir: &Path) -> Outcome<Readable> {
        Ok(Readable::NoFile("no file"))
    }
}
