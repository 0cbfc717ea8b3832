//! Utilization of a device by steps and phases.

use super::calls::Call;
use super::devices::DeviceSpec;
use super::operations::Operations;
use crate::steps::{Step, Work};
use ferrum_trace_model::vocab::Phase;
use hashbrown::HashSet;
use std::collections::BTreeMap;

/// Work of some steps, and the time that it takes. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilization {
    /// Time of the results of the steps, multiplied by the number of devices that work for them.
    pub time: i64,
    /// FLOP of modelled operations.
    pub flop: u128,
    /// Bytes of modelled operations, without collectives and copies from and to the host.
    pub bytes: u128,
    /// Seconds that the FLOP take at the peak rates of their types; `None` without a device or a rate.
    pub compute_seconds: Option<f64>,
    /// Seconds that the bytes take at the bandwidth of the memory; `None` without a device.
    pub memory_seconds: Option<f64>,
}

impl Utilization {
    /// Returns the model FLOP utilization: time at peak rates by time. Above 1, the model or the table is wrong.
    pub fn mfu(&self) -> Option<f64> {
        self.share(self.compute_seconds)
    }

    /// Returns the model bandwidth utilization: time at peak bandwidth by time. Above 1, the model or the table is
    /// wrong.
    pub fn mbu(&self) -> Option<f64> {
        self.share(self.memory_seconds)
    }

    fn share(&self, seconds: Option<f64>) -> Option<f64> {
        (self.time > 0).then_some(seconds? / (self.time as f64 / 1e9))
    }

    /// Adds a call.
    fn add_call(&mut self, operations: &Operations, device: Option<&DeviceSpec>, call: &Call) {
        let Some(model) = operations.models.get(call.model as usize) else { return };
        let modelled = &model.modelled;
        let roof = device.map(|device| device.time(modelled.kind, modelled.data_type, modelled.work));
        self.flop += u128::from(modelled.work.flop);
        self.compute_seconds = add(self.compute_seconds, roof.and_then(|roof| roof.compute));
        if modelled.kind.uses_memory() {
            self.bytes += u128::from(modelled.work.bytes.unwrap_or(0));
            self.memory_seconds = add(self.memory_seconds, roof.and_then(|roof| roof.transfer));
        }
    }

    /// Adds the work and time of other steps.
    fn add(&mut self, other: &Self) {
        self.time = self.time.saturating_add(other.time);
        self.flop += other.flop;
        self.bytes += other.bytes;
        self.compute_seconds = add(self.compute_seconds, other.compute_seconds);
        self.memory_seconds = add(self.memory_seconds, other.memory_seconds);
    }
}

fn add(sum: Option<f64>, more: Option<f64>) -> Option<f64> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(sum + more),
        (sum, more) => sum.or(more),
    }
}

/// Utilization by one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepUtilization {
    /// Number of the step, from 1.
    pub number: u32,
    /// Its phase.
    pub phase: Option<Phase>,
    /// Its work and time.
    pub utilization: Utilization,
}

/// Utilization by the steps of one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseUtilization {
    /// The phase; `None` for steps without one.
    pub phase: Option<Phase>,
    /// Number of steps.
    pub n_steps: u64,
    /// Their work and time.
    pub utilization: Utilization,
}

/// Returns the utilization by each complete step. `step_of` returns the index of the step of a call.
pub(super) fn of_steps(
    steps: &[Step],
    works: &[Work],
    operations: &Operations,
    device: Option<&DeviceSpec>,
    calls: impl Iterator<Item = (usize, Call)>,
) -> Vec<StepUtilization> {
    let n_devices = n_devices(steps.len(), works);
    let mut all: Vec<StepUtilization> = steps
        .iter()
        .zip(1..)
        .zip(n_devices)
        .map(|((step, number), n_devices)| {
            let time = step.result_time.saturating_mul(n_devices.max(1));
            let utilization = Utilization { time, ..Utilization::default() };
            StepUtilization { number, phase: step.mark.phase, utilization }
        })
        .collect();
    for (step, call) in calls {
        if let Some(step) = all.get_mut(step) {
            step.utilization.add_call(operations, device, &call);
        }
    }
    let is_complete =
        |step: &StepUtilization| steps.get(step.number as usize - 1).is_some_and(|step| !step.is_incomplete);
    all.retain(is_complete);
    all
}

/// Returns the number of devices that work for each step.
fn n_devices(n_steps: usize, works: &[Work]) -> Vec<i64> {
    let pairs: HashSet<_> = works.iter().map(|work| (work.step, work.device)).collect();
    let mut counts = vec![0; n_steps];
    for (step, _) in pairs {
        if let Some(count) = counts.get_mut(step as usize) {
            *count += 1;
        }
    }
    counts
}

/// Returns the utilization by each phase.
pub(super) fn of_phases(steps: &[StepUtilization]) -> Vec<PhaseUtilization> {
    let mut phases: BTreeMap<Option<Phase>, PhaseUtilization> = BTreeMap::new();
    for step in steps {
        let phase = phases.entry(step.phase).or_default();
        phase.phase = step.phase;
        phase.n_steps += 1;
        phase.utilization.add(&step.utilization);
    }
    phases.into_values().collect()
}

/// Returns the utilization by a whole trace.
pub(super) fn of_trace(
    time: i64,
    operations: &Operations,
    device: Option<&DeviceSpec>,
    calls: impl Iterator<Item = Call>,
) -> Utilization {
    let mut all = Utilization { time, ..Utilization::default() };
    calls.for_each(|call| all.add_call(operations, device, &call));
    all
}
