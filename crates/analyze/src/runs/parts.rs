//! Splits the time of a trace into parts.

use super::origin::Origins;
use super::profile::{PartKey, PartSum, Place, Profile, StratumProfile};
use super::stratum::Stratum;
use crate::figures::layer_search::NONE as NO_LAYER;
use crate::ops::Ops;
use crate::steps::TileSource;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// Identity of a part, in texts of one trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct LocalKey {
    place: Place,
    category: StringId,
    name: StringId,
    parent: StringId,
    layer: u32,
}

/// Collects the parts of a trace.
pub(super) struct PartCollector<'a> {
    trace: &'a Trace,
    origins: &'a Origins,
    sums: HashMap<(usize, LocalKey), PartSum>,
}

impl<'a> PartCollector<'a> {
    pub(super) fn new(trace: &'a Trace, origins: &'a Origins) -> Self {
        Self { trace, origins, sums: HashMap::new() }
    }

    /// Adds the time of a tile to a stratum.
    pub(super) fn add_tile(&mut self, stratum: usize, source: TileSource, time_ns: i64) {
        let key = match source {
            TileSource::Device(slice) => self.key(Place::Device, slice),
            TileSource::Host(slice) => self.key(Place::Host, slice),
            TileSource::Gap => nameless(Place::Gap),
            TileSource::Waiting => nameless(Place::Waiting),
        };
        let sum = self.sums.entry((stratum, key)).or_default();
        sum.time_ns = sum.time_ns.saturating_add(time_ns);
    }

    /// Counts a slice of a stratum.
    pub(super) fn count(&mut self, stratum: usize, slice: u32, place: Place, position: u32) {
        let key = self.key(place, slice);
        let sum = self.sums.entry((stratum, key)).or_default();
        if sum.count == 0 {
            sum.position = position;
        }
        sum.count += 1;
    }

    fn key(&self, place: Place, slice: u32) -> LocalKey {
        let slice = slice as usize;
        LocalKey {
            place,
            category: self.trace.slices.category[slice],
            name: self.trace.slices.name[slice],
            parent: self.origins.parent[slice],
            layer: self.origins.layer[slice],
        }
    }

    /// Moves the parts to the strata of a profile, in the order of the indices that were given for them.
    pub(super) fn finish(self, profile: &mut Profile, strata: Vec<(Stratum, StratumProfile)>) {
        let mut strata = strata;
        let mut ops = Ops::of(self.trace);
        let mut sums: Vec<_> = self.sums.into_iter().collect();
        // The order of a hash table differs from run to run.
        sums.sort_unstable_by_key(|((stratum, key), _)| {
            (*stratum, key.place, key.category, key.name, key.parent, key.layer)
        });
        let text = |id: StringId| self.trace.strings.get(id).to_owned();
        for ((stratum, key), sum) in sums {
            let op = ops.get(self.trace, key.category, key.name);
            let key = PartKey {
                place: key.place,
                category: op.map_or_else(|| text(key.category), |op| op.as_str().to_owned()),
                name: text(key.name),
                parent: text(key.parent),
                layer: (key.layer != NO_LAYER).then_some(key.layer),
            };
            let key = profile.key(key);
            let Some((_, profile)) = strata.get_mut(stratum) else { continue };
            let known = profile.parts.entry(key).or_insert(PartSum { position: sum.position, ..PartSum::default() });
            known.time_ns = known.time_ns.saturating_add(sum.time_ns);
            known.count = known.count.saturating_add(sum.count);
        }
        profile.strata.extend(strata);
    }
}

fn nameless(place: Place) -> LocalKey {
    let none = StringId::EMPTY;
    LocalKey { place, category: none, name: none, parent: none, layer: NO_LAYER }
}
