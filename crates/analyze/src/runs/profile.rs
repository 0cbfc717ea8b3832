//! Profile of one side: the time of its steps, split into parts.

use super::stratum::Stratum;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Place of a part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// A device: a kernel or a copy.
    Device,
    /// The host: a slice, while no device works for the step.
    Host,
    /// The host within a step, in no slice, while no device works for the step.
    Gap,
    /// After the mark of the step on the host, while no device works for the step.
    Waiting,
    /// Parts that a baseline does not list singly.
    Rest,
}

impl Place {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "host",
            Self::Gap => "gap",
            Self::Waiting => "waiting",
            Self::Rest => "rest",
        }
    }
}

/// Identity of a part of the time of steps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartKey {
    /// The place.
    pub place: Place,
    /// The operation category if it is known, else the category of the slice.
    pub category: String,
    /// Name of the slice; empty for gaps and waiting.
    pub name: String,
    /// Name of the operation that launched device work, or of the slice around a host slice; empty if unknown.
    pub parent: String,
    /// The layer, if known.
    pub layer: Option<u32>,
}

/// Sums of one part over steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartSum {
    /// Time in nanoseconds.
    pub time_ns: i64,
    /// Number of slices.
    pub count: u64,
    /// Position among the children of its parent where it first occurs, from 0.
    pub position: u32,
}

/// Time of the steps of one stratum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StratumProfile {
    /// Number of typical steps. The parts are those of typical steps.
    pub n_typical: u64,
    /// Sum of their durations, which is the sum of the parts.
    pub typical_ns: i64,
    /// Number of outlier steps: far longer than the other steps of their run and stratum.
    pub n_outliers: u64,
    /// Sum of their durations.
    pub outliers_ns: i64,
    /// Sums by index in [`Profile::keys`].
    pub parts: BTreeMap<u32, PartSum>,
}

impl StratumProfile {
    /// Returns the number of steps.
    pub fn n_steps(&self) -> u64 {
        self.n_typical.saturating_add(self.n_outliers)
    }

    /// Returns the sum of the durations of all steps.
    pub fn total_ns(&self) -> i64 {
        self.typical_ns.saturating_add(self.outliers_ns)
    }
}

/// Unit that a profile is a mean of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A step of an engine.
    #[default]
    Step,
    /// A whole trace, because it has no steps: the busy time of all its tracks.
    Trace,
}

/// Time of all steps of one side, by stratum and part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    /// The unit; `None` if nothing was added.
    pub unit: Option<Unit>,
    /// Identities of the parts.
    pub keys: Vec<PartKey>,
    /// Sums by stratum.
    pub strata: BTreeMap<Stratum, StratumProfile>,
    #[serde(skip)]
    places: HashMap<PartKey, u32>,
}

impl Profile {
    /// Creates an empty profile.
    pub fn new(unit: Unit) -> Self {
        Self { unit: Some(unit), ..Self::default() }
    }

    /// Returns the index of a key, and adds the key if it is new.
    pub fn key(&mut self, key: PartKey) -> u32 {
        if self.places.len() != self.keys.len() {
            self.places = self.keys.iter().cloned().zip(0..).collect();
        }
        let Self { keys, places, .. } = self;
        *places.entry(key).or_insert_with_key(|key| {
            keys.push(key.clone());
            keys.len() as u32 - 1
        })
    }

    /// Returns the sum of all steps: their number and their durations.
    pub fn total(&self) -> (u64, i64) {
        self.strata.values().fold((0, 0), |(count, time), stratum| {
            (count.saturating_add(stratum.n_steps()), time.saturating_add(stratum.total_ns()))
        })
    }

    /// Adds the steps of another trace. Traces without steps are left out if others have steps, and the other way
    /// round the later ones are.
    pub fn add(&mut self, other: &Self) {
        if other.unit.is_none() || (self.unit.is_some() && self.unit != other.unit) {
            return;
        }
        self.unit = other.unit;
        let places: Vec<u32> = other.keys.iter().map(|key| self.key(key.clone())).collect();
        for (stratum, more) in &other.strata {
            let sums = self.strata.entry(*stratum).or_default();
            sums.n_typical = sums.n_typical.saturating_add(more.n_typical);
            sums.typical_ns = sums.typical_ns.saturating_add(more.typical_ns);
            sums.n_outliers = sums.n_outliers.saturating_add(more.n_outliers);
            sums.outliers_ns = sums.outliers_ns.saturating_add(more.outliers_ns);
            for (&key, part) in &more.parts {
                let Some(&key) = places.get(key as usize) else { continue };
                let sum = sums.parts.entry(key).or_insert(PartSum { position: part.position, ..PartSum::default() });
                sum.time_ns = sum.time_ns.saturating_add(part.time_ns);
                sum.count = sum.count.saturating_add(part.count);
            }
        }
    }

    /// Keeps the `n_max` parts with the most time and sums the others into one.
    pub fn shorten(&mut self, n_max: usize) {
        if self.keys.len() <= n_max {
            return;
        }
        let mut times: Vec<(i64, u32)> = (0..self.keys.len() as u32).map(|key| (self.time_of(key), key)).collect();
        times.sort_unstable_by_key(|&(time, key)| (std::cmp::Reverse(time), key));
        let mut short = Self { unit: self.unit, ..Self::default() };
        let mut places: Vec<Option<u32>> = vec![None; self.keys.len()];
        for &(_, key) in times.iter().take(n_max) {
            places[key as usize] = Some(short.key(self.keys[key as usize].clone()));
        }
        let rest = short.key(PartKey::of_rest());
        for (stratum, sums) in &self.strata {
            let mut kept = StratumProfile { parts: BTreeMap::new(), ..sums.clone() };
            for (&key, part) in &sums.parts {
                let place = places.get(key as usize).copied().flatten();
                let sum = kept.parts.entry(place.unwrap_or(rest)).or_default();
                sum.time_ns = sum.time_ns.saturating_add(part.time_ns);
                sum.count = sum.count.saturating_add(part.count);
                sum.position = part.position;
            }
            short.strata.insert(*stratum, kept);
        }
        *self = short;
    }

    fn time_of(&self, key: u32) -> i64 {
        let times = self.strata.values().filter_map(|stratum| stratum.parts.get(&key));
        times.fold(0, |sum, part| sum.saturating_add(part.time_ns))
    }
}

impl PartKey {
    fn of_rest() -> Self {
        let none = String::new;
        Self { place: Place::Rest, category: none(), name: none(), parent: none(), layer: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(parts: &[(&str, i64, u64)]) -> Profile {
        let mut profile = Profile { unit: Some(Unit::Step), ..Profile::default() };
        let mut sums = StratumProfile { n_typical: 2, ..StratumProfile::default() };
        for &(name, time_ns, count) in parts {
            let key = PartKey { place: Place::Host, name: name.to_owned(), ..PartKey::of_rest() };
            let key = profile.key(key);
            sums.typical_ns += time_ns;
            sums.parts.insert(key, PartSum { time_ns, count, position: 0 });
        }
        profile.strata.insert(Stratum::default(), sums);
        profile
    }

    fn time(profile: &Profile, name: &str) -> Option<i64> {
        let key = profile.keys.iter().position(|key| key.name == name)?;
        Some(profile.time_of(key as u32))
    }

    #[test]
    fn parts_of_several_runs_add_up() {
        let mut all = profile(&[("a", 5, 1), ("b", 7, 1)]);
        all.add(&profile(&[("b", 3, 1), ("c", 1, 1)]));
        assert_eq!(["a", "b", "c"].map(|name| time(&all, name)), [Some(5), Some(10), Some(1)]);
        assert_eq!(all.total(), (4, 16));
        all.add(&Profile { unit: Some(Unit::Trace), ..profile(&[("a", 9, 1)]) });
        assert_eq!(all.total(), (4, 16));
    }

    #[test]
    fn a_shortened_profile_keeps_its_sum() {
        let mut all = profile(&[("a", 5, 1), ("b", 7, 1), ("c", 1, 1), ("d", 2, 1)]);
        all.shorten(2);
        assert_eq!(["a", "b", "c", ""].map(|name| time(&all, name)), [Some(5), Some(7), None, Some(3)]);
        assert_eq!(all.strata[&Stratum::default()].typical_ns, 15);
    }
}
