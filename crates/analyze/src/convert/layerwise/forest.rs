//! Trees of a profile: the parent and the time of each slice.

use super::launches::{innermost_at, launches};
use super::phases::{ProfilePhase, Step, Steps};
use super::roles::{NONE, Role, Roles};
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{ProcessId, Trace};

/// Maximum depth of a tree. Readers of JSON fail somewhere above 100 brackets, and each level has two.
pub(super) const DEPTH_MAX: usize = 48;

/// All trees.
#[derive(Debug)]
pub(super) struct Forest {
    /// Pairs of parent and child, sorted. The parent is [`NONE`] if the trace has no steps.
    edges: Vec<(u32, u32)>,
    /// Time of each slice including all below it, in nanoseconds: device time if there are devices, else self times of
    /// the host.
    pub time: Vec<i64>,
    pub roles: Vec<Role>,
    /// True if times are device times.
    pub has_devices: bool,
    /// Slices that belong to no step.
    pub n_outside: u64,
}

impl Forest {
    /// Builds the trees of all steps.
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
            // A module without device work takes no device time.
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

    /// Returns the children of a slice.
    pub(super) fn below(&self, above: u32) -> impl ExactSizeIterator<Item = u32> + '_ {
        let from = self.edges.partition_point(|edge| edge.0 < above);
        let n = self.edges[from..].partition_point(|edge| edge.0 == above);
        self.edges[from..from + n].iter().map(|edge| edge.1)
    }

    /// Returns the time of a slice that belongs to none of its children. It is zero for device times.
    pub(super) fn self_time(&self, slice: u32) -> i64 {
        if self.has_devices {
            return 0;
        }
        let below = self.below(slice).fold(0, |sum: i64, slice| sum.saturating_add(self.time[slice as usize]));
        self.time[slice as usize].saturating_sub(below).max(0)
    }

    /// Returns true if a phase is empty.
    pub(super) fn is_empty(&self, phase: &ProfilePhase, steps: &Steps) -> bool {
        let is_bare = |step: u32| self.below(step).len() == 0 && (step == NONE || self.self_time(step) == 0);
        phase.slices(steps).into_iter().all(is_bare)
    }
}

/// Finds the parent of each slice.
struct Planting<'a> {
    trace: &'a Trace,
    nesting: &'a Nesting,
    steps: &'a Steps,
    roles: &'a Roles,
    above: Vec<Option<u32>>,
    /// Nearest module or step of each slice, from the slice outwards; [`NONE`] if there is none.
    nearest: Vec<u32>,
}

impl Planting<'_> {
    /// Adds the modules. Outer ones come before inner ones, which get a parent only if they belong to a step.
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

    /// Returns the step in which a slice begins. A slice around steps is in none of them.
    fn step_around(&self, slice: u32, process: ProcessId) -> Option<u32> {
        let slices = &self.trace.slices;
        let end = slices.end(slice as usize);
        let is_around = |step: &u32| *step != NONE && slices.end(*step as usize) < end;
        self.step_at(slices.start[slice as usize], Some(process)).filter(|step| !is_around(step))
    }

    /// Adds the kernels below the modules that launched them.
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

    /// Returns the nearest module or step from a slice outwards.
    fn module_from(&self, slice: u32) -> Option<u32> {
        self.nearest.get(slice as usize).copied().filter(|&nearest| nearest != NONE)
    }

    fn step_at(&self, time: i64, process: Option<ProcessId>) -> Option<u32> {
        if self.steps.is_whole() {
            return Some(NONE);
        }
        self.steps.at(time, process).map(|step: &Step| step.slice)
    }

    /// Returns the times of kernels, summed along their parents.
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

    /// Returns the self times of the host, summed along their parents, so that partial overlaps count once.
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

    /// Adds the time of each module to its parent, from the inside out.
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
