//! The table of layers in steps.

use crate::render::table::{Column, Table};
use crate::render::units::{number, share, time_in_column};
use ferrum_trace_analyze::{LayerTime, Steps};

/// Returns the time of steps by layer: self time of spans, and time on devices if there are any.
pub(crate) fn text(steps: &Steps, width: usize) -> String {
    let has_devices = steps.attribution.is_some();
    let sum = |of: fn(&LayerTime) -> i64| steps.layer_times.iter().map(of).fold(0, i64::saturating_add);
    let (on_host, on_device) = (sum(|time| time.total), sum(|time| time.device_total));
    let mut columns = ["layer", "count", "self time of spans", "% of it", "a step"].map(Column::number).to_vec();
    if has_devices {
        columns.extend(["kernels", "on devices", "% of it", "a step"].map(Column::number));
    }
    let mut table = Table::new(columns);
    let a_step = |total: i64| time_in_column((total as f64 / steps.steps.len().max(1) as f64).round() as i64);
    let cells =
        |count: u64, total: i64, whole: i64| [number(count), time_in_column(total), share(total, whole), a_step(total)];
    for time in &steps.layer_times {
        let mut row = vec![time.layer.map_or("none".to_owned(), |layer| layer.to_string())];
        row.extend(cells(time.count, time.total, on_host));
        if has_devices {
            row.extend(cells(time.n_on_device, time.device_total, on_device));
        }
        table.push(row);
    }
    format!("\n{}", table.render(width))
}
