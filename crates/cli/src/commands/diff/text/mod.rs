//! The report of `diff` for people, as text and as Markdown.

mod causes;
mod metrics;
mod words;

pub(crate) use causes::{causes_table, name as cause_name, signed, summary as causes_summary};
pub(crate) use metrics::metrics_table;
pub(crate) use words::{calls, change_in_percent, figure, headline, interval_or_range, verdict};

use super::report::DiffReport;
use crate::render::parts::{Part, to_markdown, to_text};

/// Returns the report as text.
pub(crate) fn text(report: &DiffReport) -> String {
    to_text(&parts(report))
}

/// Returns the report as Markdown.
pub(crate) fn markdown(report: &DiffReport) -> String {
    to_markdown(&parts(report))
}

fn parts(report: &DiffReport) -> Vec<Part> {
    let comparison = &report.comparison;
    let mut parts = vec![Part::Headline(words::headline(comparison)), Part::Lines(words::sides(report))];
    let concerns: Vec<String> = comparison.concerns.iter().map(|concern| concern.text.clone()).collect();
    parts.push(Part::Notes(concerns));
    parts.push(Part::Table("Metrics".to_owned(), metrics_table(&comparison.metrics, report.level)));
    let details = metrics::shown_details(report);
    if !details.is_empty() {
        let title = "Step time by phase and batch (explains; not corrected for the number of rows)";
        parts.push(Part::Table(title.to_owned(), metrics::details_table(&details, report.level)));
    }
    if let Some(attribution) = &comparison.attribution {
        parts.push(Part::Lines(causes::summary(attribution)));
        if !attribution.causes.is_empty() {
            parts.push(Part::Table("Causes".to_owned(), causes_table(attribution, report.top)));
        }
    }
    parts.push(Part::Lines(words::names(report)));
    parts
}
