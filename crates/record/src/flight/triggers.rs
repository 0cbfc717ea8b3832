//! Triggers of a flight recorder: conditions that cause a dump.

use crate::flight::options::FlightOptions;
use crate::flight::step::EndedStep;
use crate::os::stderr::say;
use crate::util::running_p99::RunningP99;
use ferrum_trace_model::settings::{StepLimit, Trigger, time_text};
use ferrum_trace_model::vocab::Phase;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A question that the program asks at the end of each step.
#[derive(Clone)]
pub struct Predicate {
    pub name: String,
    pub condition: Arc<dyn Fn(&EndedStep) -> bool + Send + Sync>,
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Predicate").field(&self.name).finish()
    }
}

/// Triggers of one recording, and the figures they need.
#[derive(Debug, Default)]
pub struct Triggers {
    triggers: Vec<Trigger>,
    predicates: Vec<Predicate>,
    /// By phase; only if a trigger asks for it.
    p99: Option<Box<[RunningP99; Phase::ALL.len()]>>,
}

/// Why a dump is asked for.
pub struct TriggerHit {
    pub reason: String,
    pub description: String,
}

impl Triggers {
    /// Returns no triggers without a ring, since no dump could be written.
    pub fn new(options: &FlightOptions, is_ring: bool) -> Self {
        let FlightOptions { triggers, predicates, .. } = options;
        if !is_ring {
            if !triggers.is_empty() || !predicates.is_empty() {
                say("triggers write out what a flight recorder has, and this is none: FERRUM_TRACE_RING is not set");
            }
            return Self::default();
        }
        let asks_for_p99 = |trigger: &Trigger| matches!(trigger, Trigger::Step { over: StepLimit::TimesP99(_), .. });
        let p99 = triggers.iter().any(asks_for_p99).then(|| Box::new(std::array::from_fn(|_| RunningP99::new())));
        Self { triggers: triggers.clone(), predicates: predicates.clone(), p99 }
    }

    /// Returns the triggers by name of a recording.
    pub fn list(&self) -> &[Trigger] {
        &self.triggers
    }

    /// Returns true if the program has predicates for steps.
    pub fn has_predicates(&self) -> bool {
        !self.predicates.is_empty()
    }

    /// What is wrong with a step, if anything is.
    pub fn evaluate_step(&self, ended: &EndedStep) -> Option<TriggerHit> {
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
        let is_true = |predicate: &&Predicate| catch_unwind(AssertUnwindSafe(|| (predicate.condition)(ended)));
        let mut wrong = None;
        for predicate in self.predicates.iter().filter(|predicate| is_true(predicate).unwrap_or(false)) {
            wrong.get_or_insert(predicate);
        }
        match (slow, wrong) {
            (Some((trigger, limit)), _) => {
                Some(TriggerHit { reason: trigger.to_string(), description: what(&format!(" > {limit}")) })
            }
            (None, Some(predicate)) => Some(TriggerHit { reason: predicate.name.clone(), description: what("") }),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flight::step::Step;
    use ferrum_trace_model::settings::parse_triggers;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn triggers(triggers: &str, predicates: Vec<Predicate>) -> Triggers {
        let triggers = parse_triggers(triggers, |error| panic!("{error}"));
        Triggers::new(&FlightOptions { triggers, predicates, ..FlightOptions::default() }, true)
    }

    fn ended(phase: Phase, micros: u64) -> EndedStep {
        let step = Step { phase, batch: 8, prefill_tokens: 0, decode_tokens: 8, context_tokens: 99 };
        EndedStep { number: 7, step, duration: Duration::from_micros(micros) }
    }

    fn texts(hit: Option<TriggerHit>) -> Option<(String, String)> {
        hit.map(|hit| (hit.reason, hit.description))
    }

    #[test]
    fn a_step_is_slow_only_beyond_its_limit() {
        let triggers = triggers("decode>50ms,step>2s", vec![]);
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Decode, 50_000))), None);
        let what = "decode step 7 took 61.2ms > 50ms";
        assert_eq!(
            texts(triggers.evaluate_step(&ended(Phase::Decode, 61_200))),
            Some(("decode>50ms".into(), what.into()))
        );
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Prefill, 61_200))), None);
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Mixed, 2_000_001))).unwrap().0, "step>2s");
    }

    #[test]
    fn a_step_is_held_against_others_of_its_phase_once_there_are_enough() {
        let triggers = triggers("step>3xp99", vec![]);
        for _ in 0..99 {
            assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Decode, 1_000))), None);
        }
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Decode, 1_000_000))), None, "too few are known");
        for _ in 0..200 {
            assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Prefill, 40_000))), None);
        }
        let slow = texts(triggers.evaluate_step(&ended(Phase::Decode, 4_000))).unwrap();
        assert_eq!(slow.0, "step>3xp99");
        assert!(slow.1.starts_with("decode step 7 took 4.0ms > 3 x "), "{}", slow.1);
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Decode, 2_000))), None);
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Mixed, 2_000_000))), None, "none of its phase is known");
    }

    #[test]
    fn every_predicate_is_asked_about_every_step_and_one_that_panics_says_no() {
        let n_asked = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&n_asked);
        let predicate = |name: &str, condition: Arc<dyn Fn(&EndedStep) -> bool + Send + Sync>| Predicate {
            name: name.into(),
            condition,
        };
        let triggers = triggers(
            "step>1s",
            vec![
                predicate("panics", Arc::new(|_| panic!("as it was asked to"))),
                predicate("large", Arc::new(|ended| ended.step.batch > 7 && ended.duration > Duration::from_millis(1))),
                predicate("counts", Arc::new(move |_| counts.fetch_add(1, Ordering::Relaxed) > 100)),
            ],
        );
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Decode, 1_000))), None);
        let large = Some(("large".into(), "decode step 7 took 2.0ms".into()));
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Decode, 2_000))), large);
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Decode, 2_000_000))).unwrap().0, "step>1s");
        assert_eq!(n_asked.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn without_a_ring_nothing_is_watched_over() {
        let options = FlightOptions { triggers: vec![Trigger::Panic], ..FlightOptions::default() };
        assert!(Triggers::new(&options, false).list().is_empty());
    }
}
