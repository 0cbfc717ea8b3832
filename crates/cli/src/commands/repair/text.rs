//! The text of `repair`.

use crate::input::source::Source;
use crate::output::target::Target;
use crate::render::changes::push_changes;
use crate::render::table::clean;
use crate::render::units::{count, number};
use ferrum_trace_analyze::repair::Changes;

/// Returns the number of events, and a line for each kind of change.
pub(crate) fn text(source: &Source, target: &Target, changes: &Changes, is_verbose: bool) -> String {
    let (name, output) = (clean(&source.label), target.label());
    let (read, written) = (count(changes.n_read, "event"), number(changes.n_written));
    let mut text = format!("{name}: {read} read, {written} written to {output}");
    if changes.is_empty() {
        text.push_str("; no changes needed\n");
        return text;
    }
    text.push_str("; changed:\n");
    push_changes(&mut text, changes, is_verbose);
    text
}
