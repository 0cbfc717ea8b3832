//! Tables of metrics.

use super::words::{change_in_percent, figure, interval_or_range, verdict};
use crate::commands::diff::report::DiffReport;
use crate::render::table::{Column, Table};
use ferrum_trace_analyze::compare::MetricComparison;

/// Number of rows by batch that are listed without `--verbose`.
const DETAILS: usize = 12;

/// Returns a row per headline metric.
pub(crate) fn metrics_table(metrics: &[MetricComparison], level: f64) -> Table {
    table(metrics.iter(), level, true)
}

/// Returns a row per phase and batch.
pub(super) fn details_table(details: &[&MetricComparison], level: f64) -> Table {
    table(details.iter().copied(), level, false)
}

/// Returns the details to list: all if there are few or with `--verbose`.
pub(super) fn shown_details(report: &DiffReport) -> Vec<&MetricComparison> {
    let n_max = if report.verbose { usize::MAX } else { DETAILS };
    report.comparison.details.iter().take(n_max).collect()
}

/// Returns a p value with four digits. It is never zero.
fn probability(p_value: f64) -> String {
    if p_value < 0.0001 { "<0.0001".to_owned() } else { format!("{p_value:.4}") }
}

fn table<'a>(metrics: impl Iterator<Item = &'a MetricComparison>, level: f64, is_adjusted: bool) -> Table {
    let mut table = Table::new(vec![
        Column::text("metric"),
        Column::number("base"),
        Column::number("new"),
        Column::number("change"),
        Column::number(format!("{:.0} % interval", 100.0 * level)).importance(3),
        Column::number("p").importance(1),
        Column::text("verdict"),
    ]);
    for metric in metrics {
        let p_value = if is_adjusted { metric.p_adjusted } else { metric.p_value };
        table.push(vec![
            metric.name.clone(),
            figure(metric.base, metric.unit),
            figure(metric.new, metric.unit),
            change_in_percent(metric.ratio),
            interval_or_range(metric),
            p_value.map_or_else(|| "-".to_owned(), probability),
            verdict(&metric.verdict),
        ]);
    }
    table
}
