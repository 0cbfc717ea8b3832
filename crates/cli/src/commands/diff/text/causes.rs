//! The change of the mean step and its causes.

use super::words::{calls, change_in_percent};
use crate::render::table::{Column, Table};
use crate::render::units::{number, time};
use ferrum_trace_analyze::compare::{Attribution, Cause};
use ferrum_trace_analyze::runs::{Place, Unit};

/// Returns the lines that split the change of the mean.
pub(crate) fn summary(attribution: &Attribution) -> Vec<String> {
    let (base, new) = attribution.mean_ns;
    let unit = match attribution.unit {
        Unit::Step => "mean step",
        Unit::Trace => "busy time of a trace (it has no steps)",
    };
    let ratio = change_in_percent(Some(new as f64 / base.max(1) as f64));
    let typical = attribution.change_ns.saturating_sub(attribution.mix_ns).saturating_sub(attribution.outliers_ns);
    let mut lines =
        vec![format!("{unit}: {} to {}, {} ({ratio})", time(base), time(new), signed(attribution.change_ns))];
    if attribution.unit == Unit::Step {
        let (outliers_base, outliers_new) = attribution.n_outliers;
        lines.push(format!(
            "  {} from the operations below, {} from outlier steps ({} and {}), {} from the batch mix",
            signed(typical),
            signed(attribution.outliers_ns),
            number(outliers_base),
            number(outliers_new),
            signed(attribution.mix_ns)
        ));
    }
    lines
}

/// Returns a row for each of the largest causes, and one for the rest.
pub(crate) fn causes_table(attribution: &Attribution, top: usize) -> Table {
    let share = match attribution.unit {
        Unit::Step => "% of step",
        Unit::Trace => "% of busy",
    };
    let mut table = Table::new(vec![
        Column::number("change"),
        Column::number(share).importance(6),
        Column::text("place").importance(5),
        Column::text("category").importance(4),
        Column::text("name"),
        Column::text("layer").importance(7),
        Column::number("base"),
        Column::number("new"),
        Column::text("calls").importance(3),
        Column::number("more calls").importance(1),
        Column::number("longer calls").importance(2),
    ]);
    let base = attribution.common_mean_ns.0;
    for cause in attribution.causes.iter().take(top) {
        table.push(row(cause, base));
    }
    let rest = attribution.causes.get(top..).unwrap_or_default();
    if !rest.is_empty() {
        table.push(rest_row(rest, base));
    }
    table
}

fn row(cause: &Cause, base: i64) -> Vec<String> {
    let (before, after) = (calls(cause.calls.0), calls(cause.calls.1));
    let has_calls = !matches!(cause.place, Place::Gap | Place::Waiting | Place::Rest);
    vec![
        signed(cause.change_ns),
        of_step(cause.change_ns, base),
        cause.place.name().to_owned(),
        cause.category.clone(),
        name(cause),
        cause.layer.map_or_else(|| "-".to_owned(), |layer| layer.to_string()),
        time(cause.time_ns.0),
        time(cause.time_ns.1),
        match has_calls {
            true if before == after => before,
            true => format!("{before} to {after}"),
            false => "-".to_owned(),
        },
        if has_calls { signed(cause.calls_ns) } else { "-".to_owned() },
        if has_calls { signed(cause.longer_ns) } else { "-".to_owned() },
    ]
}

/// Returns the name of a cause.
pub(crate) fn name(cause: &Cause) -> String {
    match cause.place {
        Place::Gap => "(in no span)".to_owned(),
        Place::Waiting => "(waiting for the device)".to_owned(),
        Place::Rest => "(operations that the baseline does not list)".to_owned(),
        Place::Host | Place::Device => cause.name.clone(),
    }
}

fn rest_row(rest: &[Cause], base: i64) -> Vec<String> {
    let sum = |value: fn(&Cause) -> i64| rest.iter().map(value).fold(0, i64::saturating_add);
    let change = sum(|cause| cause.change_ns);
    vec![
        signed(change),
        of_step(change, base),
        String::new(),
        String::new(),
        format!("… {} more", number(rest.len() as u64)),
        String::new(),
        time(sum(|cause| cause.time_ns.0)),
        time(sum(|cause| cause.time_ns.1)),
        String::new(),
        signed(sum(|cause| cause.calls_ns)),
        signed(sum(|cause| cause.longer_ns)),
    ]
}

/// Returns a change of time with its sign.
pub(crate) fn signed(ns: i64) -> String {
    if ns > 0 { format!("+{}", time(ns)) } else { time(ns) }
}

fn of_step(change: i64, base: i64) -> String {
    if base == 0 { "-".to_owned() } else { format!("{:+.2}", 100.0 * change as f64 / base as f64) }
}
