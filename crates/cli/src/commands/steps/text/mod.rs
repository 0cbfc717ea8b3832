//! The text of `steps`.

mod layers;
mod names;
mod ops;
mod slowest;
mod tables;

use super::report::StepsReport;
use crate::input::source::Source;
use crate::render::recorder;
use crate::render::style::{TITLE, key_value};
use crate::render::table::{self, clean};
use crate::render::units::{count, number, percent, rate, share, time};
use ferrum_trace_analyze::{Attribution, DeviceTime, GapSum, Steps};
use ferrum_trace_model::Trace;
use std::fmt::Write as _;

/// Number of gaps that are shown.
const GAPS: usize = 3;

/// Returns the overview and the tables.
pub(crate) fn text(source: &Source, report: &StepsReport, each: bool) -> String {
    let (trace, steps) = (&report.loaded.trace, &report.steps);
    let width = table::width();
    let mut text = overview(source, trace, steps);
    text.push_str(&recorder::lines(&report.loaded));
    text.push('\n');
    text.push_str(&tables::groups(report).render(width));
    if steps.attribution.is_some() {
        text.push('\n');
        text.push_str(&tables::split(report).render(width));
    }
    match steps.layer_times.is_empty() {
        true => text.push_str(&ops::text(trace, steps, width)),
        false => text.push_str(&layers::text(steps, width)),
    }
    for slow in &steps.slowest {
        text.push('\n');
        text.push_str(&slowest::text(trace, steps, slow));
    }
    if each {
        text.push('\n');
        text.push_str(&tables::each(trace, steps).render(width));
    }
    text
}

fn overview(source: &Source, trace: &Trace, steps: &Steps) -> String {
    let marked: Vec<&str> = steps.sources.iter().map(|(source, _)| source.name()).collect();
    let n_steps = count(steps.steps.len() as u64, "step");
    let mut text = format!(
        "{TITLE}{}{TITLE:#}: {n_steps} on {} in {}, marked by {}\n",
        clean(&source.label),
        count(steps.n_tracks as u64, "track"),
        time(steps.wall),
        marked.join(", ")
    );
    let mut line = |key: &str, value: String| {
        text.push_str(&key_value(key, &value));
    };
    line("tokens", tokens(steps));
    let all = &steps.all;
    let covered = percent(all.coverage());
    let place = if steps.attribution.is_some() { " on the host" } else { "" };
    let (marks, unexplained) = (time(all.mark_total), time(all.unexplained));
    line("covered", format!("{covered} % of {marks} of steps{place}; {unexplained} are in no span"));
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
        return "unknown, the marks have no token counts".to_owned();
    }
    let (prefill, decode) = (number(all.prefill_tokens), number(all.decode_tokens));
    let mut text = format!("{prefill} of prompts, {decode} generated; ");
    match all.per_second(steps.result_wall) {
        Some(rates) => {
            let [prefill, decode] = [rates.0, rates.1]
                .map(|per_second| if steps.result_wall > 0 { rate(per_second) } else { "-".to_owned() });
            let _ = write!(text, "{prefill} and {decode} per second of wall time");
        }
        None => text.push_str("no rate, since work on devices is not in the file"),
    }
    if let Some((prefill, decode)) = all.tokens_per_device_second() {
        let _ = write!(text, ", {} and {} per second of device time", rate(prefill), rate(decode));
    }
    if (1..all.count).contains(&all.n_incomplete) {
        let complete = count(all.count - all.n_incomplete, "step");
        let _ = write!(text, ", of the {complete} that are complete");
    }
    if all.n_without_tokens > 0 {
        let _ = write!(text, "; unknown for {}", count(all.n_without_tokens, "step"));
    }
    text
}

fn gap_line(trace: &Trace, gap: &GapSum, whole: &str) -> String {
    let times = if gap.count == 1 { "once".to_owned() } else { format!("{} times", number(gap.count)) };
    format!("{} {}, {times}", time(gap.total), names::place(trace, gap.place, whole))
}

fn device_line(device: &DeviceTime) -> String {
    let busy = share(device.busy, device.span);
    format!("busy {busy} % of {} from first to last kernel of steps; {} idle", time(device.span), time(device.idle()))
}

fn attribution_line(attribution: &Attribution) -> String {
    let Attribution { by_launch, by_operation, by_flow, by_annotation, by_time, outside, outside_total } = *attribution;
    let ways = [
        (by_launch, "by their launch"),
        (by_operation, "by the operation that launched them"),
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
