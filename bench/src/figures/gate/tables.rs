//! The tables of the results.

use super::programs::BUDGET;
use super::tally::Tally;
use super::{Plant, SeriesResult};
use crate::engine_runs::REQUESTS;
use crate::table::{Cell, Table};

/// A rate that the project requires.
struct Requirement {
    text: String,
    count: usize,
    of: usize,
    bound: Bound,
}

#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// False alarms of `diff`, and of `gate` with its budget.
const FALSE_ALARMS: Bound = Bound::AtMost(0.05);
const GATE_ALARMS: Bound = Bound::AtMost(0.01);
/// Slowdowns that are found, and those of them whose first cause is the slowed operation.
const FOUND: Bound = Bound::AtLeast(0.80);
const FIRST_CAUSE: Bound = Bound::AtLeast(0.95);

/// All tables, with the reason why the comparisons ended early, if they did.
pub(super) fn all(results: &[SeriesResult], why_early: Option<&str>) -> Vec<Table> {
    let made: Vec<&SeriesResult> = results.iter().filter(|result| result.sum().n_comparisons > 0).collect();
    let mut tables = vec![overview(&made, why_early)];
    tables.extend(made.iter().map(|result| match result.series.slowdown {
        None => verdicts(result),
        Some(_) => planted(result),
    }));
    tables.push(decisions(&made));
    tables
}

/// The required rates, and those that were measured.
fn overview(results: &[&SeriesResult], why_early: Option<&str>) -> Table {
    let requirements = results.iter().flat_map(|result| requirements(result));
    Table {
        title: "Gate".to_owned(),
        note: format!(
            "Comparisons of real runs of `examples/engine` (`RAYON_NUM_THREADS=1`, `{REQUESTS}`, 4 layers of width 128, one \
             trace per run), interleaved as base, new, new, base, …{}",
            why_early.map_or_else(String::new, |why| format!(" **Ended early: {why}.**"))
        ),
        columns: vec!["requirement", "limit", "count", "of", "rate %", "met"],
        rows: requirements.map(|requirement| requirement.row()).collect(),
    }
}

fn requirements(result: &SeriesResult) -> [Requirement; 2] {
    let (sum, name, runs) = (result.sum(), result.series.name(), result.series.runs);
    let [first, second] = match result.series.slowdown {
        None => [
            ("false alarms of `diff`".to_owned(), sum.n_with_alarm, sum.n_comparisons, FALSE_ALARMS),
            (format!("false alarms of `gate --budget {BUDGET}`"), sum.n_fail, sum.n_comparisons, GATE_ALARMS),
        ],
        Some(_) => [
            ("found by `diff`".to_owned(), sum.n_found, sum.n_comparisons, FOUND),
            ("slowed operation is the first cause".to_owned(), sum.n_first_cause, sum.n_found, FIRST_CAUSE),
        ],
    };
    [first, second].map(|(what, count, of, bound)| {
        let text = format!("{name}, {runs} runs per side: {what}");
        Requirement { text, count, of, bound }
    })
}

impl Requirement {
    fn row(&self) -> Vec<Cell> {
        let rate = (self.of > 0).then(|| self.count as f64 / self.of as f64);
        let (limit, is_met) = match self.bound {
            Bound::AtMost(bound) => (format!("at most {:.0} %", bound * 100.0), rate.is_some_and(|rate| rate <= bound)),
            Bound::AtLeast(bound) => {
                (format!("at least {:.0} %", bound * 100.0), rate.is_some_and(|rate| rate >= bound))
            }
        };
        vec![
            Cell::text(&self.text),
            Cell::text(limit),
            count(self.count),
            count(self.of),
            percent(self.count, self.of),
            Cell::text(if is_met { "yes" } else { "no" }),
        ]
    }
}

/// The verdicts of an A/A series by metric.
fn verdicts(result: &SeriesResult) -> Table {
    let sum = result.sum();
    let metrics = sum.metrics.iter().map(|(name, tally)| {
        let counts = [tally.n_faster, tally.n_slower, tally.n_same, tally.n_cannot_tell].map(count);
        let alarms = percent(tally.n_alarms(), sum.n_comparisons);
        [Cell::text(name)].into_iter().chain(counts).chain([alarms]).collect()
    });
    let any = percent(sum.n_with_alarm, sum.n_comparisons);
    let absent = [const { Cell::Absent("-") }; 4];
    let last = [Cell::text("any metric")].into_iter().chain(absent).chain([any]).collect();
    Table {
        title: "Gate, A/A".to_owned(),
        note: format!(
            "Verdicts of `diff` about equal sides: {} comparisons with {} runs per side. `faster` and `slower` are false alarms.",
            sum.n_comparisons, result.series.runs
        ),
        columns: vec!["metric", "faster", "slower", "same", "cannot tell", "alarms %"],
        rows: metrics.chain([last]).collect(),
    }
}

/// A planted slowdown by operation.
fn planted(result: &SeriesResult) -> Table {
    let by_op = result.tallies.iter().map(|(plant, tally)| planted_row(plant.as_ref(), tally));
    let series = result.series;
    Table {
        title: format!("Gate, {}", series.name()),
        note: format!(
            "One operation of the new side takes `factor` times as long (`--slow`), so that a step takes {:.0} % longer by the \
             operation's `share` of it; {} runs per side. `ratio` is the median of the ratios of step times that `diff` reports. \
             A slowdown is found if `diff` reports slower steps; `first cause` counts those in which the slowed operation is the \
             first cause.",
            series.slowdown.unwrap_or_default() * 100.0,
            series.runs
        ),
        columns: vec![
            "slowed",
            "share %",
            "factor",
            "ratio",
            "comparisons",
            "found",
            "found %",
            "first cause",
            "first %",
        ],
        rows: by_op.chain([planted_row(None, &result.sum())]).collect(),
    }
}

fn planted_row(plant: Option<&Plant>, tally: &Tally) -> Vec<Cell> {
    vec![
        Cell::text(plant.map_or("all", |plant| plant.op)),
        Cell::maybe(plant.map(|plant| plant.share * 100.0), 1),
        Cell::maybe(plant.map(|plant| plant.factor), 3),
        Cell::maybe(tally.ratio(), 4),
        count(tally.n_comparisons),
        count(tally.n_found),
        percent(tally.n_found, tally.n_comparisons),
        count(tally.n_first_cause),
        percent(tally.n_first_cause, tally.n_found),
    ]
}

/// The decisions of the gate in each series.
fn decisions(results: &[&SeriesResult]) -> Table {
    let row = |result: &&SeriesResult| {
        let (sum, series) = (result.sum(), result.series);
        let counts = [series.runs, sum.n_pass, sum.n_fail, sum.n_cannot_tell].map(count);
        let rate = percent(sum.n_fail, sum.n_comparisons);
        [Cell::text(series.name())].into_iter().chain(counts).chain([rate]).collect()
    };
    Table {
        title: format!("Gate, budget of {BUDGET}"),
        note: format!("Decisions of `gate --budget {BUDGET}` about the same traces."),
        columns: vec!["new side", "runs per side", "pass", "fail", "cannot tell", "fail %"],
        rows: results.iter().map(row).collect(),
    }
}

fn count(n: usize) -> Cell {
    Cell::number(n as f64, 0)
}

fn percent(part: usize, whole: usize) -> Cell {
    Cell::maybe((whole > 0).then(|| part as f64 / whole as f64 * 100.0), 1)
}

#[cfg(test)]
mod tests {
    use super::super::plan::Series;
    use super::super::results::{GateResult, Verdict};
    use super::super::tally::tests::diff;
    use super::*;

    /// A series in which `n_slower` of four comparisons report slower steps.
    fn result(slowdown: Option<f64>, n_slower: usize, first_cause: &str) -> SeriesResult {
        let mut tally = Tally::default();
        for n in 0..4 {
            let is_slower = n < n_slower;
            let step = if is_slower { Verdict::Slower } else { Verdict::CannotTell };
            let gate = if is_slower { GateResult::Fail } else { GateResult::Pass };
            tally.count(&diff(step, Verdict::Same, first_cause), gate, slowdown.map(|_| "rope"));
        }
        let plant = slowdown.map(|slowdown| Plant { op: "rope", share: 0.5, factor: 1.0 + 2.0 * slowdown });
        SeriesResult { series: Series { n_comparisons: 4, runs: 5, slowdown }, tallies: vec![(plant, tally)] }
    }

    fn rows_with<'a>(text: &'a str, words: &str) -> Vec<Vec<&'a str>> {
        let rows = text.lines().filter(|line| line.contains(words));
        rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
    }

    #[test]
    fn the_overview_has_each_requirement_with_its_rate() {
        let results = [result(None, 0, "x"), result(Some(0.05), 3, "rope")];
        let text = all(&results, None)[0].to_markdown();
        let rates: Vec<Vec<&str>> =
            rows_with(&text, "runs per side: ").into_iter().map(|row| row[1..].to_vec()).collect();
        let expected = [
            ["at most 5 %", "0", "4", "0.0", "yes"],
            ["at most 1 %", "0", "4", "0.0", "yes"],
            ["at least 80 %", "3", "4", "75.0", "no"],
            ["at least 95 %", "3", "3", "100.0", "yes"],
        ];
        assert_eq!(rates, expected);
    }

    #[test]
    fn a_rate_without_comparisons_is_absent_and_not_met() {
        let text = all(&[result(Some(0.03), 0, "rope")], None)[0].to_markdown();
        assert_eq!(rows_with(&text, "first cause")[0][1..], ["at least 95 %", "0", "0", "-", "no"]);
    }

    #[test]
    fn the_reason_of_an_early_end_is_shown_and_empty_series_are_not() {
        let mut empty = result(Some(0.03), 0, "rope");
        empty.tallies[0].1 = Tally::default();
        let tables = all(&[result(None, 1, "x"), empty], Some("interrupted"));
        assert!(tables[0].note.ends_with("**Ended early: interrupted.**"), "{}", tables[0].note);
        assert_eq!(
            tables.iter().map(|table| table.title.as_str()).collect::<Vec<_>>(),
            ["Gate", "Gate, A/A", "Gate, budget of 1%"]
        );
    }

    #[test]
    fn planted_slowdowns_are_listed_by_operation() {
        let text = planted(&result(Some(0.05), 3, "rope")).to_markdown();
        assert_eq!(rows_with(&text, "| rope")[0], ["rope", "50.0", "1.100", "1.0400", "4", "3", "75.0", "3", "100.0"]);
        assert_eq!(rows_with(&text, "| all")[0], ["all", "-", "-", "1.0400", "4", "3", "75.0", "3", "100.0"]);
    }
}
