//! Figures of the runs of one side.

use ferrum_trace_analyze::compare::log_figures;
use ferrum_trace_analyze::runs::{Run, metric};

/// Returns the figure of each run that has it, with the index of the run.
pub(crate) fn figures(name: &str, runs: &[Run]) -> Vec<(usize, f64)> {
    let full = metric::full_name(name);
    let plain = runs.iter().enumerate().filter_map(|(place, run)| Some((place, *run.figures.get(&full)?)));
    let plain: Vec<(usize, f64)> = plain.filter(|(_, figure)| figure.is_finite()).collect();
    if !plain.is_empty() {
        return plain;
    }
    let logs = log_figures(name, runs, runs).unwrap_or_default();
    logs.base_runs.into_iter().zip(logs.base).map(|(place, log)| (place, log.exp())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(figures: &[(&str, f64)]) -> Run {
        Run { figures: figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(), ..Run::default() }
    }

    #[test]
    fn figures_are_those_of_the_runs_that_have_them() {
        let runs = [run(&[("ttft.p50", 5.0)]), Run::default(), run(&[("ttft.p50", 0.0)])];
        assert_eq!(figures("ttft", &runs), [(0, 5.0), (2, 0.0)]);
        assert_eq!(figures("step", &runs), []);
    }
}
