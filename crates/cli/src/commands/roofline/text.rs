//! The tables of `roofline`.

use super::json::bound_name;
use super::report::RooflineReport;
use crate::input::source::Source;
use crate::render::style::{DAMAGE, TITLE};
use crate::render::table::{self, Column, Table, clean};
use crate::render::units::{number, percent, rate, share, time, time_in_column};
use ferrum_trace_analyze::{DataType, DeviceSpec, RooflineRow, Utilization};

/// The convention of FLOP, MFU and MBU.
pub(crate) const CONVENTION: &str = "a multiplication and an addition are two FLOP, causal attention counts half, each tensor is moved once; MFU and MBU: time at dense peak rates by time of the step's result";

/// Shown where a value is above a peak, which is a finding and not a fact.
const ABOVE: &str = ">100";

/// Returns all tables.
pub(crate) fn text(source: &Source, report: &RooflineReport, top: usize, shows_inner: bool) -> String {
    let width = table::width();
    let mut text = format!("{TITLE}{}{TITLE:#}: {}\n", clean(&source.label), description(report));
    text.push_str(&format!("{CONVENTION}\n\n"));
    text.push_str(&rows(report, top, shows_inner).render(width));
    if !report.roofline.phases.is_empty() {
        text.push_str(&format!("\n{TITLE}steps{TITLE:#}\n{}", phases(report).render(width)));
    }
    if !report.roofline.unmodelled.is_empty() {
        text.push_str(&format!("\n{TITLE}not modelled{TITLE:#}\n{}", unmodelled(report, top).render(width)));
    }
    for finding in &report.findings {
        text.push_str(&format!("\n{DAMAGE}finding:{DAMAGE:#} {finding}\n"));
    }
    text
}

fn description(report: &RooflineReport) -> String {
    let roofline = &report.roofline;
    let total = roofline.modelled_time.saturating_add(roofline.unmodelled_time);
    let on = if roofline.is_on_device { "device" } else { "host" };
    let modelled = share(roofline.modelled_time, total);
    let device = report.device.as_ref().map_or_else(|| "unknown device".to_owned(), peaks);
    format!("{} of operations on the {on}, {modelled} % modelled; {device}", time(total))
}

/// Returns the name of a device and its main peaks.
fn peaks(device: &DeviceSpec) -> String {
    let matrix = device.matrix.iter().find(|(it, _)| *it == DataType::Bf16).or_else(|| device.matrix.first());
    let matrix = matrix.map(|(it, peak)| format!(", {} TFLOP/s {}", rate(peak / 1e12), it.name()));
    let memory = device.memory.map(|peak| format!(", {} GB/s", rate(peak / 1e9)));
    format!("{}{}{}", clean(&device.name), matrix.unwrap_or_default(), memory.unwrap_or_default())
}

/// Returns a row for each operation and shape.
pub(crate) fn rows(report: &RooflineReport, top: usize, shows_inner: bool) -> Table {
    let mut table = Table::new(vec![
        Column::text("operation"),
        Column::text("shape"),
        Column::text("type").importance(2),
        Column::number("count"),
        Column::number("time"),
        Column::number("%"),
        Column::number("mean").importance(5),
        Column::number("GFLOP").importance(3),
        Column::number("MB").importance(4),
        Column::number("TFLOP/s"),
        Column::number("GB/s"),
        Column::number("% of roof"),
        Column::text("bound by").importance(6),
    ]);
    let roofline = &report.roofline;
    let total = roofline.modelled_time.saturating_add(roofline.unmodelled_time);
    let is_shown = |row: &&RooflineRow| shows_inner || row.n_inside < row.count;
    for row in roofline.rows.iter().filter(is_shown).take(top) {
        table.push(cells(row, total));
    }
    table
}

fn cells(row: &RooflineRow, total: i64) -> Vec<String> {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let of_roof = match row.share() {
        Some((share, _)) if share > 1.0 => Some(ABOVE.to_owned()),
        share => share.map(|(share, _)| percent(share)),
    };
    vec![
        row.name.clone(),
        row.shape.clone(),
        or_dash(row.data_type.map(|it| it.name().to_owned())),
        number(row.count),
        time_in_column(row.time),
        share(row.time, total),
        time_in_column((row.mean_seconds() * 1e9).round() as i64),
        rate(row.work.flop as f64 / 1e9),
        or_dash(row.work.bytes.map(|bytes| rate(bytes as f64 / 1e6))),
        or_dash(row.flop_rate().map(|it| rate(it / 1e12))),
        or_dash(row.byte_rate().map(|it| rate(it / 1e9))),
        or_dash(of_roof),
        or_dash(row.bound().map(|bound| bound_name(bound).to_owned())),
    ]
}

fn phases(report: &RooflineReport) -> Table {
    let mut table = Table::new(vec![
        Column::text("phase"),
        Column::number("steps"),
        Column::number("time"),
        Column::number("TFLOP"),
        Column::number("GB"),
        Column::number("MFU %"),
        Column::number("MBU %"),
    ]);
    for phase in &report.roofline.phases {
        let name = phase.phase.map_or("-", |phase| phase.as_str());
        table.push(utilization(name, Some(phase.n_steps), &phase.utilization));
    }
    table.push(utilization("trace", None, &report.roofline.whole));
    table
}

fn utilization(name: &str, n_steps: Option<u64>, utilization: &Utilization) -> Vec<String> {
    let cell = |share: Option<f64>| match share {
        Some(share) if share > 1.0 => ABOVE.to_owned(),
        Some(share) => format!("{:.2}", 100.0 * share),
        None => "-".to_owned(),
    };
    vec![
        name.to_owned(),
        n_steps.map_or_else(|| "-".to_owned(), number),
        time_in_column(utilization.time),
        rate(utilization.flop as f64 / 1e12),
        rate(utilization.bytes as f64 / 1e9),
        cell(utilization.mfu()),
        cell(utilization.mbu()),
    ]
}

fn unmodelled(report: &RooflineReport, top: usize) -> Table {
    let mut table = Table::new(vec![
        Column::number("count"),
        Column::number("time"),
        Column::number("%"),
        Column::text("reason"),
        Column::text("name"),
    ]);
    let roofline = &report.roofline;
    let total = roofline.modelled_time.saturating_add(roofline.unmodelled_time);
    for row in roofline.unmodelled.iter().take(top) {
        let reason = row.missing.describe().to_owned();
        table.push(vec![number(row.count), time_in_column(row.time), share(row.time, total), reason, row.name.clone()]);
    }
    table
}
