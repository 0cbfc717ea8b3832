//! Tables of steps.

use super::names::phase_name;
use crate::render::table::{Column, Table};
use crate::render::units::{number, percent, rate, share, time_in_column};
use ferrum_trace_analyze::{Split, StepGroup, Steps};
use ferrum_trace_model::Trace;

/// Returns a row for each phase and batch size.
pub(crate) fn groups(steps: &Steps) -> Table {
    // On a narrow terminal, the least important column is hidden first.
    let mut table = Table::new(vec![
        Column::text("phase"),
        Column::number("batch"),
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
    for group in &steps.groups {
        table.push(group_row(phase_name(group.phase), group));
    }
    if steps.groups.len() > 1 {
        table.push(group_row("all", &steps.all));
    }
    table
}

/// Returns the range of batch sizes of a group.
fn batches(group: &StepGroup) -> String {
    group.batch.map_or("-".to_owned(), |batch| match (batch.from, batch.to) {
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from}-{to}"),
    })
}

/// Returns the mean times of host, device, both and neither, which add up to the mean duration.
pub(crate) fn split(steps: &Steps) -> Table {
    let titles = ["steps", "mean", "host", "device", "both", "neither"];
    let mut columns = vec![Column::text("who works"), Column::number("batch")];
    columns.extend(titles.map(Column::number));
    let mut table = Table::new(columns);
    let row = |label: &str, group: &StepGroup| {
        let Split { host, device, both, neither } = group.split;
        let mut cells = vec![label.to_owned(), batches(group), number(group.count)];
        let mean = |total: i64| time_in_column((total as f64 / group.count.max(1) as f64).round() as i64);
        cells.extend([group.total, host, device, both, neither].map(mean));
        cells
    };
    for group in &steps.groups {
        table.push(row(phase_name(group.phase), group));
    }
    if steps.groups.len() > 1 {
        table.push(row("all", &steps.all));
    }
    table
}

fn group_row(label: &str, group: &StepGroup) -> Vec<String> {
    let rates = group.tokens_per_second();
    let rate = |tokens: u64, per_second: Option<f64>| match per_second {
        Some(per_second) if tokens > 0 => rate(per_second),
        _ => "-".to_owned(),
    };
    vec![
        label.to_owned(),
        batches(group),
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
