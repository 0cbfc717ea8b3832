//! Text about the changes of a repaired trace.

use super::table::clean;
use super::units::{count, number, time};
use ferrum_trace_analyze::check::Finding;
use ferrum_trace_analyze::repair::Changes;
use std::fmt::Write as _;

/// Appends a line for each kind of change, and the first places of each if `is_verbose`.
pub(crate) fn push_changes(text: &mut String, changes: &Changes, is_verbose: bool) {
    let width = changes.repaired.iter().map(|finding| finding.rule.code.len()).max().unwrap_or(0);
    for finding in &changes.repaired {
        let (code, n, repair) = (finding.rule.code, number(finding.n), finding.rule.repair);
        let _ = writeln!(text, "  {code:<width$}  {n:>7}  {repair}{}", left_out(changes, finding));
        for place in finding.first.iter().filter(|_| is_verbose) {
            let _ = writeln!(text, "      byte {}: {}", place.offset, clean(&place.excerpt));
        }
    }
    if changes.shift != 0 {
        let _ = writeln!(text, "  {} subtracted from all times", time(changes.shift));
    }
    for (n, what) in [
        (changes.n_fields_lost, "field of the object around the events, dropped"),
        (changes.n_args_lost, "end without its arguments"),
    ] {
        if n > 0 {
            let _ = writeln!(text, "  {} × {what}", number(n));
        }
    }
}

fn left_out(changes: &Changes, finding: &Finding) -> String {
    let same = changes.left_out.iter().find(|it| it.rule.code == finding.rule.code);
    same.map_or_else(String::new, |it| format!(" ({} left out)", count(it.n, "event")))
}
