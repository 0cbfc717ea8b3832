//! The lowest possible cost of a span: two reads of the cycle counter and one store of 32 bytes into warm memory.

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Contender, Outcome, Readable, SITES, Work, body, sixteen};
use crate::sys;

pub(crate) static FLOOR: Floor = Floor;

/// Two cycle-counter reads, one 32-byte store.
pub(crate) struct Floor;

/// 8,192 slots of 32 bytes: 256 KiB, so that the store hits the second-level cache and never touches a new page.
const SLOTS: usize = 8192;

type Ring = [[u64; 4]; SLOTS];

thread_local! {
    static RING: RefCell<Box<Ring>> = RefCell::new(Box::new([[1; 4]; SLOTS]));
}

impl Contender for Floor {
    fn name(&self) -> &'static str {
        "floor"
    }

    fn output(&self) -> &'static str {
        "none"
    }

    fn start(&self, _dir: &Path, _work: Work) -> Outcome {
        Ok(())
    }

    fn record(&self, work: Work) {
        RING.with_borrow_mut(|ring| fill(ring, work.spans));
    }

    fn finish(&self, _dir: &Path) -> Outcome {
        Ok(())
    }

    fn readable(&self, _dir: &Path) -> Outcome<Readable> {
        Ok(Readable::NoFile("no file"))
    }

    /// The floor for recording that is off: a relaxed load and a branch that is not taken.
    fn off(&self) -> Option<fn(u64)> {
        Some(|calls| {
            SWITCH.store(std::hint::black_box(false), Ordering::Relaxed);
            for _ in 0..calls / SITES {
                sixteen!({
                    if SWITCH.load(Ordering::Relaxed) {
                        switched_on();
                    }
                    body();
                });
            }
        })
    }
}

/// One span of the floor; also used by the latency figure.
#[inline(always)]
pub(crate) fn span(slot: &mut [u64; 4], name: u64) {
    let begin = sys::cycles();
    body();
    let end = sys::cycles();
    *slot = [name, begin, end, name];
}

static SWITCH: AtomicBool = AtomicBool::new(false);

#[cold]
#[inline(never)]
fn switched_on() {
    std::hint::black_box(());
}

#[inline(never)]
fn fill(ring: &mut Ring, spans: u64) {
    for idx in 0..spans {
        span(&mut ring[idx as usize % SLOTS], idx);
    }
}
