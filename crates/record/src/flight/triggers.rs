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

/// A condition of the program that is evaluated at the end of each step.
#[derive(Clone)]
pub(crate) struct Predicate {
    pub name: String,
    pub condition: Arc<dyn Fn(&EndedStep) -> bool + Send + Sync>,
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Predicate").field(&self.name).finish()
    }
}

/// Triggers of one recording, and the statistics they need.
#[derive(Debug, Default)]
pub(crate) struct Triggers {
    triggers: Vec<Trigger>,
    predicates: Vec<Predicate>,
    /// Running p99 of step durations by phase, if a trigger needs it.
    p99: Option<Box<[RunningP99; Phase::ALL.len()]>>,
}

/// A trigger whose condition was met.
pub(crate) struct TriggerHit {
    /// The trigger, such as `step>50ms`, or the name of a predicate.
    pub reason: String,
    /// The event that met the condition, in words.
    pub description: String,
}

impl Triggers {
    /// Creates the triggers. Without a ring there are none, since no dump could be written.
    pub(crate) fn new(options: &FlightOptions, is_ring: bool) -> Self {
        let FlightOptions { triggers, predicates, .. } = options;
        if !is_ring {
            if !triggers.is_empty() || !predicates.is_empty() {
                say("triggers need a flight recorder, and this recording is none: FERRUM_TRACE_RING is not set");
            }
            return Self::default();
        }
        let needs_p99 = |trigger: &Trigger| matches!(trigger, Trigger::Step { over: StepLimit::TimesP99(_), .. });
        let p99 = triggers.iter().any(needs_p99).then(|| Box::new(std::array::from_fn(|_| RunningP99::new())));
        Self { triggers: triggers.clone(), predicates: predicates.clone(), p99 }
    }

    /// Returns the triggers, without the predicates of the program.
    pub(crate) fn list(&self) -> &[Trigger] {
        &self.triggers
    }

    /// Returns true if the program has predicates for steps.
    pub(crate) fn has_predicates(&self) -> bool {
        !self.predicates.is_empty()
    }

    /// Returns the first trigger or predicate that a step meets, if any.
    pub(crate) fn evaluate_step(&self, ended: &EndedStep) -> Option<TriggerHit> {
        let p99 = self.p99.as_ref().map(|by_phase| &by_phase[ended.step.phase as usize]);
        let limit = p99.and_then(RunningP99::get);
        let slow = self.triggers.iter().find_map(|trigger| too_slow(trigger, ended, limit));
        if let Some(p99) = p99 {
            p99.add(nanos_of(ended.duration));
        }
        let describe = |limit: &str| {
            let EndedStep { number, step, duration } = ended;
            format!("{} step {number} took {duration:.1?}{limit}", step.phase)
        };
        // All of them are called, since they may keep count. A panic is reported by the panic's own message.
        let is_true = |predicate: &&Predicate| catch_unwind(AssertUnwindSafe(|| (predicate.condition)(ended)));
        let mut met = None;
        for predicate in self.predicates.iter().filter(|predicate| is_true(predicate).unwrap_or(false)) {
            met.get_or_insert(predicate);
        }
        match (slow, met) {
            (Some((trigger, limit)), _) => {
                Some(TriggerHit { reason: trigger.to_string(), description: describe(&format!(" > {limit}")) })
            }
            (None, Some(predicate)) => Some(TriggerHit { reason: predicate.name.clone(), description: describe("") }),
            (None, None) => None,
        }
    }
}

/// Returns the trigger and the text of its limit, if the step took longer. `p99` is that of the step's phase.
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
    fn a_step_is_compared_with_the_p99_of_its_phase_once_enough_steps_are_known() {
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
    fn every_predicate_is_called_for_every_step_and_a_panic_counts_as_false() {
        let n_calls = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&n_calls);
        let predicate = |name: &str, condition: Arc<dyn Fn(&EndedStep) -> bool + Send + Sync>| Predicate {
            name: name.into(),
            condition,
        };
        let triggers = triggers(
            "step>1s",
            vec![
                predicate("panics", Arc::new(|_| panic!("on purpose"))),
                predicate("large", Arc::new(|ended| ended.step.batch > 7 && ended.duration > Duration::from_millis(1))),
                predicate("counts", Arc::new(move |_| counts.fetch_add(1, Ordering::Relaxed) > 100)),
            ],
        );
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Decode, 1_000))), None);
        let large = Some(("large".into(), "decode step 7 took 2.0ms".into()));
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Decode, 2_000))), large);
        assert_eq!(texts(triggers.evaluate_step(&ended(Phase::Decode, 2_000_000))).unwrap().0, "step>1s");
        assert_eq!(n_calls.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn without_a_ring_there_are_no_triggers() {
        let options = FlightOptions { triggers: vec![Trigger::Panic], ..FlightOptions::default() };
        assert!(Triggers::new(&options, false).list().is_empty());
    }
}
