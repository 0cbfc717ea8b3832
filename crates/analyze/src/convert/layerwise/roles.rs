//! Roles of slices in a profile.

use super::phases::{Steps, is_profiler_step};
use crate::kineto;
use crate::structure::ancestors::Ancestors;
pub(super) use crate::structure::ancestors::NONE;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::vocab::device_track;
use ferrum_trace_model::{StringId, Trace};

/// Prefix of the names of modules in torch's traces.
pub(super) const MODULE_PREFIX: &str = "nn.Module: ";

/// Role of a slice in a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Ignored.
    Passed,
    /// A step of the engine.
    Step,
    /// A host slice that may contain others: a module, an operation.
    Module,
    /// A call of the host to a device.
    Call,
    /// Work of a device.
    Kernel,
    /// A device slice that contains kernels.
    Group,
}

/// Roles of all slices, and their enclosing slices.
#[derive(Debug)]
pub(super) struct Roles {
    pub roles: Vec<Role>,
    /// Enclosing slices of each slice on its track.
    pub around: Ancestors,
    /// True if times are device times.
    pub has_devices: bool,
}

impl Roles {
    /// Returns the slice around another one on its track; [`NONE`] if there is none.
    pub(super) fn parent(&self, slice: u32) -> u32 {
        self.around.parents()[slice as usize]
    }

    /// Classifies all slices of a trace.
    pub(super) fn of(trace: &Trace, nesting: &Nesting, steps: &Steps) -> Self {
        let around = around(trace, nesting);
        let words = Words::of(trace);
        let places = places(trace, &words);
        let mut roles: Vec<Role> = (0..trace.slices.len())
            .map(|slice| words.role(trace, slice, places[trace.slices.track[slice].index()]))
            .collect();
        for step in &steps.list {
            roles[step.slice as usize] = Role::Step;
        }
        // On streams with names of our recorder, a slice that contains others is not a kernel.
        for (slice, &parent) in around.parents().iter().enumerate() {
            if parent != NONE && trace.slices.duration[slice] > 0 {
                let role = &mut roles[parent as usize];
                if *role == Role::Kernel && !words.is_kernel(trace.slices.category[parent as usize]) {
                    *role = Role::Group;
                }
            }
        }
        let has_devices = roles.contains(&Role::Kernel);
        Self { roles, around, has_devices }
    }
}

fn around(trace: &Trace, nesting: &Nesting) -> Ancestors {
    let mut around = Ancestors::new(trace.slices.len());
    for (track, _) in trace.tracks.iter() {
        nesting.walk(trace, track, |slice, open| around.set_parent(slice, open.last().copied().unwrap_or(NONE)));
    }
    around
}

/// Kind of a track.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrackRole {
    Host,
    /// A stream, by its name: everything on it is device work.
    Named,
    /// A stream, by the kernels on it.
    Stream,
}

fn places(trace: &Trace, words: &Words) -> Vec<TrackRole> {
    let is_named = |name: StringId| device_track::parse(trace.strings.get(name)).is_some();
    let of_name = |name: Option<StringId>| if name.is_some_and(is_named) { TrackRole::Named } else { TrackRole::Host };
    let mut places: Vec<TrackRole> = trace.tracks.iter().map(|(_, track)| of_name(track.name)).collect();
    for (slice, &category) in trace.slices.category.iter().enumerate() {
        let place = &mut places[trace.slices.track[slice].index()];
        if *place == TrackRole::Host && words.is_kernel(category) {
            *place = TrackRole::Stream;
        }
    }
    places
}

/// Categories that determine roles.
struct Words {
    kernels: [Option<StringId>; 6],
    calls: [Option<StringId>; 3],
    passed: [Option<StringId>; 5],
    /// Modules of profiles that are read as traces; they share a track with their kernels.
    profiled: Option<StringId>,
    /// True if modules are marked as such, so that nothing else is one.
    has_modules: bool,
}

impl Words {
    fn of(trace: &Trace) -> Self {
        let find = |text: &str| trace.strings.find(text);
        let is_module = |&name: &StringId| trace.strings.get(name).starts_with(MODULE_PREFIX);
        Self {
            kernels: kineto::DEVICE_WORK.map(find),
            calls: [kineto::RUNTIME, "cuda_driver", "Runtime"].map(find),
            passed: [kineto::GPU_ANNOTATION, "python_function", "overhead", "Trace", "cuda_sync"].map(find),
            profiled: find("module"),
            has_modules: trace.slices.name.iter().any(is_module),
        }
    }

    /// Returns true if a category is that of device work.
    fn is_kernel(&self, category: StringId) -> bool {
        self.kernels.contains(&Some(category))
    }

    fn role(&self, trace: &Trace, slice: usize, place: TrackRole) -> Role {
        let (name, category) = (trace.strings.get(trace.slices.name[slice]), Some(trace.slices.category[slice]));
        if self.kernels.contains(&category) {
            return Role::Kernel;
        }
        if self.calls.contains(&category) {
            return Role::Call;
        }
        if name.starts_with(MODULE_PREFIX) || (place == TrackRole::Stream && self.profiled == category) {
            return Role::Module;
        }
        if place == TrackRole::Named {
            return Role::Kernel;
        }
        if place == TrackRole::Stream || self.has_modules || self.passed.contains(&category) || is_profiler_step(name) {
            return Role::Passed;
        }
        Role::Module
    }
}
