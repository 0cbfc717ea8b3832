//! Roofline: FLOP, bytes and rates of operations, as shares of the peaks of a device.
//!
//! `work/` has the formulas; `torch/` and `own.rs` read shapes from the arguments of torch's profiler and of this
//! recorder. `operations.rs` models the slices of a trace, `calls.rs` measures them by the device work that they
//! launch, `rows.rs` and `steps.rs` sum them. `devices/` has the peaks of devices. `docs/roofline.md` has the
//! conventions.

mod calls;
mod devices;
mod missing;
mod modelled;
mod operations;
mod own;
mod rows;
mod step_sums;
mod steps;
mod surroundings;
mod torch;
mod work;

pub use devices::{BUILT_IN_DEVICES, DeviceSpec, DeviceTable, DeviceTableError, Roof, RoofTime};
pub use missing::Missing;
pub use rows::{BOUND_SHARE_MIN, RooflineBound, RooflineRow, UnmodelledRow};
pub use steps::{PhaseUtilization, StepUtilization, Utilization};
pub use work::{DataType, OpKind, OpWork, Unit};

use crate::captures::ReplayedOperations;
use crate::launches::device_work::works_of;
use crate::steps::{Measured, STEP_ARGS, StepLabels, StepsOptions, step_labels};
use crate::structure::nesting::Nesting;
use crate::structure::select::Selected;
use calls::{Call, Calls};
use ferrum_trace_model::Trace;
use operations::Operations;
use step_sums::StepSums;

/// Returns the arguments that [`roofline`] needs. They must be loaded with the trace.
pub fn roofline_args() -> Vec<String> {
    STEP_ARGS.into_iter().chain(operations::args()).map(str::to_owned).collect()
}

/// Options of [`roofline`].
#[derive(Clone, Debug, Default)]
pub struct RooflineOptions {
    /// The device, if known.
    pub device: Option<DeviceSpec>,
    /// Number of ranks of the run, if known.
    pub ranks: Option<u64>,
    /// True if the file lists a device, see [`names_device`](crate::names_device).
    pub names_device: bool,
    /// Operations of replayed graphs, of [`transfer_operations`](crate::transfer_operations).
    pub replayed: ReplayedOperations,
}

/// Roofline of a trace. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roofline {
    /// True if times are those of device work, false if those of the host.
    pub is_on_device: bool,
    /// Operations by shape, the one with the most time first.
    pub rows: Vec<RooflineRow>,
    /// Time without a model, the most first.
    pub unmodelled: Vec<UnmodelledRow>,
    /// Sum of the times of modelled operations, without those inside others.
    pub modelled_time: i64,
    /// Sum of the times without a model.
    pub unmodelled_time: i64,
    /// Utilization by each complete step.
    pub steps: Vec<StepUtilization>,
    /// Utilization by the steps of each phase.
    pub phases: Vec<PhaseUtilization>,
    /// Utilization by all operations of the trace, in steps or not, over the span of the trace.
    pub whole: Utilization,
}

/// Computes the roofline of a trace. The arguments of [`roofline_args`] must be loaded.
pub fn roofline(trace: &Trace, nesting: &Nesting, options: &RooflineOptions) -> Roofline {
    let steps_options = StepsOptions { names_device: options.names_device, ..StepsOptions::default() };
    let Measured { steps, works, .. } = Measured::of(trace, nesting, &Selected::all(trace), &steps_options);
    let StepLabels { numbers, .. } = step_labels(trace);
    let mark = |slice: u32| trace.strings.get(trace.slices.name[slice as usize]);
    let sums: Vec<Option<StepSums>> = steps.iter().map(|step| StepSums::of_name(mark(step.slice))).collect();
    let operations = Operations::of(trace, &options.replayed, &numbers, &sums, options.ranks);
    let on_device = works_of(trace);
    let Calls { calls, unknown } = Calls::of(trace, nesting, &operations, &options.replayed, &on_device);
    let device = options.device.as_ref();
    let outermost = || calls.iter().filter(|call| call.is_outermost).copied();
    let in_steps =
        outermost().filter_map(|call: Call| Some((numbers.number(call.first_work)?.checked_sub(1)? as usize, call)));
    let by_step = steps::of_steps(&steps, &works, &operations, device, in_steps);
    let sum = |times: &mut dyn Iterator<Item = i64>| times.fold(0_i64, i64::saturating_add);
    Roofline {
        is_on_device: on_device.iter().any(Option::is_some),
        rows: rows::rows(trace, &operations, &calls, device),
        unmodelled: rows::unmodelled(trace, &unknown),
        modelled_time: sum(&mut outermost().map(|call| call.time)),
        unmodelled_time: sum(&mut unknown.iter().map(|it| it.time)),
        phases: steps::of_phases(&by_step),
        steps: by_step,
        whole: steps::of_trace(trace.census.span(), &operations, device, outermost()),
    }
}

#[cfg(test)]
mod tests;
