//! Runs the commands of both sides alternately, until the result is certain or all runs are made.

use super::args::GateArgs;
use super::decision::{Decision, ERROR_RATE, Rules};
use super::inputs::{Inputs, SideInput};
use crate::commands::diff::figure;
use crate::recording::{CommandRuns, RunOutcome, RunProgress};
use crate::render::messages::Messages;
use crate::render::units::count;
use crate::sides::{Measuring, Side, figures};
use crate::user_error::UserError;
use ferrum_trace_analyze::runs::metric;
use ferrum_trace_analyze::stats::{Look, Order, attainable_runs, looks};

/// End of a series of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeriesEnd {
    /// All runs were made.
    Complete,
    /// The result was certain before.
    Early,
    /// A termination signal arrived.
    Interrupted,
}

impl SeriesEnd {
    /// Returns the name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Early => "early",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A finished series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeriesSummary {
    /// Planned number of runs per side.
    pub(crate) n_planned: usize,
    /// Number of runs of each side that were made.
    pub(crate) n_done: usize,
    /// The end.
    pub(crate) end: SeriesEnd,
}

/// Runs of the commands.
pub(crate) struct Series<'a> {
    rules: &'a Rules,
    n_planned: usize,
    n_warm_up: usize,
    stops_early: bool,
    runs: CommandRuns,
    messages: Messages,
    plan: Option<Plan>,
}

/// Metrics that gate, and the moments at which a decision may be made.
#[derive(Debug)]
struct Plan {
    metrics: Vec<String>,
    looks: Vec<Look>,
    /// Probability of a wrong decision about each metric that the looks so far have used up.
    spent: f64,
}

impl<'a> Series<'a> {
    /// Prepares a series.
    pub(crate) fn new(args: &GateArgs, rules: &'a Rules, measuring: &Measuring) -> Result<Self, UserError> {
        Ok(Self {
            rules,
            n_planned: args.runs.get(),
            n_warm_up: args.warm_up_runs,
            stops_early: !args.no_early_stop,
            runs: CommandRuns::new(measuring.clone(), args.keep.clone(), args.verbose)?,
            messages: args.messages(),
            plan: None,
        })
    }

    /// Makes the runs, adds them to the sides and decides, if there is a base side and both sides have runs.
    pub(crate) fn run(&mut self, inputs: &mut Inputs) -> Result<(SeriesSummary, Option<Decision>), UserError> {
        let (end, decision) = self.run_all(inputs)?;
        let decision = match end {
            SeriesEnd::Interrupted => self.decide_early(inputs)?,
            SeriesEnd::Complete | SeriesEnd::Early => decision,
        };
        self.runs.finish("the result was not printed");
        Ok((SeriesSummary { n_planned: self.n_planned, n_done: n_done(inputs), end }, decision))
    }

    fn run_all(&mut self, inputs: &mut Inputs) -> Result<(SeriesEnd, Option<Decision>), UserError> {
        let commands = inputs.sides().filter(|side| side.command.is_some()).count();
        let mut progress = RunProgress::start(((self.n_planned + self.n_warm_up) * commands) as u64);
        if !self.warm_up(inputs, &mut progress)? {
            return Ok((SeriesEnd::Interrupted, None));
        }
        let mut decision = None;
        for (label, number) in order(inputs, self.n_planned) {
            let name = format!("{label}-{number:0width$}", width = digits(self.n_planned));
            if !self.run_one(inputs, label, &name, &mut progress)? || self.runs.is_interrupted() {
                return Ok((SeriesEnd::Interrupted, None));
            }
            decision = self.look(inputs)?.or(decision);
            let is_last = n_done(inputs) == self.n_planned;
            if !is_last && decision.as_ref().is_some_and(Decision::is_final) {
                return Ok((SeriesEnd::Early, decision));
            }
        }
        Ok((SeriesEnd::Complete, decision))
    }

    /// Makes the warm-up runs. Returns false if a signal arrived.
    fn warm_up(&self, inputs: &Inputs, progress: &mut RunProgress) -> Result<bool, UserError> {
        for number in 1..=self.n_warm_up {
            for side in inputs.sides() {
                let Some(command) = &side.command else { continue };
                let name = format!("{} warm-up {number}", side.label);
                progress.begin(&name);
                if !self.runs.warm_up(command, &name)? {
                    return Ok(false);
                }
                progress.end(&name, "not measured");
            }
        }
        Ok(true)
    }

    /// Makes one run. Returns false if a signal arrived.
    fn run_one(
        &self,
        inputs: &mut Inputs,
        label: &str,
        name: &str,
        progress: &mut RunProgress,
    ) -> Result<bool, UserError> {
        let Some(input) = inputs.sides_mut().find(|side| side.label == label) else { return Ok(true) };
        let Some(command) = &input.command else { return Ok(true) };
        progress.begin(name);
        match self.runs.measure(command, name)? {
            RunOutcome::Interrupted => Ok(false),
            RunOutcome::Measured(side) => {
                progress.end(name, &self.describe(&side));
                input.side.append(*side);
                Ok(true)
            }
        }
    }

    /// Returns the first metric of a run.
    fn describe(&self, side: &Side) -> String {
        let name = self.rules.metrics.first().map_or(metric::STEP, String::as_str);
        match figures(name, &side.runs).first() {
            Some(&(_, value)) => format!("{name} {}", figure(Some(value), metric::unit(name))),
            None => format!("no {name}"),
        }
    }

    /// Decides, if this is one of the planned moments.
    fn look(&mut self, inputs: &Inputs) -> Result<Option<Decision>, UserError> {
        let Some(base) = inputs.base.as_ref().filter(|base| base.n_runs() > 0) else { return Ok(None) };
        if inputs.new.n_runs() == 0 {
            return Ok(None);
        }
        let plan = match &mut self.plan {
            Some(plan) => plan,
            None => {
                let metrics = self.rules.metrics(&base.side, &inputs.new.side)?;
                // Sides that cannot be compared end the series now. The result itself is not used.
                self.rules.decide(&base.side, &inputs.new.side, &metrics, ERROR_RATE)?;
                self.plan.insert(Plan::new(metrics, self.n_planned, self.stops_early, inputs, &self.messages))
            }
        };
        let is_even = inputs.sides().filter(|side| side.command.is_some()).all(|side| side.n_runs() == n_done(inputs));
        let Some(look) = plan.looks.iter().find(|look| is_even && look.n_runs == n_done(inputs)) else {
            return Ok(None);
        };
        plan.spent += look.error_rate;
        self.rules.decide(&base.side, &inputs.new.side, &plan.metrics, look.error_rate).map(Some)
    }

    /// Decides about the runs so far, with the probability of error that the looks so far have not used up.
    fn decide_early(&self, inputs: &Inputs) -> Result<Option<Decision>, UserError> {
        match (&self.plan, &inputs.base) {
            (Some(plan), Some(base)) => {
                let left = ERROR_RATE / plan.metrics.len() as f64 - plan.spent;
                self.rules.decide(&base.side, &inputs.new.side, &plan.metrics, left).map(Some)
            }
            _ => Ok(None),
        }
    }
}

impl Plan {
    fn new(metrics: Vec<String>, n_runs: usize, stops_early: bool, inputs: &Inputs, messages: &Messages) -> Self {
        let error_rate = ERROR_RATE / metrics.len().max(1) as f64;
        let is_alternating = inputs.sides().all(|side| side.command.is_some());
        let order = if is_alternating { Order::Abba } else { Order::Separate };
        let enough = attainable_runs(&order.design(0), 1.0 - error_rate);
        if let Some(enough) = enough.filter(|enough| *enough > n_runs) {
            messages.print(&format!(
                "{} per side cannot decide about {}: at least {enough} are needed\n",
                count(n_runs as u64, "run"),
                count(metrics.len() as u64, "metric")
            ));
        }
        let looks = if stops_early { looks(n_runs, error_rate, order) } else { vec![Look { n_runs, error_rate }] };
        Self { metrics, looks, spent: 0.0 }
    }
}

/// Returns the sides and numbers of all runs, in their order: base, new, new, base, …
fn order(inputs: &Inputs, n_runs: usize) -> Vec<(&'static str, usize)> {
    let labels: Vec<&'static str> =
        inputs.sides().filter(|side| side.command.is_some()).map(|side| side.label).collect();
    let of_round = |number: usize| {
        let mut labels = labels.clone();
        if number.is_multiple_of(2) {
            labels.reverse();
        }
        labels.into_iter().map(move |label| (label, number))
    };
    (1..=n_runs).flat_map(of_round).collect()
}

/// Returns the number of runs that every command has made.
fn n_done(inputs: &Inputs) -> usize {
    inputs.sides().filter(|side| side.command.is_some()).map(SideInput::n_runs).min().unwrap_or(0)
}

/// Returns the number of digits of the largest number of a run, at least 2.
fn digits(n_runs: usize) -> usize {
    n_runs.to_string().len().max(2)
}

#[cfg(test)]
mod tests {
    use super::super::budget::{Budget, parse_budget};
    use super::super::decision::BudgetVerdict;
    use super::*;
    use ferrum_trace_analyze::runs::Run;
    use ferrum_trace_analyze::stats::Random;

    fn inputs(base: Option<&str>, new: Option<&str>) -> Inputs {
        let side = |label, command: Option<&str>| SideInput {
            label,
            kind: "command",
            name: String::new(),
            command: command.map(str::to_owned),
            side: Side::default(),
        };
        Inputs { base: Some(side("base", base)), new: side("new", new) }
    }

    #[test]
    fn runs_alternate_so_that_a_drift_affects_both_sides() {
        let names =
            |inputs: &Inputs| order(inputs, 3).iter().map(|(label, n)| format!("{label}{n}")).collect::<Vec<_>>();
        assert_eq!(names(&inputs(Some("a"), Some("b"))), ["base1", "new1", "new2", "base2", "base3", "new3"]);
        assert_eq!(names(&inputs(None, Some("b"))), ["new1", "new2", "new3"]);
    }

    /// Makes a series of 10 runs per side without a change, and returns its last decision.
    fn unchanged_series(random: &mut Random) -> Decision {
        let rules = Rules { metrics: vec!["ttft".to_owned()], budgets: vec![tiny_budget()], force: false };
        let mut both = inputs(Some("a"), Some("b"));
        let plan = Plan::new(rules.metrics.clone(), 10, true, &both, &Messages::default());
        let mut decision = None;
        for (place, (label, _)) in order(&both, 10).into_iter().enumerate() {
            let figures = [("ttft.p50".to_owned(), 1e6 * (0.02 * random.normal()).exp())].into();
            let run = Run { figures, start_unix_ns: Some(place as i64), ..Run::default() };
            both.sides_mut().filter(|side| side.label == label).for_each(|side| side.side.runs.push(run.clone()));
            let n_runs = n_done(&both);
            if let Some(look) = plan.looks.iter().find(|look| place % 2 == 1 && look.n_runs == n_runs)
                && let Some(base) = &both.base
            {
                let found = rules.decide(&base.side, &both.new.side, &plan.metrics, look.error_rate).unwrap();
                if found.is_final() {
                    return found;
                }
                decision = Some(found);
            }
        }
        decision.unwrap()
    }

    fn tiny_budget() -> Budget {
        parse_budget("0.0001%").unwrap()
    }

    #[test]
    fn early_looks_do_not_raise_the_rate_of_false_alarms() {
        let mut random = Random::new(14);
        let is_alarm = |decision: Decision| decision.metrics[0].verdict == BudgetVerdict::Worse;
        let n_alarms = (0..300).filter(|_| is_alarm(unchanged_series(&mut random))).count();
        // Half of 5 % of the errors are alarms: 7.5 are expected at most. Three standard deviations more are 16.
        assert!(n_alarms <= 16, "{n_alarms} of 300");
        assert!(n_alarms > 0, "the test can fail");
    }

    #[test]
    fn the_error_rate_is_divided_among_metrics_and_looks() {
        let names = ["step", "ttft"].map(str::to_owned).to_vec();
        let both = inputs(Some("a"), Some("b"));
        let plan = Plan::new(names.clone(), 10, true, &both, &Messages::default());
        assert_eq!(plan.looks.last().map(|look| look.n_runs), Some(10));
        assert!(plan.looks.len() > 1, "{plan:?}");
        let sum: f64 = plan.looks.iter().map(|look| look.error_rate).sum();
        assert!((sum - ERROR_RATE / 2.0).abs() < 1e-12, "{sum}");
        let plan = Plan::new(names, 10, false, &both, &Messages::default());
        assert_eq!(plan.looks, [Look { n_runs: 10, error_rate: ERROR_RATE / 2.0 }]);
    }
}
