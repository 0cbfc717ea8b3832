//! Tables of steps.

use super::super::report::StepsReport;
use super::names::phase_name;
use crate::flags::By;
use crate::render::table::{Column, Table};
use crate::render::units::{number, percent, rate, share, time_in_column};
use ferrum_trace_analyze::{BatchRange, Split, StepGroup, StepKeyValue, Steps};
use ferrum_trace_model::Trace;

/// Returns a row for each group.
pub(crate) fn groups(report: &StepsReport) -> Table {
    let mut columns: Vec<Column> = report.by.iter().map(|by| key_column(by, by.name())).collect();
    // On a narrow terminal, the least important column is hidden first.
    columns.extend([
        Column::number("steps"),
        Column::number("total").importance(3),
        Column::number("mean").importance(4),
        Column::number("p50"),
        Column::number("p95").importance(6),
        Column::number("p99").importance(7),
        Column::number("max").importance(2),
        Column::number("prompt/s").importance(5),
        Column::number("gen/s").importance(8),
        Column::number("covered %").importance(9),
        Column::number("device %").importance(1),
    ]);
    let mut table = Table::new(columns);
    for (key, group) in keyed(report) {
        table.push(key.into_iter().chain(group_row(group)).collect());
    }
    table
}

fn key_column(by: &By, title: impl Into<String>) -> Column {
    if *by == By::Batch { Column::number(title) } else { Column::text(title) }
}

/// Returns the groups with the cells of their keys, and all steps as the last of several groups.
fn keyed(report: &StepsReport) -> impl Iterator<Item = (Vec<String>, &StepGroup)> {
    let trace = &report.loaded.trace;
    let groups = report.groups.iter().map(|group| {
        let cells = group.key.iter().zip(&report.by).map(|(value, by)| key_text(trace, *value, by));
        (cells.collect(), &group.group)
    });
    let all = (report.groups.len() > 1).then(|| {
        let cells = (0..report.by.len()).map(|place| if place == 0 { "all" } else { "-" }.to_owned());
        (cells.collect(), &report.steps.all)
    });
    groups.chain(all)
}

fn key_text(trace: &Trace, value: StepKeyValue, by: &By) -> String {
    match value {
        StepKeyValue::Phase(phase) => phase_name(phase).to_owned(),
        StepKeyValue::Batch(batch) => batch.map_or("-".to_owned(), batches),
        StepKeyValue::Label(label) => label.map_or_else(|| by.none(), |label| label.text(trace)),
    }
}

/// Returns a range of batch sizes.
fn batches(batch: BatchRange) -> String {
    match (batch.from, batch.to) {
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from}-{to}"),
    }
}

/// Returns the mean times of host, device, both and neither, which add up to the mean duration.
pub(crate) fn split(report: &StepsReport) -> Table {
    let mut columns: Vec<Column> = report.by.iter().map(|by| key_column(by, by.name())).collect();
    if let (Some(first), Some(by)) = (columns.first_mut(), report.by.first()) {
        *first = key_column(by, "who works");
    }
    columns.extend(["steps", "mean", "host", "device", "both", "neither"].map(Column::number));
    let mut table = Table::new(columns);
    for (mut cells, group) in keyed(report) {
        let Split { host, device, both, neither } = group.split;
        cells.push(number(group.count));
        let mean = |total: i64| time_in_column((total as f64 / group.count.max(1) as f64).round() as i64);
        cells.extend([group.total, host, device, both, neither].map(mean));
        table.push(cells);
    }
    table
}

fn group_row(group: &StepGroup) -> Vec<String> {
    let rates = group.tokens_per_second();
    let rate = |tokens: u64, per_second: Option<f64>| match per_second {
        Some(per_second) if tokens > 0 => rate(per_second),
        _ => "-".to_owned(),
    };
    vec![
        number(group.count),
        time_in_column(group.total),
        time_in_column(group.mean().round() as i64),
        time_in_column(group.durations.p50),
        time_in_column(group.durations.p95),
        time_in_column(group.durations.p99),
        time_in_column(group.durations.max),
        rate(group.prefill_tokens, rates.map(|(prefill, _)| prefill)),
        rate(group.decode_tokens, rates.map(|(_, decode)| decode)),
        percent(group.coverage()),
        share(group.device.busy, group.device.span),
    ]
}

/// Returns a row for each step.
pub(crate) fn each(trace: &Trace, steps: &Steps) -> Table {
    let has_devices = steps.attribution.is_some();
    let mut columns = vec![
        Column::number("step"),
        Column::text("phase"),
        Column::number("at"),
        Column::number("batch"),
        Column::number("prompt").importance(3),
        Column::number("gen").importance(4),
        Column::number("context").importance(1),
        Column::number("duration"),
        Column::number("in no span"),
        Column::number("covered %").importance(6),
    ];
    if has_devices {
        columns.extend(["host", "device", "both", "neither"].map(|title| Column::number(title).importance(7)));
    } else {
        columns.push(Column::number("device").importance(2));
    }
    columns.push(Column::number("device %").importance(5));
    let mut table = Table::new(columns);
    let spelled = |size: Option<u64>| size.map_or("-".to_owned(), number);
    for (place, step) in steps.steps.iter().enumerate() {
        let at = step.start.saturating_sub(trace.census.first.unwrap_or(step.start));
        let mut cells = vec![
            (place + 1).to_string(),
            phase_name(step.mark.phase).to_owned(),
            time_in_column(at),
            spelled(step.mark.batch),
            spelled(step.mark.prefill_tokens),
            spelled(step.mark.decode_tokens),
            spelled(step.mark.context_tokens),
            time_in_column(step.duration),
            time_in_column(step.unexplained),
            share(step.mark_duration.saturating_sub(step.unexplained), step.mark_duration),
        ];
        let Split { host, device, both, neither } = step.split;
        if has_devices {
            cells.extend([host, device, both, neither].map(time_in_column));
        } else {
            cells.push(time_in_column(step.device.busy));
        }
        cells.push(share(step.device.busy, step.device.span));
        table.push(cells);
    }
    table
}
