//! Absolute limits of the new side.

use crate::flags::selection::parse_time;
use crate::sides::figures;
use crate::sides::{lacking, parse_metric};
use crate::user_error::UserError;
use ferrum_trace_analyze::runs::Run;
use ferrum_trace_analyze::runs::metric::{self, MetricUnit};
use ferrum_trace_analyze::stats::median;

/// Limit of a metric, such as `ttft.p99<500ms`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    /// The limit as it was typed.
    pub(crate) text: String,
    /// The metric.
    pub(crate) metric: String,
    /// Unit of the metric.
    pub(crate) unit: MetricUnit,
    operator: Operator,
    /// The bound, in nanoseconds or per second.
    pub(crate) bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

/// Operators by their text. An operator that begins with another one comes first.
const OPERATORS: [(&str, Operator); 4] =
    [("<=", Operator::LessOrEqual), (">=", Operator::MoreOrEqual), ("<", Operator::Less), (">", Operator::More)];

/// Share of a figure that may be rounding: figures of steps are means of logarithms.
const ROUNDING: f64 = 1e-9;

/// Parses a limit.
pub(super) fn parse_limit(text: &str) -> Result<Limit, String> {
    let split = |(word, operator)| text.split_once(word).map(|(name, bound)| (name, operator, bound.trim()));
    let expected = || format!("expected a metric, one of `<`, `<=`, `>`, `>=`, and a value, found `{text}`");
    let (name, operator, bound) = OPERATORS.into_iter().find_map(split).ok_or_else(expected)?;
    let metric = parse_metric(name)?;
    let unit = metric::unit(&metric);
    let bound = match unit {
        MetricUnit::Nanoseconds => parse_time(bound)? as f64,
        MetricUnit::PerSecond => parse_rate(bound)?,
    };
    if bound < 0.0 {
        return Err(format!("expected a value that is not negative, found `{text}`"));
    }
    Ok(Limit { text: text.trim().to_owned(), metric, unit, operator, bound })
}

/// Parses a rate: `1500` or `1500/s`.
fn parse_rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).trim();
    let rate = number.parse().ok().filter(|rate: &f64| rate.is_finite());
    rate.ok_or_else(|| format!("expected a number per second such as `1500`, found `{text}`"))
}

/// Result of a limit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LimitResult {
    /// The limit.
    pub(crate) limit: Limit,
    /// Median over the runs.
    pub(crate) figure: f64,
    /// Number of runs with the figure.
    pub(crate) n_runs: usize,
    /// True if the median is within the limit.
    pub(crate) is_met: bool,
    /// Names of the runs that violate the limit.
    pub(crate) violating: Vec<String>,
}

impl Limit {
    /// Compares the median over runs with the limit.
    pub(super) fn check(&self, runs: &[Run]) -> Result<LimitResult, UserError> {
        let figures = figures(&self.metric, runs);
        let values: Vec<f64> = figures.iter().map(|&(_, figure)| figure).collect();
        let figure = median(&values).ok_or_else(|| lacking(&self.metric, "new", runs))?;
        let violating = figures.iter().filter(|(_, figure)| !self.is_met_by(*figure));
        let name = |place: usize| runs.get(place).and_then(|run| run.names.first()).cloned().unwrap_or_default();
        Ok(LimitResult {
            limit: self.clone(),
            figure,
            n_runs: values.len(),
            is_met: self.is_met_by(figure),
            violating: violating.map(|&(place, _)| name(place)).collect(),
        })
    }

    fn is_met_by(&self, figure: f64) -> bool {
        let rounding = ROUNDING * self.bound;
        match self.operator {
            Operator::Less => figure < self.bound - rounding,
            Operator::LessOrEqual => figure <= self.bound + rounding,
            Operator::More => figure > self.bound + rounding,
            Operator::MoreOrEqual => figure >= self.bound - rounding,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, metric: &str, figure: f64) -> Run {
        let figures = [(metric.to_owned(), figure)].into();
        Run { names: vec![name.to_owned()], figures, ..Run::default() }
    }

    #[test]
    fn a_limit_has_a_metric_an_operator_and_a_value() {
        let limit = parse_limit("ttft.p99 <= 1.5s").unwrap();
        assert_eq!((limit.metric.as_str(), limit.operator, limit.bound), ("ttft.p99", Operator::LessOrEqual, 1.5e9));
        let limit = parse_limit("tokens_per_s>1500").unwrap();
        assert_eq!((limit.operator, limit.bound, limit.unit), (Operator::More, 1500.0, MetricUnit::PerSecond));
        assert_eq!(parse_limit("tokens_per_s>=1500/s").unwrap().bound, 1500.0);
        for wrong in ["ttft", "ttft=5ms", "walk<5ms", "ttft<5", "tokens_per_s>5ms", "ttft<-5ms", "tokens_per_s>inf"] {
            assert!(parse_limit(wrong).unwrap_err().starts_with("expected "), "{wrong}");
        }
    }

    #[test]
    fn the_median_of_the_runs_decides() {
        let runs = [run("a", "ttft.p99", 4e6), run("b", "ttft.p99", 6e6), run("c", "ttft.p99", 5e6), Run::default()];
        let check = |text: &str| {
            let result = parse_limit(text).unwrap().check(&runs).unwrap();
            (result.is_met, result.violating, result.n_runs)
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        assert_eq!(check("ttft.p99<5ms"), (false, names(&["b", "c"]), 3));
        assert_eq!(check("ttft.p99<=5ms"), (true, names(&["b"]), 3));
        assert_eq!(check("ttft.p99>5ms"), (false, names(&["a", "c"]), 3));
        assert_eq!(check("ttft.p99>=5ms"), (true, names(&["a"]), 3));
        let error = parse_limit("tpot<5ms").unwrap().check(&runs).unwrap_err();
        assert!(error.to_string().contains("the runs of new lack it"), "{error}");
    }
}
