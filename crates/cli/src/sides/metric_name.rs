//! Names of metrics on the command line.

use super::figures::figures;
use crate::user_error::UserError;
use ferrum_trace_analyze::compare::log_figures;
use ferrum_trace_analyze::runs::Run;
use ferrum_trace_analyze::runs::metric::{self, BUSY, DEVICE_BUSY, SPAN, STEP, TPOT, TTFT};
use ferrum_trace_model::vocab::Phase;

/// Metrics that gate by default, as far as both sides have them. Each side must have the first.
const DEFAULTS: [&str; 3] = [STEP, TTFT, TPOT];

/// Figures that have neither a phase nor a statistic.
const PLAIN: [&str; 4] = [metric::TOKENS_PER_S, metric::PROMPT_TOKENS_PER_S, SPAN, BUSY];

/// Parses the name of a metric.
pub(crate) fn parse_metric(text: &str) -> Result<String, String> {
    let name = text.trim();
    if is_known(name) {
        return Ok(name.to_owned());
    }
    let list = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let phases: Vec<&str> = Phase::ALL.iter().map(|phase| phase.as_str()).collect();
    Err(format!(
        "expected a metric, found `{name}`; known are `{STEP}` and `{DEVICE_BUSY}`, also with a phase ({}), `{STEP}.PHASE` \
         and {} with a statistic ({}), and {}",
        list(&phases),
        list(&metric::OF_REQUESTS),
        list(&metric::STATISTICS),
        list(&PLAIN)
    ))
}

fn is_known(name: &str) -> bool {
    let is_phase = |text: &str| Phase::from_text(text).is_some();
    let is_statistic = |text: &str| metric::STATISTICS.contains(&text);
    match name.split('.').collect::<Vec<_>>()[..] {
        [one] => [STEP, DEVICE_BUSY].contains(&one) || PLAIN.contains(&one) || metric::OF_REQUESTS.contains(&one),
        [STEP, last] => is_phase(last) || is_statistic(last),
        [DEVICE_BUSY, last] => is_phase(last),
        [one, last] => metric::OF_REQUESTS.contains(&one) && is_statistic(last),
        [STEP, phase, last] => is_phase(phase) && is_statistic(last),
        _ => false,
    }
}

/// Returns the metrics that gate by default.
pub(crate) fn default_metrics(base: &[Run], new: &[Run]) -> Vec<String> {
    let is_common = |name: &&str| !figures(name, base).is_empty() && !figures(name, new).is_empty();
    let others = DEFAULTS.into_iter().skip(1).filter(is_common);
    DEFAULTS.into_iter().take(1).chain(others).map(str::to_owned).collect()
}

/// Checks that both sides have each metric.
pub(crate) fn check_presence(names: &[String], base: &[Run], new: &[Run]) -> Result<(), UserError> {
    for name in names {
        for (label, runs) in [("base", base), ("new", new)] {
            if figures(name, runs).is_empty() {
                return Err(lacking(name, label, runs));
            }
        }
        if log_figures(name, base, new).is_none() {
            let what = "expected steps of the same phase, batch and prompt length on both sides, found none";
            return Err(UserError::new(format!("`{name}`"), what));
        }
    }
    Ok(())
}

/// Returns the error about a metric that no run of a side has.
pub(crate) fn lacking(name: &str, label: &str, runs: &[Run]) -> UserError {
    let has_steps = runs.iter().any(|run| run.n_steps() > 0);
    let error =
        UserError::new(format!("`{name}`"), format!("the runs of {label} lack it: {}", reason(name, has_steps)));
    if has_steps || !name.starts_with(STEP) {
        return error;
    }
    error.hint(format!("use `--metric {SPAN}` or `--metric {BUSY}` for traces without steps"))
}

fn reason(name: &str, has_steps: bool) -> &'static str {
    let head = name.split('.').next().unwrap_or(name);
    match head {
        STEP if has_steps => "their traces have no steps of this phase",
        STEP => "their traces have no steps",
        DEVICE_BUSY => "their traces have no work of a device in steps",
        SPAN | BUSY => "only traces without steps have it",
        _ if head.ends_with("_per_s") => "the steps of their traces state no tokens",
        _ => "their traces have no completed requests with this figure",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_accepted() {
        for name in ["step", "step.decode", "step.p99", "step.decode.p99", "device_busy.prefill", "ttft", "itl.max"] {
            assert_eq!(parse_metric(name), Ok(name.to_owned()));
        }
        for name in ["", "steps", "step.walk", "ttft.p98", "tokens_per_s.p50", "step.decode.p99.x", "device_busy.p50"] {
            assert!(parse_metric(name).unwrap_err().contains(&format!("found `{name}`")), "{name}");
        }
        let error = parse_metric("steps").unwrap_err();
        for word in ["`tokens_per_s`", "`queue`", "`decode`", "`p99`", "`span`"] {
            assert!(error.contains(word), "{word}: {error}");
        }
    }

    fn run(figures: &[(&str, f64)]) -> Run {
        Run { figures: figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(), ..Run::default() }
    }

    #[test]
    fn a_missing_metric_is_explained() {
        let requests = [run(&[("ttft.p50", 5.0)])];
        let error = check_presence(&["tpot".to_owned()], &requests, &requests).unwrap_err();
        assert!(error.to_string().contains("no completed requests"), "{error}");
        let error = lacking("step", "new", &requests);
        assert!(
            error.to_string().starts_with("`step`: the runs of new lack it: their traces have no steps"),
            "{error}"
        );
        assert!(error.suggestion().is_some_and(|hint| hint.contains("--metric span")));
    }
}
