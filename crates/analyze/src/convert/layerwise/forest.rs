//! The trees of a profile: which slices stand below which, and how long each took.

use super::launches::{innermost_at, launches};
use super::phases::{ProfilePhase, Step, Steps};
use super::roles::{NONE, Role, Roles};
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{ProcessId, Trace};

/// How deep a tree may be. Readers of JSON give up somewhere above 100 brackets, and each level has two.
pub(super) const DEPTH_MAX: usize = 48;

/// All trees.
#[derive(Debug)]
pub(super) struct Forest {
    /// The slices below each: pairs of the one above, [`NONE`] if the trace has no steps, and of the slice, in order.
    edges: Vec<(u32, u32)>,
    /// The time of each slice with all below it, in nanoseconds: on devices, if there are any, else the self times of the
    /// host.
    pub time: Vec<i64>,
    pub roles: Vec<Role>,
    /// True if times are those of devices.
    pub has_devices: bool,
    /// Slices that belong to no step.
    pub n_outside: u64,
}

impl Forest {
    /// The trees of all steps.
    pub(super) fn of(trace: &Trace, nesting: &Nesting, steps: &Steps, roles: &Roles) -> Self {
        let mut planting = Planting {
            trace,
            nesting,
            steps,
            roles,
            above: vec![None; trace.slices.len()],
            nearest: vec![NONE; trace.slices.len()],
        };
        planting.plant_modules();
        if roles.has_devices {
            planting.plant_kernels();
        }
        let time = if roles.has_devices { planting.device_times() } else { planting.host_times() };
        let above = planting.above;
        let is_planted = |slice: usize| match roles.roles[slice] {
            Role::Kernel => true,
            // A module that has nothing on a device takes no time there.
            Role::Module => !roles.has_devices || time[slice] > 0,
            _ => false,
        };
        let planted = (0..above.len()).filter(|&slice| is_planted(slice));
        let mut edges: Vec<(u32, u32)> = planted.filter_map(|slice| Some((above[slice]?, slice as u32))).collect();
        edges.sort_by_key(|&(above, slice)| (above, trace.slices.start[slice as usize], slice));
        let counts = |role: &Role| *role == if roles.has_devices { Role::Kernel } else { Role::Module };
        let outside = roles.roles.iter().zip(&above).filter(|(role, above)| counts(role) && above.is_none());
        let n_outside = outside.count() as u64;
        Self { edges, time, roles: roles.roles.clone(), has_devices: roles.has_devices, n_outside }
    }

    /// The slices directly below one.
    pub(super) fn below(&self, above: u32) -> impl ExactSizeIterator<Item = u32> + '_ {
        let from = self.edges.partition_point(|edge| edge.0 < above);
        let n = self.edges[from..].partition_point(|edge| edge.0 == above);
        self.edges[from..from + n].iter().map(|edge| edge.1)
    }

    /// The time of a slice that is not that of any below it. Of devices there is none.
    pub(super) fn self_time(&self, slice: u32) -> i64 {
        if self.has_devices {
            return 0;
        }
        let below = self.below(slice).fold(0, |sum: i64, slice| sum.saturating_add(self.time[slice as usize]));
        self.time[slice as usize].saturating_sub(below).max(0)
    }

    /// Returns true if there is nothing in a phase.
    pub(super) fn is_empty(&self, phase: &ProfilePhase, steps: &Steps) -> bool {
        let is_bare = |step: u32| self.below(step).len() == 0 && (step == NONE || self.self_time(step) == 0);
        phase.slices(steps).into_iter().all(is_bare)
    }
}

/// Finds for each slice the one that it stands below.
struct Planting<'a> {
    trace: &'a Trace,
    nesting: &'a Nesting,
    steps: &'a Steps,
    roles: &'a Roles,
    above: Vec<Option<u32>>,
    /// The nearest module of a step, or step, from each slice outwards; [`NONE`] if there is none.
    nearest: Vec<u32>,
}

impl Planting<'_> {
    /// The outer ones come before the inner ones, which stand below them only if they stand below a step themselves.
    fn plant_modules(&mut self) {
        for (track, it) in self.trace.tracks.iter() {
            for &slice in self.nesting.of_track(track) {
                let role = self.roles.roles[slice as usize];
                let around = self.module_from(self.roles.parent(slice));
                if role == Role::Module {
                    self.above[slice as usize] = around.or_else(|| self.step_around(slice, it.process));
                }
                let is_planted = role == Role::Module && self.above[slice as usize].is_some();
                self.nearest[slice as usize] =
                    if role == Role::Step || is_planted { slice } else { around.unwrap_or(NONE) };
            }
        }
    }

    /// The step in which a slice begins. What is around steps is in none of them.
    fn step_around(&self, slice: u32, process: ProcessId) -> Option<u32> {
        let slices = &self.trace.slices;
        let end = slices.end(slice as usize);
        let is_around = |step: &u32| *step != NONE && slices.end(*step as usize) < end;
        self.step_at(slices.start[slice as usize], Some(process)).filter(|step| !is_around(step))
    }

    /// A kernel stands below what launched it.
    fn plant_kernels(&mut self) {
        let launches = launches(self.trace, self.nesting, self.roles);
        for (slice, launch) in launches.into_iter().enumerate() {
            if self.roles.roles[slice] != Role::Kernel {
                continue;
            }
            self.above[slice] = match launch {
                Some(launch) => {
                    let host = innermost_at(self.trace, self.nesting, self.roles, launch.track, launch.time);
                    let process = self.trace.tracks.get(launch.track).process;
                    host.and_then(|host| self.module_from(host)).or_else(|| self.step_at(launch.time, Some(process)))
                }
                None => {
                    let process = self.trace.tracks.get(self.trace.slices.track[slice]).process;
                    let around = self.module_from(self.roles.parent(slice as u32));
                    around.or_else(|| self.step_at(self.trace.slices.start[slice], Some(process)))
                }
            };
        }
    }

    /// The nearest module of a step, or step, from a slice outwards.
    fn module_from(&self, slice: u32) -> Option<u32> {
        self.nearest.get(slice as usize).copied().filter(|&nearest| nearest != NONE)
    }

    fn step_at(&self, time: i64, process: Option<ProcessId>) -> Option<u32> {
        if self.steps.is_whole() {
            return Some(NONE);
        }
        self.steps.at(time, process).map(|step: &Step| step.slice)
    }

    /// The times of kernels, summed along what they stand below.
    fn device_times(&self) -> Vec<i64> {
        let mut times = vec![0; self.above.len()];
        for slice in (0..self.above.len()).filter(|&slice| self.roles.roles[slice] == Role::Kernel) {
            let duration = self.trace.slices.duration[slice];
            times[slice] = duration;
            self.add_above(slice, duration, &mut times);
        }
        self.sum_modules(&mut times);
        times
    }

    /// The self times of the host, summed in the same way, so that what overlaps in part does not count twice.
    fn host_times(&self) -> Vec<i64> {
        let mut times = vec![0; self.above.len()];
        for slice in 0..self.above.len() {
            if let Some(module) = self.module_from(slice as u32) {
                let sum = &mut times[module as usize];
                *sum = i64::saturating_add(*sum, self.nesting.self_time[slice]);
            }
        }
        self.sum_modules(&mut times);
        times
    }

    /// Adds the time of each module to what it stands below, from the inside out.
    fn sum_modules(&self, times: &mut [i64]) {
        for (track, _) in self.trace.tracks.iter() {
            for &slice in self.nesting.of_track(track).iter().rev() {
                if self.roles.roles[slice as usize] == Role::Module {
                    self.add_above(slice as usize, times[slice as usize], times);
                }
            }
        }
    }

    fn add_above(&self, slice: usize, nanos: i64, times: &mut [i64]) {
        if let Some(above) = self.above[slice].filter(|&above| above != NONE) {
            let sum = &mut times[above as usize];
            *sum = sum.saturating_add(nanos);
        }
    }
}
