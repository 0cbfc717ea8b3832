//! Classes of the slices of a trace.

use super::surroundings::LaunchSurroundings;
use crate::launches::device_work::DeviceKey;
use crate::launches::launchers::WorkIds;
use crate::ops::{ClassId, Rules};
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// Returns the class of each slice that is device work; `None` for slices without a class.
///
/// A kernel has the class of its category if that is the name of a class, else that of its name. If no rule matches the
/// name, it has the class of the innermost operation around its launch that a rule matches.
pub(super) fn of_device(
    trace: &Trace,
    nesting: &Nesting,
    rules: &Rules,
    on_device: &[Option<DeviceKey>],
) -> Vec<Option<ClassId>> {
    let launches = LaunchSurroundings::of(trace, nesting, rules, on_device);
    let mut ids = WorkIds::of(trace);
    let mut known: HashMap<(StringId, StringId, usize), Option<ClassId>> = HashMap::new();
    let mut classes = vec![None; trace.slices.len()];
    for slice in (0..trace.slices.len()).filter(|&slice| on_device.get(slice).is_some_and(Option::is_some)) {
        let (name, category) = (trace.slices.name[slice], trace.slices.category[slice]);
        let place = launches.place_of(&mut ids, trace.slices.order[slice]);
        let class = || {
            let surroundings = launches.get(place)?;
            let parents: Vec<&str> = surroundings.parents.iter().map(|&id| trace.strings.get(id)).collect();
            let by_name = rules.classify_within(trace.strings.get(name), &parents);
            rules.classify_in_category(trace.strings.get(category), by_name).or(surroundings.operation)
        };
        classes[slice] = *known.entry((name, category, place)).or_insert_with(class);
    }
    classes
}

/// Returns the class of each slice of the host by its category and name, without the slices around it.
pub(super) fn of_host(trace: &Trace, rules: &Rules) -> Vec<Option<ClassId>> {
    let mut known: HashMap<(StringId, StringId), Option<ClassId>> = HashMap::new();
    let pairs = trace.slices.name.iter().zip(&trace.slices.category);
    let class = |(&name, &category): (&StringId, &StringId)| {
        *known.entry((name, category)).or_insert_with(|| {
            let by_name = rules.classify(trace.strings.get(name));
            rules.classify_in_category(trace.strings.get(category), by_name)
        })
    };
    pairs.map(class).collect()
}
