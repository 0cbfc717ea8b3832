//! Groups of steps by any properties.

use super::groups::{BatchRange, StepGroup, has_many_sizes};
use super::step::Step;
use crate::figures::labels::{Label, Labels};
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab::Phase;
use hashbrown::HashMap;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Property by which steps can be grouped.
#[derive(Clone, Debug)]
pub enum StepKey {
    /// Their phase.
    Phase,
    /// Their batch size, or a range of sizes if there are many.
    Batch,
    /// A label of their marks, such as an argument.
    Label(Labels),
}

/// Value of a [`StepKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKeyValue {
    /// The phase; `None` if it is unknown.
    Phase(Option<Phase>),
    /// The batch size; `None` if it is unknown.
    Batch(Option<BatchRange>),
    /// The label; `None` if the mark does not have it.
    Label(Option<Label>),
}

/// Steps that share the values of all keys.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyedStepGroup {
    /// The values, in the order of the keys.
    pub key: Vec<StepKeyValue>,
    /// The steps. It has a phase and a batch size if these are among the keys.
    pub group: StepGroup,
}

/// Groups steps by these keys. The groups are sorted by the values of the keys.
pub fn group_steps(trace: &Trace, steps: &[Step], by: &[StepKey]) -> Vec<KeyedStepGroup> {
    let ranges = BatchRanges::of(steps, by);
    let mut members: HashMap<Vec<StepKeyValue>, Vec<&Step>> = HashMap::new();
    for step in steps {
        let value = |key: &StepKey| match key {
            StepKey::Phase => StepKeyValue::Phase(step.mark.phase),
            StepKey::Batch => StepKeyValue::Batch(ranges.of_step(step)),
            StepKey::Label(labels) => StepKeyValue::Label(labels.of_slice(trace, step.slice as usize)),
        };
        members.entry(by.iter().map(value).collect()).or_default().push(step);
    }
    let mut groups: Vec<KeyedStepGroup> = members.into_iter().map(|(key, steps)| keyed(key, &steps)).collect();
    groups.sort_by(|one, other| compare(trace, &one.key, &other.key));
    groups
}

fn keyed(key: Vec<StepKeyValue>, steps: &[&Step]) -> KeyedStepGroup {
    let mut group = StepGroup::of(steps.iter().copied());
    for value in &key {
        match *value {
            StepKeyValue::Phase(phase) => group.phase = phase,
            StepKeyValue::Batch(batch) => group.batch = batch,
            StepKeyValue::Label(_) => {}
        }
    }
    KeyedStepGroup { key, group }
}

fn compare(trace: &Trace, key: &[StepKeyValue], other: &[StepKeyValue]) -> Ordering {
    let compared = key.iter().zip(other).map(|pair| match pair {
        (StepKeyValue::Phase(one), StepKeyValue::Phase(other)) => one.cmp(other),
        (StepKeyValue::Batch(one), StepKeyValue::Batch(other)) => one.cmp(other),
        (StepKeyValue::Label(one), StepKeyValue::Label(other)) => Label::compare(trace, *one, *other),
        // Keys at one place are of one kind.
        _ => Ordering::Equal,
    });
    compared.fold(Ordering::Equal, Ordering::then)
}

/// Phases whose batch sizes are grouped by ranges. Without phases, all steps count as one phase.
struct BatchRanges {
    by_phase: bool,
    has_many: BTreeMap<Option<Phase>, bool>,
}

impl BatchRanges {
    fn of(steps: &[Step], by: &[StepKey]) -> Self {
        let by_phase = by.iter().any(|key| matches!(key, StepKey::Phase));
        Self { by_phase, has_many: has_many_sizes(steps, |step| step.mark.phase.filter(|_| by_phase)) }
    }

    fn of_step(&self, step: &Step) -> Option<BatchRange> {
        let phase = step.mark.phase.filter(|_| self.by_phase);
        let has_many = self.has_many.get(&phase).copied().unwrap_or(false);
        step.mark.batch.map(|size| BatchRange::of(size, has_many))
    }
}
