//! Sentences and figures of the report.

use crate::commands::diff::report::DiffReport;
use crate::render::units::{count, number, rate, time};
use crate::sides::Side;
use ferrum_trace_analyze::compare::{Comparison, MetricComparison, OneSidedName, TwoModes, Verdict};
use ferrum_trace_analyze::runs::metric::MetricUnit;

/// Largest number of runs that is worth stating.
const RUNS_MAX: usize = 1000;
/// Number of names that are listed without `--verbose`.
const NAMES: usize = 5;

/// Returns the sentence that sums up the comparison.
pub(crate) fn headline(comparison: &Comparison) -> String {
    if comparison.is_refused() {
        return "Not comparable: see the notes".to_owned();
    }
    let differing: Vec<String> =
        comparison.metrics.iter().filter(|metric| metric.verdict.is_difference()).map(difference).collect();
    if !differing.is_empty() {
        return differing.join("; ");
    }
    match comparison.metrics.iter().find(|metric| metric.ratio.is_some()) {
        Some(first) if first.verdict == Verdict::OneRun => format!(
            "{} changed by {} between two single runs: whether by chance cannot be told",
            first.name,
            change_in_percent(first.ratio)
        ),
        Some(first) => match &first.verdict {
            Verdict::Same { within } => {
                format!("No difference found: {} is the same within {}", first.name, share(*within))
            }
            _ => "No difference found, and a difference that matters cannot be excluded".to_owned(),
        },
        None => "Nothing to compare".to_owned(),
    }
}

/// Returns `step is 4.8 % slower (+3.9 % to +5.7 %)`.
fn difference(metric: &MetricComparison) -> String {
    let ratio = metric.ratio.unwrap_or(1.0);
    let direction = match metric.unit {
        MetricUnit::Nanoseconds => metric.verdict.name(),
        MetricUnit::PerSecond if ratio > 1.0 => "higher",
        MetricUnit::PerSecond => "lower",
    };
    format!("{} is {} {direction} ({})", metric.name, share((ratio - 1.0).abs()), interval(metric))
}

/// Returns the interval of the change.
pub(crate) fn interval(metric: &MetricComparison) -> String {
    match metric.interval {
        Some(interval) if interval.is_finite() => {
            format!("{} to {}", change_in_percent(Some(interval.low)), change_in_percent(Some(interval.high)))
        }
        Some(_) => "too few runs".to_owned(),
        None => "-".to_owned(),
    }
}

/// Returns the interval of the change, or the range that the instability within single runs allows.
pub(crate) fn interval_or_range(metric: &MetricComparison) -> String {
    match metric.instability {
        Some(range) if range.is_finite() => {
            let [low, high] = [range.low, range.high].map(|ratio| change_in_percent(Some(ratio)));
            format!("within the runs {low} to {high}")
        }
        _ => interval(metric),
    }
}

/// Returns `+4.8 %` for a ratio of 1.048.
pub(crate) fn change_in_percent(ratio: Option<f64>) -> String {
    let Some(ratio) = ratio else { return "-".to_owned() };
    let percent = 100.0 * (ratio - 1.0);
    match percent.abs() {
        large if large >= 1000.0 => format!("{ratio:.0}x"),
        large if large >= 100.0 => format!("{percent:+.0} %"),
        small if small < 9.95 => format!("{percent:+.2} %"),
        _ => format!("{percent:+.1} %"),
    }
}

/// Returns `4.8 %` for 0.048.
fn share(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 9.95 { format!("{percent:.2} %") } else { format!("{percent:.1} %") }
}

/// Returns a figure with its unit.
pub(crate) fn figure(value: Option<f64>, unit: MetricUnit) -> String {
    match (value, unit) {
        (None, _) => "-".to_owned(),
        (Some(value), MetricUnit::Nanoseconds) => time(value.round() as i64),
        (Some(value), MetricUnit::PerSecond) => format!("{}/s", rate(value)),
    }
}

/// Returns the verdict in words.
pub(crate) fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Same { within } => format!("same within {}", share(*within)),
        Verdict::CannotTell { runs_needed: Some(runs) } => {
            format!("cannot tell; {} runs a side needed", runs_needed(*runs))
        }
        Verdict::OneRun => "one run: not tested".to_owned(),
        other => other.name().to_owned(),
    }
}

/// Returns a number of runs, which is an estimate: a large one only says that more runs are not the answer.
fn runs_needed(runs: usize) -> String {
    if runs > RUNS_MAX {
        format!("more than {}", number(RUNS_MAX as u64))
    } else {
        format!("about {}", number(runs as u64))
    }
}

/// Returns the lines that describe both sides.
pub(crate) fn sides(report: &DiffReport) -> Vec<String> {
    let comparison = &report.comparison;
    let mut lines = vec![side("base", &report.base), side("new", &report.new)];
    let design = match (comparison.n_runs, comparison.is_interleaved) {
        ((1, 1), _) => "one run per side: the difference is described, not tested",
        (_, true) => "runs were interleaved in time",
        (_, false) => {
            "runs were not interleaved in time, or their times are unknown: a drift of the machine counts as a difference"
        }
    };
    lines.push(format!("design {design}"));
    if comparison.warm_up_steps != (0, 0) {
        let (base, new) = comparison.warm_up_steps;
        lines.push(format!("warm-up {} of base and {} of new left out", count(base, "step"), number(new)));
    }
    let n_shown = if report.verbose { usize::MAX } else { NAMES };
    lines.extend(comparison.modes.iter().take(n_shown).map(modes));
    let n_more = comparison.modes.len().saturating_sub(n_shown);
    lines
        .extend((n_more > 0).then(|| format!("… {} more with two modes (-v lists them)", count(n_more as u64, "run"))));
    lines
}

fn side(label: &str, side: &Side) -> String {
    let n_steps = side.runs.iter().map(|run| run.n_steps()).fold(0, u64::saturating_add);
    let n_traces = side.runs.iter().map(|run| run.names.len() as u64).sum::<u64>();
    let runs = count(side.runs.len() as u64, "run");
    let name = side.runs.first().and_then(|run| run.names.first()).map_or("", String::as_str);
    let name = if n_traces > 1 { format!("{name}, …") } else { name.to_owned() };
    let traces =
        if n_traces as usize > side.runs.len() { format!(" of {}", count(n_traces, "trace")) } else { String::new() };
    format!("{label:<6} {runs}{traces}, {}: {name}", count(n_steps, "step"))
}

fn modes(modes: &TwoModes) -> String {
    let side = if modes.is_base { "base" } else { "new" };
    let subject = match &modes.run {
        Some(run) => format!("steps of {run}"),
        None => format!("runs of {side}"),
    };
    let phase = modes.phase.as_ref().map_or_else(String::new, |phase| format!(" ({phase})"));
    let (ratio, high) = (change_in_percent(Some(modes.ratio)), share(modes.share_high));
    format!("modes {subject}{phase} have two modes {ratio} apart; {high} are in the slower one")
}

/// Returns the lines about names that changed.
pub(crate) fn names(report: &DiffReport) -> Vec<String> {
    let names = &report.comparison.names;
    let n_shown = if report.verbose { usize::MAX } else { NAMES };
    let mut lines = Vec::new();
    let more = |n: usize| if n > n_shown { format!(" and {} more", n - n_shown) } else { String::new() };
    let list = |names: &[OneSidedName]| {
        let shown: Vec<String> = names.iter().take(n_shown).map(one_sided).collect();
        format!("{}{}", shown.join(", "), more(names.len()))
    };
    if !names.renamed.is_empty() {
        let pair = |it: &ferrum_trace_analyze::compare::Renamed| format!("`{}` is now `{}`", it.base.name, it.new.name);
        let shown: Vec<String> = names.renamed.iter().take(n_shown).map(pair).collect();
        lines.push(format!("renamed (same position): {}{}", shown.join(", "), more(names.renamed.len())));
    }
    lines.extend((!names.new.is_empty()).then(|| format!("only in new: {}", list(&names.new))));
    lines.extend((!names.gone.is_empty()).then(|| format!("only in base: {}", list(&names.gone))));
    lines
}

fn one_sided(name: &OneSidedName) -> String {
    format!("`{}` ({} a step, {})", name.name, calls(name.calls), time(name.time_ns))
}

/// Returns a number of calls per step.
pub(crate) fn calls(calls: f64) -> String {
    if (calls - calls.round()).abs() < 0.005 { number(calls.round() as u64) } else { format!("{calls:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_runs_that_nobody_makes_is_not_stated() {
        let text = |runs| verdict(&Verdict::CannotTell { runs_needed: Some(runs) });
        assert_eq!(text(1000), "cannot tell; about 1,000 runs a side needed");
        assert_eq!(text(25_316), "cannot tell; more than 1,000 runs a side needed");
    }
}
