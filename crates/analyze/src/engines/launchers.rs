//! Slices around the launches of kernels.

use crate::figures::gpu::DeviceKey;
use crate::kineto::{CORRELATION, EXTERNAL_ID, OPERATIONS};
use crate::ops::{ClassId, Rules};
use crate::steps::ArgReader;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::{HashMap, HashSet};

/// The part of a launch call's surroundings that matters for the class of its kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Surroundings {
    /// Names around the call that a rule about parents matches, outermost first.
    pub parents: Vec<StringId>,
    /// Class of the innermost operation that has one.
    pub operation: Option<ClassId>,
}

/// Surroundings of the launches of a trace.
#[derive(Debug, Default)]
pub(super) struct Launchers {
    /// Index in `all` by correlation, and by the `External id` of an operation.
    by_correlation: HashMap<StringId, usize>,
    by_operation: HashMap<StringId, usize>,
    /// Different surroundings; the first are empty.
    all: Vec<Surroundings>,
}

impl Launchers {
    /// Finds the surroundings of all launches. `on_device` has the device of the slices that are device work.
    pub(super) fn of(trace: &Trace, nesting: &Nesting, rules: &Rules, on_device: &[Option<DeviceKey>]) -> Self {
        let mut launches = launches(trace, on_device);
        let mut launchers = Self { all: vec![Surroundings::default()], ..Self::default() };
        let mut names = Names::of(trace, rules);
        let mut known: HashMap<Surroundings, usize> = HashMap::from([(Surroundings::default(), 0)]);
        let tracks: HashSet<_> = launches.keys().map(|&slice| trace.slices.track[slice as usize]).collect();
        for track in tracks {
            nesting.walk(trace, track, |slice, around| {
                let Some(launch) = launches.remove(&slice) else { return };
                let surroundings = names.surroundings(slice, around);
                let n_known = launchers.all.len();
                let place = *known.entry(surroundings).or_insert_with_key(|new| {
                    launchers.all.push(new.clone());
                    n_known
                });
                launchers.by_correlation.extend(launch.correlation.map(|id| (id, place)));
                launchers.by_operation.extend(launch.operation.map(|id| (id, place)));
            });
        }
        launchers
    }

    /// Returns the index of the surroundings of a kernel's launch; that of empty ones if the launch is not known.
    pub(super) fn place_of(&self, correlation: Option<StringId>, external: Option<StringId>) -> usize {
        let by_call = correlation.and_then(|id| self.by_correlation.get(&id));
        let place = by_call.or_else(|| external.and_then(|id| self.by_operation.get(&id)));
        place.copied().unwrap_or(0)
    }

    /// Returns the surroundings at an index.
    pub(super) fn get(&self, place: usize) -> Option<&Surroundings> {
        self.all.get(place)
    }
}

/// Ids that join a slice of the host with kernels.
struct LaunchIds {
    correlation: Option<StringId>,
    operation: Option<StringId>,
}

/// Returns the slices of the host that launch kernels.
fn launches(trace: &Trace, on_device: &[Option<DeviceKey>]) -> HashMap<u32, LaunchIds> {
    let operations = OPERATIONS.map(|category| trace.strings.find(category));
    let [wanted_correlations, wanted_operations] = [CORRELATION, EXTERNAL_ID].map(|key| ids(trace, key, on_device));
    let mut correlation = ArgReader::of(trace, CORRELATION);
    let mut external = ArgReader::of(trace, EXTERNAL_ID);
    let mut found = HashMap::new();
    for slice in (0..trace.slices.len()).filter(|&slice| on_device.get(slice).is_some_and(Option::is_none)) {
        let order = trace.slices.order[slice];
        let is_operation = operations.contains(&Some(trace.slices.category[slice]));
        let ids = LaunchIds {
            correlation: correlation.get(order).filter(|id| wanted_correlations.contains(id)),
            operation: external.get(order).filter(|id| is_operation && wanted_operations.contains(id)),
        };
        if ids.correlation.is_some() || ids.operation.is_some() {
            found.insert(slice as u32, ids);
        }
    }
    found
}

/// Returns the values of an argument of device work.
fn ids(trace: &Trace, key: &str, on_device: &[Option<DeviceKey>]) -> HashSet<StringId> {
    let mut reader = ArgReader::of(trace, key);
    let works = on_device.iter().zip(&trace.slices.order).filter(|(device, _)| device.is_some());
    works.filter_map(|(_, &order)| reader.get(order)).collect()
}

/// Classifies the names around launches; each is classified once.
struct Names<'a> {
    trace: &'a Trace,
    rules: &'a Rules,
    operations: [Option<StringId>; OPERATIONS.len()],
    is_parent: HashMap<StringId, bool>,
    has_class: HashMap<StringId, bool>,
}

impl<'a> Names<'a> {
    fn of(trace: &'a Trace, rules: &'a Rules) -> Self {
        let operations = OPERATIONS.map(|category| trace.strings.find(category));
        Self { trace, rules, operations, is_parent: HashMap::new(), has_class: HashMap::new() }
    }

    /// Returns the surroundings of a call. The launch of a graph has none, because its kernels have different purposes.
    fn surroundings(&mut self, slice: u32, around: &[u32]) -> Surroundings {
        let slices = &self.trace.slices;
        if self.trace.strings.get(slices.name[slice as usize]).contains("GraphLaunch") {
            return Surroundings::default();
        }
        let stack: Vec<(StringId, StringId)> = around
            .iter()
            .chain([&slice])
            .map(|&slice| (slices.name[slice as usize], slices.category[slice as usize]))
            .collect();
        let mut parents: Vec<StringId> = stack.iter().map(|&(name, _)| name).filter(|&it| self.is_parent(it)).collect();
        parents.dedup();
        let is_operation = |category: StringId| self.operations.contains(&Some(category));
        let inner_first: Vec<StringId> =
            stack.iter().rev().filter(|(_, category)| is_operation(*category)).map(|&(name, _)| name).collect();
        let texts: Vec<&str> = parents.iter().map(|&name| self.trace.strings.get(name)).collect();
        let operation = inner_first.into_iter().find(|&name| self.has_class(name));
        let operation = operation.and_then(|name| self.rules.classify_within(self.trace.strings.get(name), &texts));
        Surroundings { parents, operation }
    }

    fn is_parent(&mut self, name: StringId) -> bool {
        let (rules, text) = (self.rules, self.trace.strings.get(name));
        *self.is_parent.entry(name).or_insert_with(|| rules.is_parent(text))
    }

    fn has_class(&mut self, name: StringId) -> bool {
        let (rules, text) = (self.rules, self.trace.strings.get(name));
        *self.has_class.entry(name).or_insert_with(|| rules.classify(text).is_some())
    }
}
