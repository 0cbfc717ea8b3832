//! Explains slow steps.

use super::names::{phase_name, place, quoted};
use super::ops::op_name;
use crate::render::style::TITLE;
use crate::render::units::{number, time};
use ferrum_trace_analyze::{Difference, DifferenceSubject, SlowStep, Step, Steps};
use ferrum_trace_model::Trace;
use std::fmt::Write as _;

/// Number of differences that are shown, on the host and on devices.
const HOST: usize = 5;
const DEVICE: usize = 3;

/// Returns the differences between a slow step and the median step of its kind.
pub(crate) fn text(trace: &Trace, steps: &Steps, slow: &SlowStep) -> String {
    let (Some(here), Some(median)) = (steps.steps.get(slow.step), steps.steps.get(slow.median)) else {
        return String::new();
    };
    let factor = here.duration as f64 / median.duration.max(1) as f64;
    let mut text = format!(
        "{TITLE}{}{TITLE:#}: {}, {factor:.2} times the median of its kind, {}\n",
        described(trace, slow.step, here),
        time(here.duration),
        time(median.duration)
    );
    if let Some(sizes) = sizes(here, median) {
        let _ = writeln!(text, "  {sizes}");
    }
    for difference in slow.host.iter().take(HOST).chain(slow.device.iter().take(DEVICE)) {
        let _ = writeln!(text, "  {}", difference_line(trace, difference));
    }
    if let Some((at, length)) = slow.gap {
        let _ = writeln!(text, "  longest time in no span: {} {}", time(length), place(trace, at, "the step"));
    }
    text
}

/// Returns the number, phase, batch size and start of a step.
fn described(trace: &Trace, place: usize, step: &Step) -> String {
    let batch = step.mark.batch.map_or_else(String::new, |batch| format!(", batch {batch}"));
    let at = step.start.saturating_sub(trace.census.first.unwrap_or(step.start));
    format!("step {} ({}{batch}) at {}", place + 1, phase_name(step.mark.phase), time(at))
}

/// Returns the differences in batch size and tokens.
fn sizes(here: &Step, median: &Step) -> Option<String> {
    let sizes = |step: &Step| {
        let mark = step.mark;
        [mark.batch, mark.prefill_tokens, mark.decode_tokens, mark.context_tokens]
    };
    let names = ["sequences", "tokens of prompts", "generated tokens", "tokens of context"];
    let spelled = |size: Option<u64>| size.map_or("unknown".to_owned(), number);
    let different = sizes(here).into_iter().zip(sizes(median)).zip(names).filter(|((here, there), _)| here != there);
    let different: Vec<String> = different
        .map(|((here, there), name)| format!("{} {name} instead of {}", spelled(here), spelled(there)))
        .collect();
    (!different.is_empty()).then(|| different.join(", "))
}

fn difference_line(trace: &Trace, difference: &Difference) -> String {
    let what = match difference.what {
        DifferenceSubject::Name(name) => quoted(trace, name),
        DifferenceSubject::NoSlice => "in no span".to_owned(),
        DifferenceSubject::DeviceOnly => "only devices work".to_owned(),
        DifferenceSubject::Neither => "neither host nor device works, the step waits for a device".to_owned(),
        DifferenceSubject::DeviceOp(op) => format!("device, {}", op_name(op)),
        DifferenceSubject::DeviceIdle => "device, idle".to_owned(),
    };
    let excess = difference.excess();
    let sign = if excess > 0 { "+" } else { "" };
    let mut text =
        format!("{sign}{} {what}: {} instead of {}", time(excess), time(difference.here), time(difference.median));
    if difference.count != difference.median_count {
        let _ = write!(text, ", {} instead of {}", number(difference.count), number(difference.median_count));
    }
    text
}
