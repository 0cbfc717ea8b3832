//! The text of `check`.

use crate::input::source::Source;
use crate::render::style::{ERROR, NOTE, TITLE};
use crate::render::table::{self, Column, Table, clean};
use crate::render::units::{count, number};
use ferrum_trace_analyze::check::{Finding, Report, Severity, Viewer};
use std::fmt::Write as _;

/// Number of places in the line of a finding.
const OFFSETS_SHOWN: usize = 2;

/// Returns a line for each finding, or a paragraph if `is_verbose`.
pub(crate) fn text(source: &Source, report: &Report, is_verbose: bool) -> String {
    let (n_errors, n_all) = (report.errors().count(), report.findings.len());
    let kinds = match (n_errors, n_all - n_errors) {
        (0, 0) => "no problems found".to_owned(),
        (0, n_notes) => count(n_notes as u64, "note"),
        (n_errors, 0) => count(n_errors as u64, "error"),
        (n_errors, n_notes) => format!("{}, {}", count(n_errors as u64, "error"), count(n_notes as u64, "note")),
    };
    let name = clean(&source.label);
    let mut text = format!("{TITLE}{name}{TITLE:#}: {}: {kinds}\n", count(report.n_events, "event"));
    if n_all == 0 {
        return text;
    }
    if is_verbose {
        report.findings.iter().for_each(|finding| push_in_full(&mut text, finding));
    } else {
        text.push_str(&lines(&report.findings));
    }
    let mut affected =
        Viewer::ALL.into_iter().filter(|&viewer| report.findings.iter().any(|it| it.rule.viewers.contains(viewer)));
    if let Some(first) = affected.next() {
        let _ = write!(text, "viewers: {} {}", first.letter(), first.name());
        affected.for_each(|viewer| text.push_str(&format!(", {} {}", viewer.letter(), viewer.name())));
        text.push('\n');
    }
    text
}

fn lines(findings: &[Finding]) -> String {
    let mut table = Table::new(vec![
        Column::text("severity"),
        Column::text("code"),
        Column::number("count"),
        Column::text("viewers"),
        Column::text("first bytes").importance(0),
        Column::text("repair").importance(1),
    ]);
    for finding in findings {
        let rule = finding.rule;
        let mut offsets: Vec<String> =
            finding.first.iter().take(OFFSETS_SHOWN).map(|place| place.offset.to_string()).collect();
        if finding.n > OFFSETS_SHOWN as u64 {
            offsets.push("…".to_owned());
        }
        let cells = [rule.severity.to_string(), rule.code.to_owned(), number(finding.n), rule.viewers.to_string()];
        table.push([cells.to_vec(), vec![offsets.join(", "), rule.repair.to_owned()]].concat());
    }
    table.render(table::width())
}

fn push_in_full(text: &mut String, finding: &Finding) {
    let rule = finding.rule;
    let style = if rule.severity == Severity::Error { ERROR } else { NOTE };
    let (severity, code, n) = (rule.severity, rule.code, count(finding.n, "time"));
    let _ = writeln!(text, "{style}{severity}{style:#} {TITLE}{code}{TITLE:#}, {n}: {}", rule.what);
    if !rule.harm.is_empty() {
        let _ = writeln!(text, "  viewers: {} ({})", rule.harm, rule.viewers);
    }
    if !rule.repair.is_empty() {
        let _ = writeln!(text, "  repair:  {}", rule.repair);
    }
    for place in &finding.first {
        let _ = writeln!(text, "  byte {}: {}", place.offset, clean(&place.excerpt));
    }
}
