//! The report of the gate for people, as parts.

use super::budget::limit_ratio;
use super::decision::{BudgetVerdict, Decision, ERROR_RATE, MetricDecision};
use super::inputs::SideInput;
use super::limit::LimitResult;
use super::report::{GateReport, GateVerdict};
use super::series::{SeriesEnd, SeriesSummary};
use crate::commands::diff::{causes_table, change_in_percent, figure};
use crate::render::parts::Part;
use crate::render::table::{Column, Table};
use crate::render::units::{count, number};

/// Number of causes that are listed if a metric is worse.
const CAUSES: usize = 5;
/// Number of runs that violate a limit that are listed.
const VIOLATING: usize = 3;
/// Number of notes about the traces of a side that are listed.
const NOTES: usize = 10;
/// Number of runs above which no estimate is of use.
const RUNS_MAX: usize = 1000;

/// Returns the parts of the report.
pub(super) fn parts(report: &GateReport) -> Vec<Part> {
    let mut parts = vec![Part::Headline(headline(report)), Part::Lines(lines(report)), Part::Notes(notes(report))];
    if let Some(decision) = &report.decision {
        parts.push(Part::Table("Metrics".to_owned(), metrics_table(decision)));
    }
    parts.push(Part::Table("Limits".to_owned(), limits_table(&report.limits)));
    let is_worse = |decision: &&Decision| decision.metrics.iter().any(|it| it.verdict == BudgetVerdict::Worse);
    let attribution = report.decision.as_ref().filter(is_worse).and_then(|it| it.comparison.attribution.as_ref());
    if let Some(attribution) = attribution {
        let title = "Largest causes of the change of the mean step (they explain, and do not gate)";
        parts.push(Part::Table(title.to_owned(), causes_table(attribution, CAUSES)));
    }
    parts
}

/// Returns the sentence that sums up the result.
pub(super) fn headline(report: &GateReport) -> String {
    let result = match report.verdict() {
        None => "nothing was decided".to_owned(),
        Some(GateVerdict::Pass) => format!("PASS: {}", passed(report)),
        Some(GateVerdict::Fail) => format!("FAIL: {}", failures(report).join("; ")),
        Some(GateVerdict::CannotTell) => format!("CANNOT TELL: {}", failures(report).join("; ")),
    };
    match &report.series {
        Some(series) if series.end == SeriesEnd::Interrupted => {
            format!("INTERRUPTED after {} of {} per side; {result}", series.n_done, planned(series))
        }
        _ => format!("{result} ({})", n_runs(report)),
    }
}

fn n_runs(report: &GateReport) -> String {
    let of_side = |side: &SideInput| count(side.n_runs() as u64, &format!("{} run", side.label));
    report.inputs.sides().map(of_side).collect::<Vec<_>>().join(", ")
}

fn planned(series: &SeriesSummary) -> String {
    count(series.n_planned as u64, "run")
}

fn passed(report: &GateReport) -> String {
    let metrics: Vec<&str> = metrics(report).map(|metric| metric.metric.name.as_str()).collect();
    let mut words = Vec::new();
    words.extend((!metrics.is_empty()).then(|| format!("{} within budget", metrics.join(", "))));
    words.extend((!report.limits.is_empty()).then(|| format!("{} met", count(report.limits.len() as u64, "limit"))));
    words.join(", ")
}

fn metrics(report: &GateReport) -> impl Iterator<Item = &MetricDecision> {
    report.decision.iter().flat_map(|decision| &decision.metrics)
}

/// Returns the reasons why the gate does not pass: certain ones, or else the metrics that are uncertain.
fn failures(report: &GateReport) -> Vec<String> {
    let worse = metrics(report).filter(|metric| metric.verdict == BudgetVerdict::Worse).map(failure);
    let violated = report.limits.iter().filter(|limit| !limit.is_met).map(violation);
    let mut words: Vec<String> = worse.chain(violated).collect();
    if words.is_empty() {
        let unknown: Vec<&str> = metrics(report)
            .filter(|metric| matches!(metric.verdict, BudgetVerdict::CannotTell { .. }))
            .map(|metric| metric.metric.name.as_str())
            .collect();
        let strict = if report.is_strict { " (--strict)" } else { "" };
        words.push(format!("whether {} within budget is not certain{strict}", is_or_are(&unknown)));
    }
    words
}

fn is_or_are(names: &[&str]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

/// Returns `step changed by +9.1 % (+7.0 % to +11.2 %), its budget is 2 %`.
pub(super) fn failure(metric: &MetricDecision) -> String {
    let change = change_in_percent(metric.metric.ratio);
    let (name, interval) = (&metric.metric.name, interval(metric));
    format!("{name} changed by {change} ({interval}), its budget is {}", budget(metric))
}

/// Returns `ttft.p99<500ms is violated by 612.0 ms`.
pub(super) fn violation(limit: &LimitResult) -> String {
    format!("{} is violated by {}", limit.limit.text, figure(Some(limit.figure), limit.limit.unit))
}

/// Returns the interval of the change.
fn interval(metric: &MetricDecision) -> String {
    match metric.metric.interval {
        Some(it) if it.is_finite() => {
            format!("{} to {}", change_in_percent(Some(it.low)), change_in_percent(Some(it.high)))
        }
        _ => "unknown".to_owned(),
    }
}

fn budget(metric: &MetricDecision) -> String {
    change_in_percent(Some(limit_ratio(metric.budget, metric.metric.unit)))
}

/// Returns the verdict in words.
pub(super) fn verdict(metric: &MetricDecision) -> String {
    let n_runs = metric.metric.n_runs.0.max(metric.metric.n_runs.1);
    match metric.verdict {
        BudgetVerdict::Within => "within budget".to_owned(),
        BudgetVerdict::Worse => "worse".to_owned(),
        BudgetVerdict::CannotTell { .. } if metric.metric.interval.is_none() => "cannot tell: too few runs".to_owned(),
        BudgetVerdict::CannotTell { runs_needed: Some(needed) } if needed <= RUNS_MAX => {
            format!("cannot tell; about {} runs per side needed", number(needed.max(n_runs + 1) as u64))
        }
        BudgetVerdict::CannotTell { .. } => "cannot tell: the change is about as large as the budget".to_owned(),
    }
}

fn metrics_table(decision: &Decision) -> Table {
    let mut table = Table::new(vec![
        Column::text("metric"),
        Column::number("base"),
        Column::number("new"),
        Column::number("change"),
        Column::number("interval").importance(1),
        Column::number("budget"),
        Column::text("verdict"),
    ]);
    for it in &decision.metrics {
        let metric = &it.metric;
        let [base, new] = [metric.base, metric.new].map(|value| figure(value, metric.unit));
        let change = change_in_percent(metric.ratio);
        table.push(vec![metric.name.clone(), base, new, change, interval(it), budget(it), verdict(it)]);
    }
    table
}

fn limits_table(limits: &[LimitResult]) -> Table {
    let mut table = Table::new(vec![
        Column::text("limit"),
        Column::number("new"),
        Column::number("runs"),
        Column::text("runs that violate it").importance(0),
        Column::text("verdict"),
    ]);
    for it in limits {
        table.push(vec![
            it.limit.text.clone(),
            figure(Some(it.figure), it.limit.unit),
            number(it.n_runs as u64),
            violating(it),
            if it.is_met { "met".to_owned() } else { "violated".to_owned() },
        ]);
    }
    table
}

/// Returns the runs that violate a limit.
pub(super) fn violating(limit: &LimitResult) -> String {
    let shown: Vec<&str> = limit.violating.iter().take(VIOLATING).map(String::as_str).collect();
    match limit.violating.len().saturating_sub(VIOLATING) {
        0 if shown.is_empty() => "none".to_owned(),
        0 => shown.join(", "),
        n_more => format!("{} and {n_more} more", shown.join(", ")),
    }
}

/// Returns the lines that describe the sides and the runs.
fn lines(report: &GateReport) -> Vec<String> {
    let mut lines: Vec<String> = report.inputs.sides().map(side).collect();
    if let Some(decision) = &report.decision {
        lines.push(design(decision).to_owned());
        lines.extend(confidence(decision, report.series.as_ref()));
    }
    lines
}

fn side(input: &SideInput) -> String {
    let runs = count(input.n_runs() as u64, "run");
    let steps = count(input.n_steps(), "step");
    let name = input.name.strip_prefix("baseline:").unwrap_or(&input.name);
    format!("{:<4} {runs}, {steps}: {} `{name}`", input.label, input.kind)
}

fn design(decision: &Decision) -> &'static str {
    match (decision.comparison.n_runs, decision.comparison.is_interleaved) {
        ((0..=1, _) | (_, 0..=1), _) => "a side with one run cannot be compared: run-to-run noise is unknown",
        (_, true) => "runs of both sides were interleaved in time",
        (_, false) => "runs were not interleaved in time: a drift of the machine counts as a change of the program",
    }
}

/// Returns a line about the confidence level; `None` if there are no intervals.
fn confidence(decision: &Decision, series: Option<&SeriesSummary>) -> Option<String> {
    decision.metrics.iter().find_map(|metric| metric.metric.interval)?;
    let level = |level: f64| (1000.0 * level).round() / 10.0;
    let metrics = count(decision.metrics.len() as u64, "metric");
    let holds = format!("each interval holds with {} %", level(decision.level));
    let all = level(1.0 - ERROR_RATE);
    Some(match series.filter(|series| series.end == SeriesEnd::Early) {
        Some(series) => format!(
            "stopped early, after {} of {} per side; {holds}, so that the intervals of {metrics} at all planned looks hold \
             together with {all} %",
            series.n_done,
            planned(series)
        ),
        None if decision.level == 1.0 - ERROR_RATE => holds,
        None => format!("{holds}, so that those of {metrics} at all looks hold together with {all} %"),
    })
}

fn notes(report: &GateReport) -> Vec<String> {
    let concerns = report.decision.iter().flat_map(|decision| &decision.comparison.concerns);
    let mut notes: Vec<String> = concerns.map(|concern| concern.text.clone()).collect();
    notes.extend(report.inputs.sides().flat_map(|input| input.side.notes.iter().take(NOTES).cloned()));
    notes
}
