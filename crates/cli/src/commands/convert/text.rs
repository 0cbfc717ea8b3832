//! The text of `convert`.

use super::report::Converted;
use crate::input::source::Source;
use crate::output::target::Target;
use crate::render::changes::push_changes;
use crate::render::table::clean;
use crate::render::units::{count, number, time};
use ferrum_trace_analyze::convert::{Left, Summary};
use std::fmt::Write as _;

/// Returns what was written, and a line for each kind of data that was left out or changed.
pub(crate) fn text(source: &Source, target: &Target, converted: &Converted, is_verbose: bool) -> String {
    let (name, output) = (clean(&source.label), target.label());
    match converted {
        Converted::Chrome(changes) => {
            let (read, written) = (count(changes.n_read, "event"), number(changes.n_written));
            let mut text = format!("{name}: {read} read, {written} written to {output}");
            text.push_str(if changes.is_empty() { "\n" } else { "; repaired:\n" });
            push_changes(&mut text, changes, is_verbose);
            text
        }
        Converted::Other(summary) => {
            let written = [
                (summary.n_slices, "slice"),
                (summary.n_instants, "instant"),
                (summary.n_counter_values, "counter value"),
                (summary.n_flow_points, "flow point"),
            ];
            let written = written.into_iter().filter(|(n, _)| *n > 0).map(|(n, thing)| count(n, thing));
            let written: Vec<String> = written.collect();
            let written = if written.is_empty() { "nothing".to_owned() } else { written.join(", ") };
            let mut text =
                format!("{name}: {} read; {written} written to {output}\n", count(summary.n_events, "event"));
            push_left(&mut text, summary);
            text
        }
    }
}

/// Appends a line for each kind of data that is not in the output, or not as it was.
fn push_left(text: &mut String, summary: &Summary) {
    let Left {
        phases,
        unclosed,
        unopened,
        unbound_flow_points,
        odd_counter_values,
        fields,
        unlaunched,
        outside_steps,
        cut_stacks,
        deep_frames,
    } = &summary.left;
    let counts = [
        (summary.n_moved, "slice", "moved to a new row, because of overlaps with others of the thread"),
        (*unclosed, "begin", "without an end"),
        (*unopened, "end", "without a begin"),
        (*unbound_flow_points, "flow point", "dropped, without a slice or a begin"),
        (*odd_counter_values, "counter value", "dropped, not a number"),
        (*unlaunched, "slice", "of devices with an invented launch, because the trace does not say what launched them"),
        (*fields, "field", "around the events dropped because they are too long"),
        (*outside_steps, "slice", "dropped, outside of steps"),
        (*cut_stacks, "slice", "counted for the slice around it, because there are too many different stacks"),
        (*deep_frames, "slice", "counted as `(deeper frames)`: a stack has at most 512 frames"),
    ];
    for (n, thing, what) in counts.into_iter().filter(|(n, ..)| *n > 0) {
        let _ = writeln!(text, "  {} {what}", count(n, thing));
    }
    if summary.shift_ns != 0 {
        let _ = writeln!(text, "  all times are {} later than in the input", time(summary.shift_ns));
    }
    let left: Vec<String> = phase_counts(phases).map(|(phase, n)| format!("{} {phase}", number(n))).collect();
    if !left.is_empty() {
        let _ = writeln!(text, "  events of phases that the format cannot represent: {}", left.join(", "));
    }
}

/// Returns the counts that are not zero, by the letter of the phase.
pub(crate) fn phase_counts(phases: &[u64; 128]) -> impl Iterator<Item = (String, u64)> + '_ {
    let spelled = |phase: usize| match u8::try_from(phase) {
        Ok(0) | Err(_) => "without a phase".to_owned(),
        Ok(letter) => char::from(letter).escape_default().to_string(),
    };
    phases.iter().enumerate().filter(|(_, n)| **n > 0).map(move |(phase, &n)| (spelled(phase), n))
}
