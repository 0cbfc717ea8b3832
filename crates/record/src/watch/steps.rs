//! Evaluates triggers on steps and signals. Requests are in `requests.rs`, panics in `panic_hook.rs`.
//!
//! Without a trigger, a step and the arrival of a request cost one relaxed load.

use crate::flight::recording::Recording;
use crate::flight::step::{EndedStep, Step};
use crate::flight::triggers::{TriggerHit, Triggers};
use crate::os::clock;
use crate::os::signal;
use crate::os::stderr::say;
use crate::process::{attach, current};
use crate::watch::dump;
use ferrum_trace_model::settings::{Signal, Trigger};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// In [`WATCHED`]: somebody watches over steps.
const STEPS: u8 = 1;
/// In [`WATCHED`]: somebody watches over requests.
pub const REQUESTS: u8 = 2;
/// In [`WATCHED`]: somebody watches over panics.
pub const PANICS: u8 = 4;

/// What is watched over in the process's recording.
static WATCHED: AtomicU8 = AtomicU8::new(0);
/// Steps that have ended while they were watched over.
static N_STEPS: AtomicU64 = AtomicU64::new(0);

/// Begins to evaluate the triggers of a recording. The caller holds the registry.
pub fn begin(triggers: &Triggers) {
    let mut watched = if triggers.has_predicates() { STEPS } else { 0 };
    for trigger in triggers.list() {
        watched |= match trigger {
            Trigger::Step { .. } => STEPS,
            Trigger::Request(_) | Trigger::Ttft(_) | Trigger::Tpot(_) => REQUESTS,
            Trigger::Panic => PANICS,
            Trigger::Signal(signal) => {
                if let Err(error) = signal::listen(*signal, on_signal) {
                    say(&format!("{trigger}: {error}; it is left out"));
                }
                0
            }
            other => {
                say(&format!("{other}: this recorder does not know it; it is left out"));
                0
            }
        };
    }
    N_STEPS.store(0, Ordering::Relaxed);
    WATCHED.store(watched, Ordering::Relaxed);
}

/// Nothing is watched over any more.
pub fn end() {
    WATCHED.store(0, Ordering::Relaxed);
}

/// Whether somebody watches over one of the above.
#[inline(always)]
pub fn is_watched(what: u8) -> bool {
    !crate::COMPILED_OUT && WATCHED.load(Ordering::Relaxed) & what != 0
}

/// A step begins. Returns the time for [`step_ends`], or 0 if nobody watches.
#[inline(always)]
pub fn step_begins() -> u64 {
    if is_watched(STEPS) { now_if_watched() } else { 0 }
}

#[cold]
#[inline(never)]
fn now_if_watched() -> u64 {
    clock::monotonic_nanos().max(1)
}

/// A step has ended just now. Returns what is wrong with it, if anything is.
pub fn step_ends(step: Step, since_nanos: u64) -> Option<StepTriggerHit> {
    let duration = Duration::from_nanos(clock::monotonic_nanos().saturating_sub(since_nanos));
    let number = N_STEPS.fetch_add(1, Ordering::Relaxed);
    let recording = attach::recording()?;
    let hit = recording.triggers().evaluate_step(&EndedStep { number, step, duration })?;
    Some(StepTriggerHit { recording, hit })
}

/// What is wrong with a step.
pub struct StepTriggerHit {
    recording: Arc<Recording>,
    hit: TriggerHit,
}

impl StepTriggerHit {
    /// Why it is to be marked.
    pub fn reason(&self) -> &str {
        &self.hit.reason
    }

    /// Asks for a dump.
    pub fn fire(&self) {
        // What is refused is counted.
        let _ = dump::fire(&self.recording, &self.hit.reason, Some(&self.hit.description));
    }
}

/// A signal came, and this is the thread that tells of it.
fn on_signal(signal: Signal) {
    let trigger = Trigger::Signal(signal);
    // As it is: a signal begins no recording.
    if let Some(recording) = current::running().filter(|recording| recording.triggers().list().contains(&trigger)) {
        let _ = dump::fire(&recording, &trigger.to_string(), None);
    }
}
