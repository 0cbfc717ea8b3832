//! Result of a conversion: counts of events that were written or left out.

use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_model::Recordings;
use ferrum_trace_model::vocab::Phase;

/// Result of a conversion.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Events that were read.
    pub n_events: u64,
    /// Slices that were written, including those without an end.
    pub n_slices: u64,
    /// Instants that were written.
    pub n_instants: u64,
    /// Values of counters that were written.
    pub n_counter_values: u64,
    /// Points of flows that were written.
    pub n_flow_points: u64,
    /// Slices that overlap others of their thread and were moved to an extra lane.
    pub n_moved: u64,
    /// Nanoseconds that were added to all times, to avoid negative ones.
    pub shift_ns: i64,
    /// True if the output needs steps and none was found, so that the whole trace counts as one.
    pub has_no_steps: bool,
    /// Phase without steps, which an empty phase replaces because readers need both phases.
    pub missing_phase: Option<Phase>,
    /// True if the output needs the length of prompts and the trace does not have it.
    pub has_unknown_prompts: bool,
    /// True if the output needs the number of devices and the trace does not have it.
    pub has_unknown_devices: bool,
    /// Events that were left out or changed.
    pub left: Left,
    /// Losses of the reader.
    pub losses: Losses,
    /// Metadata that the recorder wrote about the recordings.
    pub recordings: Recordings,
}

/// Counts of events that the output cannot represent.
#[derive(Clone, Debug)]
pub struct Left {
    /// Events that are not in the output at all, by the letter of their phase; events without a phase are at index
    /// zero.
    pub phases: [u64; 128],
    /// Begins without an end.
    pub unclosed: u64,
    /// Ends without a begin.
    pub unopened: u64,
    /// Points of flows without a slice around them, or without a begin before them.
    pub unbound_flow_points: u64,
    /// Values of counters that are not numbers.
    pub odd_counter_values: u64,
    /// Fields of the object around the events that were too long to keep.
    pub fields: u64,
    /// Device slices without a known launch: a call at their own begin was added for them.
    pub unlaunched: u64,
    /// Slices that belong to no step, if the output consists of steps.
    pub outside_steps: u64,
    /// Slices whose time was added to the slice around them, since there are too many different stacks.
    pub cut_stacks: u64,
    /// Slices that are too deep in their stack: one frame replaces all of them.
    pub deep_frames: u64,
}

impl Default for Left {
    fn default() -> Self {
        Self {
            phases: [0; 128],
            unclosed: 0,
            unopened: 0,
            unbound_flow_points: 0,
            odd_counter_values: 0,
            fields: 0,
            unlaunched: 0,
            outside_steps: 0,
            cut_stacks: 0,
            deep_frames: 0,
        }
    }
}

/// Describes the losses of the recorder, for formats that have room for a line of text.
pub(super) fn lost_text(recordings: &Recordings) -> Option<String> {
    let counts =
        [(recordings.dropped, "events lost"), (recordings.overwritten_chunks, "chunks of the ring overwritten")];
    let lost: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    (!lost.is_empty()).then(|| lost.join(", "))
}
