//! Predictions of `ferrum-trace path --what-if` from unchanged runs of `examples/engine`, against runs with the change.

use std::path::Path;

use serde::Deserialize;

use crate::args::Args;
use crate::cargo_build;
use crate::contenders::Outcome;
use crate::engine_runs::{Engine, REQUESTS, failure, program};
use crate::rounds::Rounds;
use crate::table::{Cell, Table};

/// The changes: operations with their factors.
const CHANGES: [&[(&str, f64)]; 14] = [
    &[("attention", 1.5)],
    &[("attention", 2.0)],
    &[("qkv_proj", 2.0)],
    &[("o_proj", 3.0)],
    &[("gate_up_proj", 1.5)],
    &[("gate_up_proj", 2.0)],
    &[("down_proj", 2.0)],
    &[("lm_head", 1.3)],
    &[("lm_head", 2.0)],
    &[("silu_mul", 4.0)],
    &[("rms_norm", 4.0)],
    &[("sample", 3.0)],
    &[("attention", 1.5), ("lm_head", 1.5)],
    &[("qkv_proj", 1.5), ("o_proj", 1.5), ("gate_up_proj", 1.5), ("down_proj", 1.5)],
];
/// A change that leaves everything as it is.
const NO_CHANGE: &str = "host=1x";
/// Largest error of a prediction.
const ERROR_MAX: f64 = 0.05;

/// Medians of the steps of runs with and without one change, and the predictions from those without.
#[derive(Default)]
struct Medians {
    base_us: Rounds,
    predicted_us: Rounds,
    changed_us: Rounds,
}

#[derive(Deserialize)]
struct PathObject {
    what_if: WhatIf,
}

/// The part of the JSON of `path` that is compared.
#[derive(Deserialize)]
struct WhatIf {
    steps_p50_ns: f64,
    steps_p50_before_ns: f64,
}

/// Runs the engine with and without each change in turn.
pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let built = cargo_build::build(&["engine", "ferrum-trace-cli"])?;
    let command = built.program("ferrum-trace")?;
    let scratch = tempfile::tempdir()?;
    let engine = Engine::prepare(built.program("engine")?, scratch.path())?;
    let trace = scratch.path().join("run.spool");
    let mut medians: Vec<Medians> = CHANGES.iter().map(|_| Medians::default()).collect();
    for _ in 0..args.rounds {
        for (change, medians) in CHANGES.iter().zip(&mut medians) {
            engine.run(&trace, &[])?;
            let predicted = path(&command, &trace, &what_if(change))?;
            medians.base_us.push(predicted.steps_p50_before_ns / 1e3);
            medians.predicted_us.push(predicted.steps_p50_ns / 1e3);
            engine.run(&trace, &slowdowns(change))?;
            medians.changed_us.push(path(&command, &trace, NO_CHANGE)?.steps_p50_before_ns / 1e3);
        }
    }
    Ok(vec![table(&medians, args.rounds)])
}

/// Returns the change as a value of `--what-if`.
fn what_if(change: &[(&str, f64)]) -> String {
    let parts: Vec<String> = change.iter().map(|(op, factor)| format!("{op}={factor}x")).collect();
    parts.join(",")
}

/// Returns the change as values of `--slow`.
fn slowdowns(change: &[(&str, f64)]) -> Vec<String> {
    change.iter().map(|(op, factor)| format!("{op}={factor}")).collect()
}

fn path(command: &Path, trace: &Path, what_if: &str) -> Outcome<WhatIf> {
    let mut command = program(command);
    let output = command.arg("path").arg(trace).args(["--json", "--what-if", what_if]).output()?;
    if !output.status.success() {
        return Err(failure("ferrum-trace path", &output).into());
    }
    Ok(serde_json::from_slice::<PathObject>(&output.stdout)?.what_if)
}

impl Medians {
    /// Returns the error of the predicted median, relative to the measured one.
    fn error(&self) -> Option<f64> {
        Some(self.predicted_us.median()? / self.changed_us.median()? - 1.0)
    }
}

fn table(medians: &[Medians], rounds: u32) -> Table {
    let row = |(change, medians): (&&[(&str, f64)], &Medians)| {
        let error = medians.error();
        vec![
            Cell::text(what_if(change)),
            Cell::maybe(medians.base_us.median(), 1),
            Cell::maybe(medians.predicted_us.median(), 1),
            Cell::maybe(medians.changed_us.median(), 1),
            Cell::maybe(error.map(|error| error * 100.0), 1),
            Cell::text(if error.is_some_and(|error| error.abs() <= ERROR_MAX) { "yes" } else { "no" }),
        ]
    };
    Table {
        title: "What-if".to_owned(),
        note: format!(
            "Median step in microseconds of runs of `examples/engine` (`RAYON_NUM_THREADS=1`, `{REQUESTS}`, 4 layers of width \
             128): without a change, as `ferrum-trace path --what-if` predicts it from these runs, and with the change \
             (`--slow`). Runs with and without the change in turn, {rounds} of each; medians over runs. A prediction is \
             within the limit if its error is at most {:.0} %.",
            ERROR_MAX * 100.0
        ),
        columns: vec!["change", "base", "predicted", "measured", "error %", "within"],
        rows: CHANGES.iter().zip(medians).map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_written_for_both_programs() {
        let change: &[(&str, f64)] = &[("attention", 1.5), ("lm_head", 2.0)];
        assert_eq!(what_if(change), "attention=1.5x,lm_head=2x");
        assert_eq!(slowdowns(change), ["attention=1.5", "lm_head=2"]);
    }

    #[test]
    fn the_error_is_that_of_the_predicted_median() {
        let medians = |predicted: f64| Medians {
            base_us: [100.0].into_iter().collect(),
            predicted_us: [predicted].into_iter().collect(),
            changed_us: [200.0].into_iter().collect(),
        };
        let all: Vec<Medians> = [204.0, 180.0].map(medians).into_iter().collect();
        let text = table(&all, 1).to_markdown();
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("attention=")).collect();
        assert!(rows[0].contains("2.0") && rows[0].contains("yes"), "{text}");
        assert!(rows[1].contains("-10.0") && rows[1].contains("no"), "{text}");
    }
}
