//! The Markdown of a comparison.

use super::report::EnginesReport;
use super::tables::phases;
use super::wording::{concern, engine};
use crate::render::markdown::{escape, table};
use ferrum_trace_analyze::Side;
use std::fmt::Write as _;

/// Returns the engines, the concerns, and a table for each phase.
pub(super) fn markdown(report: &EnginesReport) -> String {
    let mut text = String::from("### Comparison of two engines\n\n");
    for side in Side::ALL {
        let of_side = report.sides.get(side);
        let _ = writeln!(text, "- **{}**: {}: {}", side.as_str(), escape(&of_side.label), escape(&engine(of_side)));
    }
    for it in &report.comparison.concerns {
        let _ = writeln!(text, "- **care**: {}", escape(&concern(report, it)));
    }
    for phase in phases(report) {
        let _ = write!(text, "\n#### {}\n\n{}", escape(&phase.title), table(&phase.table));
    }
    text
}
