//! Names that only one side has, and names that were replaced by another at the same position.

use super::attribution::Attribution;
use crate::runs::{PartKey, PartSum, Place, Profile};
use hashbrown::HashMap;

/// Name that only one side has. Time is nanoseconds per step.
#[derive(Clone, Debug, PartialEq)]
pub struct OneSidedName {
    /// The place.
    pub place: Place,
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// Calls per step.
    pub calls: f64,
    /// Time per step.
    pub time_ns: i64,
}

/// Name that another one has replaced: the same place, parent, position and number of calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Renamed {
    /// The name on the base side.
    pub base: OneSidedName,
    /// The name on the new side.
    pub new: OneSidedName,
}

/// Changes of names, those with the most time first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NameChanges {
    /// Names that only the new side has.
    pub new: Vec<OneSidedName>,
    /// Names that only the base side has.
    pub gone: Vec<OneSidedName>,
    /// Names that were replaced.
    pub renamed: Vec<Renamed>,
}

/// Largest ratio of the numbers of calls of a renamed operation.
const CALLS_RATIO_MAX: f64 = 1.05;

/// Identity of a name.
type NameKey<'a> = (Place, &'a str, &'a str);

/// Sums and position of a name on one side.
#[derive(Clone, Debug, Default)]
struct NameSum {
    time_ns: i64,
    count: u64,
    /// Parent and position where it occurs most often.
    parent: String,
    position: u32,
    count_there: u64,
}

/// Compares the names of two profiles.
pub(super) fn name_changes(base: &Profile, new: &Profile, attribution: &Attribution) -> NameChanges {
    let sums = [base, new].map(sum_by_name);
    let n_steps = [attribution.n_steps.0, attribution.n_steps.1];
    let only = |side: usize| {
        let other = &sums[1 - side];
        let mut names: Vec<(NameKey, &NameSum)> =
            sums[side].iter().filter(|(key, _)| !other.contains_key(*key)).map(|(key, sum)| (*key, sum)).collect();
        names.sort_unstable_by_key(|(key, sum)| (std::cmp::Reverse(sum.time_ns), *key));
        names
    };
    let (gone, mut added) = (only(0), only(1));
    let mut changes = NameChanges::default();
    for (key, sum) in gone {
        let is_successor = |(other, it): &(NameKey, &NameSum)| other.0 == key.0 && is_same_position(sum, it, n_steps);
        let named = one_sided(key, sum, n_steps[0]);
        match added.iter().position(is_successor) {
            Some(place) => {
                let (key, sum) = added.remove(place);
                changes.renamed.push(Renamed { base: named, new: one_sided(key, sum, n_steps[1]) });
            }
            None => changes.gone.push(named),
        }
    }
    changes.new = added.into_iter().map(|(key, sum)| one_sided(key, sum, n_steps[1])).collect();
    changes
}

fn one_sided((place, category, name): NameKey, sum: &NameSum, n_steps: u64) -> OneSidedName {
    let n_steps = n_steps.max(1);
    OneSidedName {
        place,
        category: category.to_owned(),
        name: name.to_owned(),
        calls: sum.count as f64 / n_steps as f64,
        time_ns: (sum.time_ns as f64 / n_steps as f64).round() as i64,
    }
}

fn is_same_position(base: &NameSum, new: &NameSum, n_steps: [u64; 2]) -> bool {
    let calls = |sum: &NameSum, n_steps: u64| sum.count as f64 / n_steps.max(1) as f64;
    let (one, two) = (calls(base, n_steps[0]), calls(new, n_steps[1]));
    (&base.parent, base.position) == (&new.parent, new.position) && one.max(two) <= CALLS_RATIO_MAX * one.min(two)
}

fn sum_by_name(profile: &Profile) -> HashMap<NameKey<'_>, NameSum> {
    let mut sums: HashMap<NameKey, NameSum> = HashMap::new();
    for (key, part) in parts(profile).filter(|(key, _)| !key.name.is_empty()) {
        let sum = sums.entry((key.place, &key.category, &key.name)).or_default();
        sum.time_ns = sum.time_ns.saturating_add(part.time_ns);
        sum.count = sum.count.saturating_add(part.count);
        if part.count > sum.count_there {
            (sum.count_there, sum.position) = (part.count, part.position);
            sum.parent.clone_from(&key.parent);
        }
    }
    sums
}

fn parts(profile: &Profile) -> impl Iterator<Item = (&PartKey, &PartSum)> {
    let all = profile.strata.values().flat_map(|stratum| &stratum.parts);
    all.filter_map(|(&key, part)| Some((profile.keys.get(key as usize)?, part)))
}
