//! Step and phase of each slice.

use super::device;
use super::find::find;
use super::lookup::StepLookup;
use crate::figures::labels::Labels;
use crate::figures::layer_search::NONE;
use ferrum_trace_model::Trace;

/// Step and phase of each slice of a trace.
#[derive(Clone, Debug)]
pub struct StepLabels {
    /// The number of the step, counted from 1 by start, as [`Steps::steps`](super::Steps::steps) are.
    pub numbers: Labels,
    /// The phase of the step.
    pub phases: Labels,
}

/// Finds the step of each slice: of a kernel or a copy the step that launched it, of any other slice the step in which
/// it begins, on its track if that has steps, else in its process if that has any, else anywhere. [`STEP_ARGS`] must be
/// loaded.
///
/// [`STEP_ARGS`]: super::STEP_ARGS
pub fn step_labels(trace: &Trace) -> StepLabels {
    let found = find(trace);
    let lookup = StepLookup::of(trace, found.steps.iter().map(|step| step.slice));
    let (slices, on_device) = (&trace.slices, device::works_of(trace));
    let on_host = |slice: usize| lookup.step_at(trace, slices.track[slice], slices.start[slice]);
    let mut step_of: Vec<Option<u32>> =
        (0..slices.len()).map(|slice| if on_device[slice].is_some() { None } else { on_host(slice) }).collect();
    for work in device::attribute(trace, &found).works {
        step_of[work.slice as usize] = Some(work.step);
    }
    let phase = |step: &Option<u32>| found.steps.get((*step)? as usize)?.mark.phase;
    StepLabels {
        phases: Labels::of_phases(step_of.iter().map(phase).collect()),
        numbers: Labels::of_numbers(step_of.into_iter().map(|step| step.map_or(NONE, |step| step + 1)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::STEP_ARGS;
    use ferrum_trace_format::chrome::read::{LoadOptions, load};

    /// Step and phase of each slice, in file order.
    fn labels(events: &[&str]) -> Vec<String> {
        let options = LoadOptions { args: STEP_ARGS.map(str::to_owned).to_vec(), ..LoadOptions::default() };
        let trace = load(format!("[{}]", events.join(",")).as_bytes(), &options).unwrap().trace;
        let StepLabels { numbers, phases } = step_labels(&trace);
        let text =
            |labels: &Labels, slice| labels.of_slice(&trace, slice).map_or("-".into(), |label| label.text(&trace));
        (0..trace.slices.len()).map(|slice| format!("{} {}", text(&numbers, slice), text(&phases, slice))).collect()
    }

    #[test]
    fn slices_belong_to_the_step_in_which_they_begin() {
        let found = labels(&[
            r#"{"ph":"X","cat":"step","name":"decode","ts":10,"dur":10,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"op","name":"before","ts":5,"dur":1,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"op","name":"inside","ts":12,"dur":1,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"op","name":"other thread","ts":13,"dur":1,"pid":1,"tid":2}"#,
            r#"{"ph":"X","cat":"step","name":"warm up","ts":0,"dur":2,"pid":1,"tid":1}"#,
        ]);
        assert_eq!(found, ["2 decode", "- -", "2 decode", "2 decode", "1 -"]);
    }

    #[test]
    fn kernels_belong_to_the_step_that_launched_them() {
        let found = labels(&[
            r#"{"ph":"X","cat":"step","name":"prefill","ts":0,"dur":10,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":1,"dur":1,"pid":1,"tid":1,"args":{"correlation":7}}"#,
            r#"{"ph":"X","cat":"step","name":"decode","ts":10,"dur":10,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"kernel","name":"gemm","ts":12,"dur":3,"pid":0,"tid":7,"args":{"correlation":7}}"#,
        ]);
        assert_eq!(found, ["1 prefill", "1 prefill", "2 decode", "1 prefill"]);
    }
}
