//! The text of `steps`.

use super::table::{self, Column, Table, clean, shorten};
use super::units::{count, number, percent, rate, time, time_in_column};
use crate::cmd::steps::Stepped;
use crate::source::Source;
use anstyle::Style;
use ferrum_trace_analyze::{
    Attribution, DeviceTime, Difference, GapPlace, GapSum, OpTimes, SlowStep, Step, StepGroup, Steps, What,
};
use ferrum_trace_model::vocab::{Op, Phase};
use ferrum_trace_model::{StringId, Trace};
use std::fmt::Write as _;

const TITLE: Style = Style::new().bold();
const KEY: Style = Style::new().dimmed();
/// What of a name stands in a line.
const NAME_CHARS: usize = 60;
/// So many gaps, differences and names are shown.
const GAPS: usize = 3;
const DIFFERENCES: usize = 5;
const OTHERS: usize = 5;

/// All of it.
pub fn text(source: &Source, stepped: &Stepped, each: bool) -> String {
    let (trace, steps) = (&stepped.loaded.trace, &stepped.steps);
    let width = table::width();
    let mut text = overview(source, trace, steps);
    text.push('\n');
    text.push_str(&groups(steps).render(width));
    text.push_str(&ops(trace, steps, width));
    for slow in &steps.slowest {
        text.push('\n');
        text.push_str(&slowest(trace, steps, slow));
    }
    if each {
        text.push('\n');
        text.push_str(&all_steps(trace, steps).render(width));
    }
    text
}

fn overview(source: &Source, trace: &Trace, steps: &Steps) -> String {
    let marked: Vec<&str> = steps.sources.iter().map(|(source, _)| source.name()).collect();
    let n_steps = count(steps.steps.len() as u64, "step");
    let mut text = format!(
        "{TITLE}{}{TITLE:#}: {n_steps} on {} in {}, marked by {}\n",
        clean(&source.words),
        count(steps.n_tracks as u64, "track"),
        time(steps.wall),
        marked.join(", ")
    );
    let mut line = |key: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{KEY}{key:<9}{KEY:#} {value}");
    };
    line("tokens", tokens(steps));
    let all = &steps.all;
    let covered = percent(all.coverage());
    line("covered", format!("{covered} % of {} of steps; {} are in no span", time(all.total), time(all.unexplained)));
    for gap in steps.gaps.iter().take(GAPS) {
        line("", gap_line(trace, gap, "the step"));
    }
    if let Some(attribution) = &steps.attribution {
        line("device", device_line(&all.device));
        for gap in steps.idle_gaps.iter().take(GAPS) {
            line("", gap_line(trace, gap, "its work"));
        }
        line("kernels", attribution_line(attribution));
    }
    text
}

fn tokens(steps: &Steps) -> String {
    let all = &steps.all;
    if all.n_without_tokens == all.count {
        return "not told by the marks".to_owned();
    }
    let per_second = |tokens: u64| {
        let seconds = steps.wall as f64 / 1e9;
        if seconds > 0.0 { rate(tokens as f64 / seconds) } else { "-".to_owned() }
    };
    let (prefill, decode) = (all.prefill_tokens, all.decode_tokens);
    let mut text = format!(
        "{} of prompts, {} generated; {} and {} per second of wall time",
        number(prefill),
        number(decode),
        per_second(prefill),
        per_second(decode)
    );
    if all.n_without_tokens > 0 {
        let _ = write!(text, "; {} do not tell", count(all.n_without_tokens, "step"));
    }
    text
}

fn gap_line(trace: &Trace, gap: &GapSum, whole: &str) -> String {
    let times = if gap.count == 1 { "once".to_owned() } else { format!("{} times", number(gap.count)) };
    format!("{} {}, {times}", time(gap.total), place(trace, gap.place, whole))
}

fn place(trace: &Trace, place: GapPlace, whole: &str) -> String {
    match (place.after, place.before) {
        (None, None) => format!("all of {whole}"),
        (None, Some(before)) => format!("at the start of {whole}, before {}", quoted(trace, before)),
        (Some(after), None) => format!("at the end of {whole}, after {}", quoted(trace, after)),
        (Some(after), Some(before)) => format!("between {} and {}", quoted(trace, after), quoted(trace, before)),
    }
}

fn quoted(trace: &Trace, name: StringId) -> String {
    format!("`{}`", shorten(&clean(trace.strings.get(name)), NAME_CHARS))
}

fn device_line(device: &DeviceTime) -> String {
    let busy = share(device.busy, device.span);
    format!("busy {busy} % of {} from first to last kernel of steps; {} idle", time(device.span), time(device.idle()))
}

fn attribution_line(attribution: &Attribution) -> String {
    let Attribution { by_launch, by_flow, by_annotation, by_time, outside, outside_total } = *attribution;
    let ways = [
        (by_launch, "by their launch"),
        (by_flow, "by their flow"),
        (by_annotation, "by the device's mark of a step"),
        (by_time, "by their time"),
    ];
    let mut parts: Vec<String> =
        ways.iter().filter(|(n, _)| *n > 0).map(|(n, way)| format!("{} {way}", number(*n))).collect();
    if outside > 0 {
        parts.push(format!("{} in no step ({})", number(outside), time(outside_total)));
    }
    format!("and copies: {}", parts.join(", "))
}

fn share(part: i64, whole: i64) -> String {
    if whole == 0 { "-".to_owned() } else { percent(part as f64 / whole as f64) }
}

fn phase_name(phase: Option<Phase>) -> &'static str {
    phase.map_or("step", Phase::as_str)
}

fn groups(steps: &Steps) -> Table {
    // When there is no room, the least important goes first.
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

fn group_row(label: &str, group: &StepGroup) -> Vec<String> {
    let (prefill, decode) = group.tokens_per_second();
    let batch = group.batch.map_or("-".to_owned(), |batch| match (batch.from, batch.to) {
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from}-{to}"),
    });
    let rate = |tokens: u64, per_second: f64| if tokens == 0 { "-".to_owned() } else { rate(per_second) };
    vec![
        label.to_owned(),
        batch,
        number(group.count),
        time_in_column(group.total),
        time_in_column(group.mean().round() as i64),
        time_in_column(group.durations.p50),
        time_in_column(group.durations.p95),
        time_in_column(group.durations.p99),
        time_in_column(group.durations.max),
        rate(group.prefill_tokens, prefill),
        rate(group.decode_tokens, decode),
        percent(group.coverage()),
        share(group.device.busy, group.device.span),
    ]
}

/// What steps spend time on: devices if there are any, else the host.
fn ops(trace: &Trace, steps: &Steps, width: usize) -> String {
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

fn op_name(op: Option<Op>) -> &'static str {
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

fn slowest(trace: &Trace, steps: &Steps, slow: &SlowStep) -> String {
    let (Some(here), Some(median)) = (steps.steps.get(slow.step), steps.steps.get(slow.median)) else {
        return String::new();
    };
    let factor = here.duration as f64 / median.duration.max(1) as f64;
    let mut text = format!(
        "{TITLE}{}{TITLE:#}: {}, {factor:.2} times the median of its kind, {}\n",
        described(trace, slow.step, here),
        time(here.duration),
        time(median.duration)
    );
    if let Some(sizes) = sizes(here, median) {
        let _ = writeln!(text, "  {sizes}");
    }
    for difference in slow.host.iter().chain(&slow.device).take(DIFFERENCES + slow.device.len().min(GAPS)) {
        let _ = writeln!(text, "  {}", difference_line(trace, difference));
    }
    if let Some((at, length)) = slow.gap {
        let _ = writeln!(text, "  longest time in no span: {} {}", time(length), place(trace, at, "the step"));
    }
    text
}

/// What a step is called: its place, what it is, and when it begins.
fn described(trace: &Trace, place: usize, step: &Step) -> String {
    let batch = step.mark.batch.map_or_else(String::new, |batch| format!(", batch {batch}"));
    let at = step.start.saturating_sub(trace.census.first.unwrap_or(step.start));
    format!("step {} ({}{batch}) at {}", place + 1, phase_name(step.mark.phase), time(at))
}

/// What is different about the work that a step has to do.
fn sizes(here: &Step, median: &Step) -> Option<String> {
    let sizes = |step: &Step| {
        let mark = step.mark;
        [mark.batch, mark.prefill_tokens, mark.decode_tokens, mark.context_tokens]
    };
    let names = ["sequences", "tokens of prompts", "generated tokens", "tokens of context"];
    let spelled = |size: Option<u64>| size.map_or("unknown".to_owned(), number);
    let different = sizes(here).into_iter().zip(sizes(median)).zip(names).filter(|((here, there), _)| here != there);
    let different: Vec<String> = different
        .map(|((here, there), name)| format!("{} {name} instead of {}", spelled(here), spelled(there)))
        .collect();
    (!different.is_empty()).then(|| different.join(", "))
}

fn difference_line(trace: &Trace, difference: &Difference) -> String {
    let what = match difference.what {
        What::Name(name) => quoted(trace, name),
        What::NoSlice => "in no span".to_owned(),
        What::DeviceOp(op) => format!("device, {}", op_name(op)),
        What::DeviceIdle => "device, idle".to_owned(),
    };
    let excess = difference.excess();
    let sign = if excess > 0 { "+" } else { "" };
    let mut text =
        format!("{sign}{} {what}: {} instead of {}", time(excess), time(difference.here), time(difference.median));
    if difference.count != difference.median_count {
        let _ = write!(text, ", {} instead of {}", number(difference.count), number(difference.median_count));
    }
    text
}

fn all_steps(trace: &Trace, steps: &Steps) -> Table {
    let mut table = Table::new(vec![
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
        Column::number("device").importance(2),
        Column::number("device %").importance(5),
    ]);
    let spelled = |size: Option<u64>| size.map_or("-".to_owned(), number);
    for (place, step) in steps.steps.iter().enumerate() {
        let at = step.start.saturating_sub(trace.census.first.unwrap_or(step.start));
        table.push(vec![
            (place + 1).to_string(),
            phase_name(step.mark.phase).to_owned(),
            time_in_column(at),
            spelled(step.mark.batch),
            spelled(step.mark.prefill_tokens),
            spelled(step.mark.decode_tokens),
            spelled(step.mark.context_tokens),
            time_in_column(step.duration),
            time_in_column(step.unexplained),
            share(step.duration.saturating_sub(step.unexplained), step.duration),
            time_in_column(step.device.busy),
            share(step.device.busy, step.device.span),
        ]);
    }
    table
}
