//! Names of phases, slices and places in lines and tables.

use crate::render::table::{self, clean, shorten};
use ferrum_trace_analyze::GapPlace;
use ferrum_trace_model::vocab::Phase;
use ferrum_trace_model::{StringId, Trace};

/// Largest number of characters of a name in a line.
const NAME_CHARS: usize = 60;

/// Returns the name of a phase, or `step` if there is none.
pub(crate) fn phase_name(phase: Option<Phase>) -> &'static str {
    phase.map_or("step", Phase::as_str)
}

/// Returns the position of a gap in a whole, such as "the step".
pub(crate) fn place(trace: &Trace, place: GapPlace, whole: &str) -> String {
    match (place.after, place.before) {
        (None, None) => format!("all of {whole}"),
        (None, Some(before)) => format!("at the start of {whole}, before {}", quoted(trace, before)),
        (Some(after), None) => format!("at the end of {whole}, after {}", quoted(trace, after)),
        (Some(after), Some(before)) => format!("between {} and {}", quoted(trace, after), quoted(trace, before)),
    }
}

/// Returns the name of a slice in backticks, shortened.
pub(crate) fn quoted(trace: &Trace, name: StringId) -> String {
    format!("`{}`", shorten(&clean(trace.strings.get(name)), table::name_width(NAME_CHARS)))
}
