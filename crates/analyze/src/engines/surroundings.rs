//! Slices around the launches of kernels.

use crate::kineto::OPERATIONS;
use crate::launches::device_work::DeviceKey;
use crate::launches::launchers::{Launchers, WorkIds};
use crate::ops::{ClassId, Rules};
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{Order, StringId, Trace};
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
#[derive(Debug)]
pub(super) struct LaunchSurroundings {
    launchers: Launchers,
    /// Index in `all` by slice.
    places: HashMap<u32, usize>,
    /// Different surroundings; the first are empty.
    all: Vec<Surroundings>,
}

impl LaunchSurroundings {
    /// Finds the surroundings of all launches. `on_device` has the device of the slices that are device work.
    pub(super) fn of(trace: &Trace, nesting: &Nesting, rules: &Rules, on_device: &[Option<DeviceKey>]) -> Self {
        let launchers = Launchers::of(trace, on_device);
        let (mut places, mut all) = (HashMap::new(), vec![Surroundings::default()]);
        let mut names = Names::of(trace, rules);
        let mut known: HashMap<Surroundings, usize> = HashMap::from([(Surroundings::default(), 0)]);
        let launching: HashSet<u32> = launchers.slices().collect();
        let tracks: HashSet<_> = launching.iter().map(|&slice| trace.slices.track[slice as usize]).collect();
        for track in tracks {
            nesting.walk(trace, track, |slice, around| {
                if !launching.contains(&slice) {
                    return;
                }
                let surroundings = names.surroundings(slice, around);
                let n_known = all.len();
                let place = *known.entry(surroundings).or_insert_with_key(|new| {
                    all.push(new.clone());
                    n_known
                });
                places.insert(slice, place);
            });
        }
        Self { launchers, places, all }
    }

    /// Returns the index of the surroundings of a kernel's launch; that of empty ones if the launch is not known.
    pub(super) fn place_of(&self, ids: &mut WorkIds<'_>, order: Order) -> usize {
        let slice = ids.launcher(&self.launchers, order).slice();
        slice.and_then(|slice| self.places.get(&slice)).copied().unwrap_or(0)
    }

    /// Returns the surroundings at an index.
    pub(super) fn get(&self, place: usize) -> Option<&Surroundings> {
        self.all.get(place)
    }
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
