//! What a recording watches over, and steps and signals that it asks for a dump for. Requests are in `request_watch.rs`, panics in
//! `panic_hook.rs`.
//!
//! What nobody watches costs one relaxed load for a step or the arrival of a request, and nothing for anything else.

use crate::lifecycle::config::Options;
use crate::os::clock;
use crate::os::signal;
use crate::os::stderr::say;
use crate::probe::llm::{EndedStep, Step};
use crate::process::attach;
use crate::process::global;
use crate::recording::session::Session;
use crate::util::running_p99::RunningP99;
use crate::watch::dump;
use ferrum_trace_model::settings::{Signal, StepLimit, Trigger, time_text};
use ferrum_trace_model::vocab::Phase;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

/// A question that the program asks at the end of each step.
#[derive(Clone)]
pub struct Predicate {
    pub name: String,
    pub is_wrong: Arc<dyn Fn(&EndedStep) -> bool + Send + Sync>,
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Predicate").field(&self.name).finish()
    }
}

/// What one recording watches over.
#[derive(Debug, Default)]
pub struct Watch {
    triggers: Vec<Trigger>,
    predicates: Vec<Predicate>,
    /// By phase; only if a trigger asks for it.
    p99: Option<Box<[RunningP99; Phase::ALL.len()]>>,
}

/// Why a dump is asked for.
pub struct Alarm {
    pub reason: String,
    pub what: String,
}

impl Watch {
    /// Nothing without a ring: nothing could be written.
    pub fn new(options: &Options) -> Self {
        let Options { triggers, predicates, ring, .. } = options;
        if ring.is_none() {
            if !triggers.is_empty() || !predicates.is_empty() {
                say("triggers write out what a flight recorder has, and this is none: FERRUM_TRACE_RING is not set");
            }
            return Self::default();
        }
        let asks_for_p99 = |trigger: &Trigger| matches!(trigger, Trigger::Step { over: StepLimit::TimesP99(_), .. });
        let p99 = triggers.iter().any(asks_for_p99).then(|| Box::new(std::array::from_fn(|_| RunningP99::new())));
        Self { triggers: triggers.clone(), predicates: predicates.clone(), p99 }
    }

    pub fn triggers(&self) -> &[Trigger] {
        &self.triggers
    }

    /// Begins to watch. The caller has the registry.
    pub fn begin(&self) {
        let mut watched = if self.predicates.is_empty() { 0 } else { STEPS };
        for trigger in &self.triggers {
            watched |= match trigger {
                Trigger::Step { .. } => STEPS,
                Trigger::Request(_) | Trigger::Ttft(_) | Trigger::Tpot(_) => REQUESTS,
                Trigger::Panic => PANICS,
                Trigger::Signal(signal) => {
                    if let Err(error) = signal::listen(*signal, heard) {
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

    /// What is wrong with a step, if anything is.
    fn judge_step(&self, ended: &EndedStep) -> Option<Alarm> {
        let p99 = self.p99.as_ref().map(|by_phase| &by_phase[ended.step.phase as usize]);
        let limit = p99.and_then(RunningP99::get);
        let slow = self.triggers.iter().find_map(|trigger| too_slow(trigger, ended, limit));
        if let Some(p99) = p99 {
            p99.add(nanos_of(ended.duration));
        }
        let what = |limit: &str| {
            let EndedStep { number, step, duration } = ended;
            format!("{} step {number} took {duration:.1?}{limit}", step.phase)
        };
        // All of them are asked, since they may keep count. One that panics has told so by the panic's message.
        let is_wrong = |predicate: &&Predicate| catch_unwind(AssertUnwindSafe(|| (predicate.is_wrong)(ended)));
        let mut wrong = None;
        for predicate in self.predicates.iter().filter(|predicate| is_wrong(predicate).unwrap_or(false)) {
            wrong.get_or_insert(predicate);
        }
        match (slow, wrong) {
            (Some((trigger, limit)), _) => {
                Some(Alarm { reason: trigger.to_string(), what: what(&format!(" > {limit}")) })
            }
            (None, Some(predicate)) => Some(Alarm { reason: predicate.name.clone(), what: what("") }),
            (None, None) => None,
        }
    }
}

/// The trigger and, in words, its limit, if a step took longer. `p99` is that of its phase.
fn too_slow<'a>(trigger: &'a Trigger, ended: &EndedStep, p99: Option<u64>) -> Option<(&'a Trigger, String)> {
    let Trigger::Step { phase, over } = trigger else { return None };
    if phase.is_some_and(|phase| phase != ended.step.phase) {
        return None;
    }
    match *over {
        StepLimit::Time(limit) => (ended.duration > limit).then(|| (trigger, time_text(limit))),
        StepLimit::TimesP99(factor) => {
            let p99 = p99?;
            let is_over = nanos_of(ended.duration) as f64 > factor * p99 as f64;
            is_over.then(|| (trigger, format!("{factor} x {:.1?} (p99)", Duration::from_nanos(p99))))
        }
        _ => None,
    }
}

fn nanos_of(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
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
pub fn step_ends(step: Step, since_nanos: u64) -> Option<StepAlarm> {
    let duration = Duration::from_nanos(clock::monotonic_nanos().saturating_sub(since_nanos));
    let number = N_STEPS.fetch_add(1, Ordering::Relaxed);
    let session = attach::session()?;
    let alarm = session.watch().judge_step(&EndedStep { number, step, duration })?;
    Some(StepAlarm { session, alarm })
}

/// What is wrong with a step.
pub struct StepAlarm {
    session: Arc<Session>,
    alarm: Alarm,
}

impl StepAlarm {
    /// Why it is to be marked.
    pub fn reason(&self) -> &str {
        &self.alarm.reason
    }

    /// Asks for a dump.
    pub fn fire(&self) {
        // What is refused is counted.
        let _ = dump::fire(&self.session, &self.alarm.reason, Some(&self.alarm.what));
    }
}

/// A signal came, and this is the thread that tells of it.
fn heard(signal: Signal) {
    let trigger = Trigger::Signal(signal);
    // As it is: a signal begins no recording.
    if let Some(session) = global::running().filter(|session| session.watch().triggers.contains(&trigger)) {
        let _ = dump::fire(&session, &trigger.to_string(), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_model::settings::{Extent, parse_triggers};
    use std::sync::atomic::AtomicU64;

    fn watch(triggers: &str, predicates: Vec<Predicate>) -> Watch {
        let triggers = parse_triggers(triggers, |error| panic!("{error}"));
        let ring = Some(Extent::Bytes(1));
        Watch::new(&Options { triggers, predicates, ring, ..Options::new("trace.json".into()) })
    }

    fn ended(phase: Phase, micros: u64) -> EndedStep {
        let step = Step { phase, batch: 8, prefill_tokens: 0, decode_tokens: 8, context_tokens: 99 };
        EndedStep { number: 7, step, duration: Duration::from_micros(micros) }
    }

    fn told(alarm: Option<Alarm>) -> Option<(String, String)> {
        alarm.map(|alarm| (alarm.reason, alarm.what))
    }

    #[test]
    fn a_step_is_slow_only_beyond_its_limit() {
        let watch = watch("decode>50ms,step>2s", vec![]);
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 50_000))), None);
        let what = "decode step 7 took 61.2ms > 50ms";
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 61_200))), Some(("decode>50ms".into(), what.into())));
        assert_eq!(told(watch.judge_step(&ended(Phase::Prefill, 61_200))), None);
        assert_eq!(told(watch.judge_step(&ended(Phase::Mixed, 2_000_001))).unwrap().0, "step>2s");
    }

    #[test]
    fn a_step_is_held_against_others_of_its_phase_once_there_are_enough() {
        let watch = watch("step>3xp99", vec![]);
        for _ in 0..99 {
            assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 1_000))), None);
        }
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 1_000_000))), None, "too few are known");
        for _ in 0..200 {
            assert_eq!(told(watch.judge_step(&ended(Phase::Prefill, 40_000))), None);
        }
        let slow = told(watch.judge_step(&ended(Phase::Decode, 4_000))).unwrap();
        assert_eq!(slow.0, "step>3xp99");
        assert!(slow.1.starts_with("decode step 7 took 4.0ms > 3 x "), "{}", slow.1);
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 2_000))), None);
        assert_eq!(told(watch.judge_step(&ended(Phase::Mixed, 2_000_000))), None, "none of its phase is known");
    }

    #[test]
    fn every_predicate_is_asked_about_every_step_and_one_that_panics_says_no() {
        let n_asked = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&n_asked);
        let predicate = |name: &str, is_wrong: Arc<dyn Fn(&EndedStep) -> bool + Send + Sync>| Predicate {
            name: name.into(),
            is_wrong,
        };
        let watch = watch(
            "step>1s",
            vec![
                predicate("panics", Arc::new(|_| panic!("as it was asked to"))),
                predicate("large", Arc::new(|ended| ended.step.batch > 7 && ended.duration > Duration::from_millis(1))),
                predicate("counts", Arc::new(move |_| counts.fetch_add(1, Ordering::Relaxed) > 100)),
            ],
        );
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 1_000))), None);
        let large = Some(("large".into(), "decode step 7 took 2.0ms".into()));
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 2_000))), large);
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 2_000_000))).unwrap().0, "step>1s");
        assert_eq!(n_asked.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn without_a_ring_nothing_is_watched_over() {
        let options = Options::new("trace.json".into());
        let watch = Watch::new(&Options { triggers: vec![Trigger::Panic], ..options });
        assert!(watch.triggers.is_empty());
    }
}
