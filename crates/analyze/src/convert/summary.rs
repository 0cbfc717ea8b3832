//! Result of a conversion: counts of what was written and what was left out.

use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_model::Recordings;
use ferrum_trace_model::vocab::Phase;

/// What became of a trace.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Events that were read.
    pub n_events: u64,
    /// Slices that were written, those that never end among them.
    pub n_slices: u64,
    /// Points in time that were written.
    pub n_instants: u64,
    /// Values of counters that were written.
    pub n_counter_values: u64,
    /// Points of arrows that were written.
    pub n_flow_points: u64,
    /// Slices that overlap with others of their thread and got a row of their own.
    pub n_moved: u64,
    /// How much later than in the input everything is, in nanoseconds: where times are negative and must not be.
    pub shift_ns: i64,
    /// True if steps are what is written and no step was found, so that the whole trace stands for one.
    pub has_no_steps: bool,
    /// The phase that has no steps and that a phase without time stands in for, where readers need one of each.
    pub missing_phase: Option<Phase>,
    /// True if the length of prompts is written and the trace does not tell it.
    pub has_unknown_prompts: bool,
    /// True if the number of devices is written and the trace does not tell it.
    pub has_unknown_devices: bool,
    /// What was not written, or not as it was.
    pub left: Left,
    /// What could not be read.
    pub losses: Losses,
    /// Facts that the recorder states about the recordings in it.
    pub recordings: Recordings,
}

/// What has no place in the output.
#[derive(Clone, Debug)]
pub struct Left {
    /// Events that are not in the output at all, by the letter of their phase; those without one are at zero.
    pub phases: [u64; 128],
    /// Begins that nothing closes.
    pub unclosed: u64,
    /// Ends that close nothing.
    pub unopened: u64,
    /// Points of arrows with no slice around them, or no begin before them.
    pub unbound_flow_points: u64,
    /// Values of counters that are no numbers.
    pub odd_counter_values: u64,
    /// Fields of the object around the events that there was no room for.
    pub fields: u64,
    /// Slices of devices of which the trace does not say what launched them: they have a call at their own begin.
    pub unlaunched: u64,
    /// Slices that belong to no step, where steps are what is written.
    pub outside_steps: u64,
    /// Slices whose time counts for the slice around them, since there are too many different stacks.
    pub cut_stacks: u64,
    /// Slices that are deeper in their stack than is written: one frame stands for all of them.
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

/// Returns what the recorder lost, for formats that have room for a line of text.
pub(super) fn lost_text(recordings: &Recordings) -> Option<String> {
    let counts =
        [(recordings.dropped, "events lost"), (recordings.overwritten_chunks, "chunks of the ring overwritten")];
    let lost: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    (!lost.is_empty()).then(|| lost.join(", "))
}
