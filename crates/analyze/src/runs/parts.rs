//! Splits the time of a trace into parts.

use super::origin::Origins;
use super::profile::{PartKey, PartSum, Place, Profile, StratumProfile};
use super::stratum::Stratum;
use crate::figures::layer_search::NONE as NO_LAYER;
use crate::ops::Ops;
use crate::steps::TileSource;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;
use std::hash::{Hash, Hasher};

/// Identity of a part, in texts of one trace.
#[derive(Clone, Copy, PartialEq, Eq)]
struct LocalKey {
    place: Place,
    category: StringId,
    name: StringId,
    parent: StringId,
    layer: u32,
}

impl Hash for LocalKey {
    /// Hashes two words instead of five fields. Parts that differ in their place only are few.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let word = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        state.write_u64(word(self.category.0, self.name.0));
        state.write_u64(word(self.parent.0, self.layer));
    }
}

/// Marks a name that no part has yet.
const NONE: u32 = u32::MAX;

/// Collects the parts of a trace, one stratum after the other.
pub(super) struct PartCollector<'a> {
    trace: &'a Trace,
    origins: &'a Origins,
    /// The different parts, and their numbers.
    keys: Vec<LocalKey>,
    numbers: HashMap<LocalKey, u32>,
    /// Number of the last part with each name, or [`NONE`]: the slices of a name mostly have the same part, and it is
    /// found without hashing.
    last_of_name: Vec<u32>,
    /// Number of the part that each slice was last added to, plus one; zero before. Memory that stays zero is free.
    part_of: Vec<u32>,
    /// Sums of the current stratum by part; `None` for parts that it does not have.
    sums: Vec<Option<PartSum>>,
    /// Parts that the current stratum has.
    added: Vec<u32>,
    finished: Vec<FinishedStratum>,
}

struct FinishedStratum {
    stratum: Stratum,
    profile: StratumProfile,
    parts: Vec<(LocalKey, PartSum)>,
}

impl<'a> PartCollector<'a> {
    pub(super) fn new(trace: &'a Trace, origins: &'a Origins) -> Self {
        Self {
            trace,
            origins,
            keys: Vec::new(),
            numbers: HashMap::new(),
            last_of_name: vec![NONE; trace.strings.len()],
            part_of: vec![0; trace.slices.len()],
            sums: Vec::new(),
            added: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Adds the time of a tile to the current stratum.
    pub(super) fn add_tile(&mut self, source: TileSource, time_ns: i64) {
        let part = match source {
            TileSource::Device(slice) => self.part_of_slice(Place::Device, slice),
            TileSource::Host(slice) => self.part_of_slice(Place::Host, slice),
            TileSource::Gap => self.number(nameless(Place::Gap)),
            TileSource::Waiting => self.number(nameless(Place::Waiting)),
        };
        let sum = self.sum(part);
        sum.time_ns = sum.time_ns.saturating_add(time_ns);
    }

    /// Counts a slice of the current stratum.
    pub(super) fn count(&mut self, slice: u32, place: Place, position: u32) {
        let part = self.part_of_slice(place, slice);
        count(self.sum(part), position);
    }

    /// Counts a slice of the current stratum and adds its time. No other time is added for the slice.
    pub(super) fn add_slice(&mut self, slice: u32, place: Place, position: u32, time_ns: i64) {
        let part = self.number(self.key(place, slice));
        let sum = self.sum(part);
        sum.time_ns = sum.time_ns.saturating_add(time_ns);
        count(sum, position);
    }

    /// Ends the current stratum.
    pub(super) fn end_stratum(&mut self, stratum: Stratum, profile: StratumProfile) {
        let take = |part: u32| Some((self.keys[part as usize], self.sums[part as usize].take()?));
        let mut parts: Vec<(LocalKey, PartSum)> = self.added.drain(..).filter_map(take).collect();
        parts.sort_unstable_by_key(|(key, _)| (key.place, key.category, key.name, key.parent, key.layer));
        self.finished.push(FinishedStratum { stratum, profile, parts });
    }

    /// Moves all strata to a profile.
    pub(super) fn finish(self, into: &mut Profile) {
        let mut ops = Ops::of(self.trace);
        let text = |id: StringId| self.trace.strings.get(id).to_owned();
        for FinishedStratum { stratum, mut profile, parts } in self.finished {
            for (key, sum) in parts {
                let op = ops.get(self.trace, key.category, key.name);
                let key = into.key(PartKey {
                    place: key.place,
                    category: op.map_or_else(|| text(key.category), |op| op.as_str().to_owned()),
                    name: text(key.name),
                    parent: text(key.parent),
                    layer: (key.layer != NO_LAYER).then_some(key.layer),
                });
                let first = PartSum { position: sum.position, ..PartSum::default() };
                let known = profile.parts.entry(key).or_insert(first);
                known.time_ns = known.time_ns.saturating_add(sum.time_ns);
                known.count = known.count.saturating_add(sum.count);
            }
            into.strata.insert(stratum, profile);
        }
    }

    fn sum(&mut self, part: u32) -> &mut PartSum {
        let sum = &mut self.sums[part as usize];
        if sum.is_none() {
            self.added.push(part);
        }
        sum.get_or_insert_default()
    }

    /// Returns the number of the part of a slice.
    fn part_of_slice(&mut self, place: Place, slice: u32) -> u32 {
        if let Some(known) = self.part_of[slice as usize].checked_sub(1)
            && self.keys[known as usize].place == place
        {
            return known;
        }
        let part = self.number(self.key(place, slice));
        self.part_of[slice as usize] = part + 1;
        part
    }

    fn number(&mut self, key: LocalKey) -> u32 {
        let last = &mut self.last_of_name[key.name.index()];
        if self.keys.get(*last as usize) == Some(&key) {
            return *last;
        }
        *last = *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.sums.push(None);
            self.keys.len() as u32 - 1
        });
        *last
    }

    fn key(&self, place: Place, slice: u32) -> LocalKey {
        let slice = slice as usize;
        LocalKey {
            place,
            category: self.trace.slices.category[slice],
            name: self.trace.slices.name[slice],
            parent: self.origins.parent[slice],
            layer: self.origins.layer(slice),
        }
    }
}

fn count(sum: &mut PartSum, position: u32) {
    if sum.count == 0 {
        sum.position = position;
    }
    sum.count += 1;
}

fn nameless(place: Place) -> LocalKey {
    let none = StringId::EMPTY;
    LocalKey { place, category: none, name: none, parent: none, layer: NO_LAYER }
}
