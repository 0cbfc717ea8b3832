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
use crate::util::compiled_out::COMPILED_OUT;
use crate::watch::dump;
use ferrum_trace_model::settings::{Signal, Trigger};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// Bit of [`WATCHED`]: triggers on steps.
const STEPS: u8 = 1;
/// Bit of [`WATCHED`]: triggers on requests.
pub(crate) const REQUESTS: u8 = 2;
/// Bit of [`WATCHED`]: a trigger on panics.
pub(crate) const PANICS: u8 = 4;

/// Kinds of triggers that the process's recording has.
static WATCHED: AtomicU8 = AtomicU8::new(0);
/// Number of steps that have ended since the recording started, while triggers on steps were evaluated.
static N_STEPS: AtomicU64 = AtomicU64::new(0);

/// Begins to evaluate the triggers of a recording. The caller holds the registry.
pub(crate) fn begin(triggers: &Triggers) {
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
                say(&format!("{other}: unknown to this recorder; it is left out"));
                0
            }
        };
    }
    N_STEPS.store(0, Ordering::Relaxed);
    WATCHED.store(watched, Ordering::Relaxed);
}

/// Stops the evaluation of triggers.
pub(crate) fn end() {
    WATCHED.store(0, Ordering::Relaxed);
}

/// Returns true if the recording has triggers of this kind: one of the bits of [`WATCHED`].
#[inline(always)]
pub(crate) fn is_watched(kind: u8) -> bool {
    !COMPILED_OUT && WATCHED.load(Ordering::Relaxed) & kind != 0
}

/// Returns the time at which a step begins, for [`step_ends`], or 0 if there are no triggers on steps.
#[inline(always)]
pub(crate) fn step_begins() -> u64 {
    if is_watched(STEPS) { now_if_watched() } else { 0 }
}

#[cold]
#[inline(never)]
fn now_if_watched() -> u64 {
    clock::monotonic_nanos().max(1)
}

/// Evaluates the triggers on a step that has just ended.
pub(crate) fn step_ends(step: Step, since_nanos: u64) -> Option<StepTriggerHit> {
    let duration = Duration::from_nanos(clock::monotonic_nanos().saturating_sub(since_nanos));
    let number = N_STEPS.fetch_add(1, Ordering::Relaxed);
    let recording = attach::recording()?;
    let hit = recording.triggers().evaluate_step(&EndedStep { number, step, duration })?;
    Some(StepTriggerHit { recording, hit })
}

/// A trigger that a step has met.
pub(crate) struct StepTriggerHit {
    recording: Arc<Recording>,
    hit: TriggerHit,
}

impl StepTriggerHit {
    /// Returns the reason, with which the step is marked.
    pub(crate) fn reason(&self) -> &str {
        &self.hit.reason
    }

    /// Requests a dump.
    pub(crate) fn fire(&self) {
        // A refusal is counted.
        let _ = dump::fire(&self.recording, &self.hit.reason, Some(&self.hit.description));
    }
}

/// Requests a dump because of a signal. Called on the thread that waits for signals, not in the signal handler.
fn on_signal(signal: Signal) {
    let trigger = Trigger::Signal(signal);
    // `running` and not `active`: a signal starts no recording.
    if let Some(recording) = current::running().filter(|recording| recording.triggers().list().contains(&trigger)) {
        let _ = dump::fire(&recording, &trigger.to_string(), None);
    }
}
