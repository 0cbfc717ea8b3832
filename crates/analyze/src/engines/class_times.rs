//! Time by class.

use crate::ops::ClassId;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Time by class. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTimes {
    /// Classes, the one with the most time first.
    pub classes: Vec<ClassTime>,
    /// Names without a class, the one with the most time first.
    pub unnamed: Vec<UnnamedTime>,
}

/// Time of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassTime {
    /// The class.
    pub class: ClassId,
    /// Number of slices.
    pub count: u64,
    /// Sum of their times.
    pub total: i64,
}

/// Time of a name without a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnnamedTime {
    /// The name.
    pub name: String,
    /// Number of slices.
    pub count: u64,
    /// Sum of their times.
    pub total: i64,
}

impl ClassTimes {
    /// Returns the time of a class, without the classes that are a part of it.
    pub fn get(&self, class: ClassId) -> Option<&ClassTime> {
        self.classes.iter().find(|time| time.class == class)
    }

    /// Returns number and time of slices without a class.
    pub fn unnamed_sum(&self) -> (u64, i64) {
        let add = |(count, total): (u64, i64), it: &UnnamedTime| (count + it.count, total.saturating_add(it.total));
        self.unnamed.iter().fold((0, 0), add)
    }

    /// Returns the time of all slices.
    pub fn total(&self) -> i64 {
        self.classes.iter().fold(self.unnamed_sum().1, |sum, time| sum.saturating_add(time.total))
    }

    /// Returns the share of time without a class; zero if there is no time.
    pub fn unnamed_share(&self) -> f64 {
        let total = self.total();
        if total == 0 { 0.0 } else { self.unnamed_sum().1 as f64 / total as f64 }
    }
}

/// Sums the times of slices by class.
pub(super) fn sum(
    trace: &Trace,
    classes: &[Option<ClassId>],
    slices: impl Iterator<Item = (usize, i64)>,
) -> ClassTimes {
    let mut named: HashMap<ClassId, (u64, i64)> = HashMap::new();
    let mut unnamed: HashMap<StringId, (u64, i64)> = HashMap::new();
    for (slice, time) in slices {
        let sum = match classes.get(slice).copied().flatten() {
            Some(class) => named.entry(class).or_default(),
            None => unnamed.entry(trace.slices.name[slice]).or_default(),
        };
        *sum = (sum.0 + 1, sum.1.saturating_add(time));
    }
    let named = named.into_iter().map(|(class, (count, total))| ClassTime { class, count, total });
    let unnamed = unnamed.into_iter().map(|(name, (count, total))| {
        let name = trace.strings.get(name).to_owned();
        UnnamedTime { name, count, total }
    });
    let mut times = ClassTimes { classes: named.collect(), unnamed: unnamed.collect() };
    times.classes.sort_by_key(|time| (Reverse(time.total), time.class));
    times.unnamed.sort_by(|one, other| other.total.cmp(&one.total).then_with(|| one.name.cmp(&other.name)));
    times
}
