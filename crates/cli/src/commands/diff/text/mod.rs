//! The report of `diff` for people, as text and as Markdown.

mod causes;
mod metrics;
mod words;

pub(crate) use causes::{causes_table, name as cause_name, signed, summary as causes_summary};
pub(crate) use metrics::metrics_table;
pub(crate) use words::{calls, change_in_percent, figure, headline, interval_or_range, verdict};

use super::report::DiffReport;
use crate::render::markdown;
use crate::render::style::{DAMAGE, TITLE};
use crate::render::table::{self, Table, clean};

/// Part of a report.
enum Part {
    /// A sentence that sums up the result.
    Headline(String),
    /// Remarks, one line each.
    Notes(Vec<String>),
    /// Lines of text.
    Lines(Vec<String>),
    /// A table with a title.
    Table(&'static str, Table),
}

/// Returns the report as text.
pub(crate) fn text(report: &DiffReport) -> String {
    let render = |part: Part| match part {
        Part::Headline(line) => format!("{TITLE}{}{TITLE:#}\n", clean(&line)),
        Part::Notes(lines) => lines.iter().map(|line| format!("{DAMAGE}note:{DAMAGE:#} {}\n", clean(line))).collect(),
        Part::Lines(lines) => lines.iter().map(|line| format!("{}\n", clean(line))).collect(),
        Part::Table(title, table) => format!("{title}\n{}", table.render(table::width())),
    };
    parts(report).into_iter().map(render).collect::<Vec<_>>().join("\n")
}

/// Returns the report as Markdown.
pub(crate) fn markdown(report: &DiffReport) -> String {
    let list =
        |lines: &[String]| lines.iter().map(|line| format!("- {}\n", markdown::escape(line))).collect::<String>();
    let render = |part: Part| match part {
        Part::Headline(line) => format!("### {}\n", markdown::escape(&line)),
        Part::Notes(lines) => lines.iter().map(|line| format!("> **Note:** {}\n>\n", markdown::escape(line))).collect(),
        Part::Lines(lines) => list(&lines),
        Part::Table(title, table) => format!("**{}**\n\n{}", markdown::escape(title), markdown::table(&table)),
    };
    parts(report).into_iter().map(render).collect::<Vec<_>>().join("\n")
}

fn parts(report: &DiffReport) -> Vec<Part> {
    let comparison = &report.comparison;
    let mut parts = vec![Part::Headline(words::headline(comparison)), Part::Lines(words::sides(report))];
    let concerns: Vec<String> = comparison.concerns.iter().map(|concern| concern.text.clone()).collect();
    parts.extend((!concerns.is_empty()).then_some(Part::Notes(concerns)));
    parts.push(Part::Table("Metrics", metrics_table(&comparison.metrics, report.level)));
    let details = metrics::shown_details(report);
    if !details.is_empty() {
        let title = "Step time by phase and batch (explains; not corrected for the number of rows)";
        parts.push(Part::Table(title, metrics::details_table(&details, report.level)));
    }
    if let Some(attribution) = &comparison.attribution {
        parts.push(Part::Lines(causes::summary(attribution)));
        if !attribution.causes.is_empty() {
            parts.push(Part::Table("Causes", causes_table(attribution, report.top)));
        }
    }
    let names = words::names(report);
    parts.extend((!names.is_empty()).then_some(Part::Lines(names)));
    parts
}
