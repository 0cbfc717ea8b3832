//! The text of `summary`.

use super::report::SummaryReport;
use super::{asyncs, overview};
use crate::flags::By;
use crate::input::source::Source;
use crate::render::style::REST;
use crate::render::table::{self, Column, Table};
use crate::render::units::{count, number, percent, time, time_in_column};
use ferrum_trace_analyze::{Row, Summary};

/// Returns the overview and the tables of slices and async operations.
pub(crate) fn text(source: &Source, report: &SummaryReport, by: &[By]) -> String {
    let mut text = overview::text(source, report);
    match (report.summary.rows.is_empty(), report.async_summary.rows.is_empty()) {
        (true, true) if report.loaded.trace.slices.is_empty() && report.n_async_ops == 0 => {
            text.push_str("\nno slices\n")
        }
        (true, true) => text.push_str("\nno slice or async operation matches the flags\n"),
        (true, false) => {}
        (false, _) => text.push_str(&slices_text(report, by)),
    }
    if !report.async_summary.rows.is_empty() {
        text.push_str(&asyncs::text(report, by));
    }
    text
}

/// Returns the table of slices, and a line about the rows that are left out.
fn slices_text(report: &SummaryReport, by: &[By]) -> String {
    let mut text = format!("\n{}", table(report, by).render(table::width()));
    let rest = report.summary.rest;
    if rest.n_rows > 0 {
        let (rows, slices) = (number(rest.n_rows as u64), count(rest.count, "slice"));
        let (total, self_time) = (time(rest.total), time(rest.self_time));
        text.push_str(&format!("{REST}… {rows} more: {slices}, total {total}, self {self_time}{REST:#}\n"));
    }
    text
}

fn table(report: &SummaryReport, by: &[By]) -> Table {
    let mut columns: Vec<Column> = by.iter().map(|by| Column::text(by.name())).collect();
    // On a narrow terminal, the least important column is hidden first.
    columns.extend([
        Column::number("count").importance(6),
        Column::number("total"),
        Column::number("self"),
        Column::number("% wall").importance(5),
        Column::number("mean").importance(3),
        Column::number("p50").importance(2),
        Column::number("p95").importance(1),
        Column::number("p99").importance(0),
        Column::number("max").importance(4),
    ]);
    let mut table = Table::new(columns);
    for row in &report.summary.rows {
        let mut cells = report.key_texts(&report.summary.labels, &row.key, by);
        cells.extend(figures(&report.summary, row));
        table.push(cells);
    }
    table
}

fn figures(summary: &Summary, row: &Row) -> [String; 9] {
    let durations = &row.durations;
    [
        number(row.count),
        time_in_column(row.total),
        time_in_column(row.self_time),
        percent(summary.share_of_wall(row.self_time)),
        time_in_column(row.mean().round() as i64),
        time_in_column(durations.p50),
        time_in_column(durations.p95),
        time_in_column(durations.p99),
        time_in_column(durations.max),
    ]
}
