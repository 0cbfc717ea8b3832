//! The text of a comparison.

use super::report::EnginesReport;
use super::tables::{PhaseTable, phases};
use super::wording::{concern, engine};
use crate::render::style::{DAMAGE, TITLE, key_value};
use crate::render::table::{self, clean, shorten};
use crate::render::units::{count, number, time};
use ferrum_trace_analyze::{Side, UnnamedTime};
use std::fmt::Write as _;

/// Number of names without a class that are shown.
const NAMES_SHOWN: usize = 5;
/// Largest number of characters of a name.
const NAME_CHARS: usize = 80;

/// Returns the engines, the concerns, and a table for each phase.
pub(super) fn text(report: &EnginesReport, is_verbose: bool) -> String {
    let mut text = String::new();
    for side in Side::ALL {
        let of_side = report.sides.get(side);
        text.push_str(&key_value(side.as_str(), &format!("{}: {}", clean(&of_side.label), engine(of_side))));
    }
    for it in &report.comparison.concerns {
        let _ = writeln!(text, "{DAMAGE}care{DAMAGE:#}      {}", concern(report, it));
    }
    for phase in phases(report) {
        push_phase(&mut text, &phase, is_verbose);
    }
    text
}

fn push_phase(text: &mut String, phase: &PhaseTable<'_>, is_verbose: bool) {
    let _ = writeln!(text, "\n{TITLE}{}{TITLE:#}", phase.title);
    text.push_str(&phase.table.render(table::width()));
    for side in Side::ALL {
        push_unnamed(text, side, phase.unnamed.get(side), is_verbose);
    }
}

fn push_unnamed(text: &mut String, side: Side, unnamed: &[UnnamedTime], is_verbose: bool) {
    if unnamed.is_empty() {
        return;
    }
    let n_shown = if is_verbose { unnamed.len() } else { NAMES_SHOWN };
    let _ = writeln!(text, "unnamed in {}, in total", side.as_str());
    for name in unnamed.iter().take(n_shown) {
        let shown = shorten(&clean(&name.name), table::name_width(NAME_CHARS));
        let _ = writeln!(text, "  {} `{shown}`, {}", time(name.total), number(name.count));
    }
    let rest = unnamed.get(n_shown..).unwrap_or_default();
    if !rest.is_empty() {
        let total = rest.iter().fold(0_i64, |sum, name| sum.saturating_add(name.total));
        let _ = writeln!(text, "  {} {} more (-v shows them)", time(total), count(rest.len() as u64, "name"));
    }
}
