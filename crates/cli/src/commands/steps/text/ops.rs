//! The table of operations in steps.

use super::names::quoted;
use crate::render::table::{Column, Table};
use crate::render::units::{count, number, share, time, time_in_column};
use ferrum_trace_analyze::{OpTimes, Steps};
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab::Op;
use std::fmt::Write as _;

/// Number of names of unknown purpose that are shown.
const OTHERS: usize = 5;

/// Returns the time of steps by operation: on devices if there are any, else on the host.
pub(crate) fn text(trace: &Trace, steps: &Steps, width: usize) -> String {
    let (ops, title) = match &steps.attribution {
        Some(_) => (&steps.device_ops, "on devices"),
        None => (&steps.host_ops, "self time of spans"),
    };
    if ops.ops.is_empty() {
        return String::new();
    }
    let whole = ops.ops.iter().fold(0_i64, |sum, time| sum.saturating_add(time.total));
    let mut table = Table::new(vec![
        Column::text("op"),
        Column::number("count"),
        Column::number(title),
        Column::number("% of it"),
        Column::number("a step"),
    ]);
    for op in &ops.ops {
        let a_step = op.total as f64 / steps.steps.len() as f64;
        table.push(vec![
            op_name(op.op).to_owned(),
            number(op.count),
            time_in_column(op.total),
            share(op.total, whole),
            time_in_column(a_step.round() as i64),
        ]);
    }
    format!("\n{}{}", table.render(width), others(trace, ops))
}

/// Returns the name of an operation.
pub(crate) fn op_name(op: Option<Op>) -> &'static str {
    op.map_or("other", Op::as_str)
}

fn others(trace: &Trace, ops: &OpTimes) -> String {
    if ops.other.is_empty() {
        return String::new();
    }
    let mut text = String::from("other is\n");
    for name in ops.other.iter().take(OTHERS) {
        let _ = writeln!(text, "  {} {}, {}", time(name.total), quoted(trace, name.name), number(name.count));
    }
    let rest = ops.other.get(OTHERS..).unwrap_or_default();
    if !rest.is_empty() {
        let total = rest.iter().fold(0_i64, |sum, name| sum.saturating_add(name.total));
        let _ = writeln!(text, "  {} {} more", time(total), count(rest.len() as u64, "name"));
    }
    text
}
