//! The table of async operations in `summary`.

use super::report::SummaryReport;
use crate::flags::By;
use crate::render::style::{REST, TITLE};
use crate::render::table::{self, Column, Table};
use crate::render::units::{count, number, time, time_in_column};
use ferrum_trace_analyze::AsyncRow;

/// Returns a title, the table, and a line about the rows that are left out.
pub(crate) fn text(report: &SummaryReport, by: &[By]) -> String {
    let table = table(report, by).render(table::width());
    let mut text = format!("\n{TITLE}async operations{TITLE:#}\n{table}");
    let rest = report.async_summary.rest;
    if rest.n_rows > 0 {
        let (rows, operations) = (number(rest.n_rows as u64), count(rest.count, "operation"));
        text.push_str(&format!("{REST}… {rows} more: {operations}, total {}{REST:#}\n", time(rest.total)));
    }
    text
}

fn table(report: &SummaryReport, by: &[By]) -> Table {
    let rows = &report.async_summary.rows;
    let has_unfinished = rows.iter().any(|row| row.n_unfinished > 0);
    let has_busy = rows.iter().any(|row| row.busy.is_some());
    let mut columns: Vec<Column> = by.iter().map(|by| Column::text(by.name())).collect();
    columns.push(Column::number("count").importance(8));
    columns.extend(has_unfinished.then(|| Column::number("unfinished").importance(7)));
    columns.push(Column::number("total"));
    columns.extend(
        has_busy
            .then(|| [Column::number("busy").importance(6), Column::number("idle").importance(5)])
            .into_iter()
            .flatten(),
    );
    columns.extend([
        Column::number("mean").importance(3),
        Column::number("p50").importance(4),
        Column::number("p95").importance(0),
        Column::number("p99").importance(2),
        Column::number("max").importance(1),
    ]);
    let mut table = Table::new(columns);
    for row in rows {
        let mut cells = report.key_texts(&report.async_summary.labels, &row.key, by);
        cells.extend(figures(row, has_unfinished, has_busy));
        table.push(cells);
    }
    table
}

fn figures(row: &AsyncRow, has_unfinished: bool, has_busy: bool) -> Vec<String> {
    let known = |time: Option<i64>| time.map_or("-".to_owned(), time_in_column);
    let finished = |time: i64| known(row.has_durations().then_some(time));
    let mut cells = vec![number(row.count)];
    cells.extend(has_unfinished.then(|| number(row.n_unfinished)));
    cells.push(finished(row.total));
    if has_busy {
        cells.extend([known(row.busy.map(|it| it.busy)), known(row.busy.map(|it| it.idle))]);
    }
    let durations = &row.durations;
    let mean = row.mean().round() as i64;
    cells.extend([mean, durations.p50, durations.p95, durations.p99, durations.max].map(finished));
    cells
}
