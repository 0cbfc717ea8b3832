//! Predictions of `ferrum-trace path --what-if` from unchanged runs of an engine, against runs with the change.

use std::path::Path;

use serde::Deserialize;

use crate::args::Args;
use crate::cargo_build;
use crate::contenders::Outcome;
use crate::engine_runs::{Engine, REQUESTS, failure, program};
use crate::rounds::Rounds;
use crate::table::{Cell, Table};

/// A change: operations with their factors. 0 skips an operation.
type Change = &'static [(&'static str, f64)];

/// Changes of `examples/engine`.
const ON_HOST: [Change; 17] = [
    &[("attention", 1.5)],
    &[("attention", 2.0)],
    &[("attention", 0.0)],
    &[("qkv_proj", 2.0)],
    &[("o_proj", 3.0)],
    &[("gate_up_proj", 1.5)],
    &[("gate_up_proj", 2.0)],
    &[("down_proj", 2.0)],
    &[("lm_head", 1.3)],
    &[("lm_head", 2.0)],
    &[("silu_mul", 4.0)],
    &[("silu_mul", 0.0)],
    &[("rope", 0.0)],
    &[("rms_norm", 4.0)],
    &[("sample", 3.0)],
    &[("attention", 1.5), ("lm_head", 1.5)],
    &[("qkv_proj", 1.5), ("o_proj", 1.5), ("gate_up_proj", 1.5), ("down_proj", 1.5)],
];
/// Changes of the engine on a device.
#[cfg(feature = "devices")]
const ON_DEVICE: [Change; 14] = [
    &[("attention", 1.5)],
    &[("attention", 2.0)],
    &[("attention", 0.5)],
    &[("attention", 0.0)],
    &[("qkv_proj", 2.0)],
    &[("qkv_proj", 0.0)],
    &[("mlp", 1.5)],
    &[("mlp", 0.5)],
    &[("lm_head", 2.0)],
    &[("lm_head", 0.0)],
    &[("sample", 3.0)],
    &[("sample", 0.0)],
    &[("attention", 2.0), ("sample", 0.5)],
    &[("qkv_proj", 1.5), ("mlp", 1.5), ("lm_head", 1.5)],
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

/// Runs the engines with and without each change in turn.
pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let built = cargo_build::build(&["engine", "ferrum-trace-cli"])?;
    let command = built.program("ferrum-trace")?;
    let scratch = tempfile::tempdir()?;
    let engine = Engine::prepare(built.program("engine")?, scratch.path())?;
    let trace = scratch.path().join("run.spool");
    let comparison = Comparison { command: &command, trace: &trace, rounds: args.rounds };
    let on_host = comparison.of(&ON_HOST, &|slow| {
        let slow: Vec<String> = slow.iter().map(|(op, factor)| format!("{op}={factor}")).collect();
        engine.run(&trace, &slow)
    })?;
    let what = format!("`examples/engine` (`RAYON_NUM_THREADS=1`, `{REQUESTS}`, 4 layers of width 128)");
    #[cfg_attr(not(feature = "devices"), expect(unused_mut, reason = "devices add tables"))]
    let mut tables = vec![table("What-if on the host", &what, &ON_HOST, &on_host, args.rounds)];
    #[cfg(feature = "devices")]
    for driver in crate::device_engine::DRIVERS {
        let medians = comparison.of(&ON_DEVICE, &|slow| crate::device_engine::start(driver, &trace, slow))?;
        let what =
            format!("the engine of `bench/src/device_engine` with `{driver}` (a driver that computes on one CPU)");
        tables.push(table(&format!("What-if on a device: {driver}"), &what, &ON_DEVICE, &medians, args.rounds));
    }
    Ok(tables)
}

/// Programs and files of a comparison.
struct Comparison<'a> {
    command: &'a Path,
    trace: &'a Path,
    rounds: u32,
}

impl Comparison<'_> {
    /// Compares predictions with runs. `run` makes a run with a change.
    fn of(&self, changes: &[Change], run: &dyn Fn(Change) -> Outcome) -> Outcome<Vec<Medians>> {
        let mut medians: Vec<Medians> = changes.iter().map(|_| Medians::default()).collect();
        for _ in 0..self.rounds {
            for (change, medians) in changes.iter().zip(&mut medians) {
                run(&[])?;
                let predicted = self.path(&what_if(change))?;
                medians.base_us.push(predicted.steps_p50_before_ns / 1e3);
                medians.predicted_us.push(predicted.steps_p50_ns / 1e3);
                run(change)?;
                medians.changed_us.push(self.path(NO_CHANGE)?.steps_p50_before_ns / 1e3);
            }
        }
        Ok(medians)
    }

    fn path(&self, what_if: &str) -> Outcome<WhatIf> {
        let mut command = program(self.command);
        let output = command.arg("path").arg(self.trace).args(["--json", "--what-if", what_if]).output()?;
        if !output.status.success() {
            return Err(failure("ferrum-trace path", &output).into());
        }
        Ok(serde_json::from_slice::<PathObject>(&output.stdout)?.what_if)
    }
}

/// Returns the change as a value of `--what-if`.
fn what_if(change: &[(&str, f64)]) -> String {
    let parts: Vec<String> = change.iter().map(|(op, factor)| format!("{op}={factor}x")).collect();
    parts.join(",")
}

impl Medians {
    /// Returns the error of the prediction: the median over pairs of runs, which follow each other in time, because the
    /// speed of a shared machine drifts.
    fn error(&self) -> Option<f64> {
        let pairs = self.predicted_us.iter().zip(self.changed_us.iter());
        pairs.map(|(predicted, changed)| predicted / changed - 1.0).collect::<Rounds>().median()
    }
}

fn table(title: &str, what: &str, changes: &[Change], medians: &[Medians], rounds: u32) -> Table {
    let row = |(change, medians): (&Change, &Medians)| {
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
        title: title.to_owned(),
        note: format!(
            "Median step in microseconds of runs of {what}: without a change, as `ferrum-trace path --what-if` predicts \
             it from these runs, and with the change (`0x` skips the operation). Runs with and without the change in \
             turn, {rounds} of each; medians over runs. The error is the median over the pairs of a prediction and the \
             run after it. It is within the limit if it is at most {:.0} %.",
            ERROR_MAX * 100.0
        ),
        columns: vec!["change", "base", "predicted", "measured", "error %", "within"],
        rows: changes.iter().zip(medians).map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_written_for_the_command() {
        let change: Change = &[("attention", 1.5), ("lm_head", 0.0)];
        assert_eq!(what_if(change), "attention=1.5x,lm_head=0x");
    }

    #[test]
    fn the_error_is_that_of_pairs_of_runs() {
        let medians = |predicted: f64| Medians {
            base_us: [100.0].into_iter().collect(),
            predicted_us: [predicted, 2.0 * predicted, 300.0].into_iter().collect(),
            changed_us: [200.0, 400.0, 200.0].into_iter().collect(),
        };
        let all: Vec<Medians> = [204.0, 180.0].map(medians).into_iter().collect();
        let text = table("What-if", "an engine", &ON_HOST, &all, 1).to_markdown();
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("attention=")).collect();
        assert!(rows[0].contains("2.0") && rows[0].contains("yes"), "{text}");
        assert!(rows[1].contains("-10.0") && rows[1].contains("no"), "{text}");
    }
}
