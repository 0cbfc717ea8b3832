//! The programs under test: built, and run with fixed settings.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::Deserialize;

use super::plan::Plant;
use super::results::{DiffResult, GateResult};
use crate::contenders::Outcome;

/// The model: its steps take less than a millisecond.
const MODEL: &str = "--layers 4 --width 128";
/// The requests: about 500 decode steps of up to four sequences, the same in every run.
pub(super) const REQUESTS: &str = "--requests 16 --rate 0 --prompt 16 --tokens 160 --batch 4";
/// Requests of the run that makes the weights.
const ONE_REQUEST: &str = "--requests 1 --rate 0 --prompt 1 --tokens 1 --off";
/// Budget of the gate.
pub(super) const BUDGET: &str = "1%";

/// The paths of the programs.
#[derive(Debug)]
pub(super) struct Programs {
    engine: PathBuf,
    command: PathBuf,
}

/// The engine with its weights.
#[derive(Debug)]
pub(super) struct Engine {
    program: PathBuf,
    weights: PathBuf,
}

/// A line of cargo's JSON messages.
#[derive(Deserialize)]
struct CargoMessage {
    target: Option<CargoTarget>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
}

impl Programs {
    /// Builds the engine and the command, optimized.
    pub(super) fn build() -> Outcome<Self> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(words(
            "build --release -p engine -p ferrum-trace-cli --bins --message-format json-render-diagnostics",
        ));
        let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("the build failed ({})", output.status).into());
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        Ok(Self { engine: built(&messages, "engine")?, command: built(&messages, "ferrum-trace")? })
    }

    /// Runs `ferrum-trace diff` on two folders.
    pub(super) fn diff(&self, base: &Path, new: &Path) -> Outcome<DiffResult> {
        let mut diff = program(&self.command);
        let output = diff.arg("diff").arg(base).arg("--with").arg(new).arg("--json").output()?;
        // 0: no metric differs, 1: some differ.
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(failure("ferrum-trace diff", &output).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Runs `ferrum-trace gate` on two folders.
    pub(super) fn gate(&self, base: &Path, new: &Path) -> Outcome<GateResult> {
        let mut gate = program(&self.command);
        gate.arg("gate").arg("--base").arg(base).arg("--new").arg(new).args(["--budget", BUDGET, "--json"]);
        let output = gate.output()?;
        GateResult::of_exit_code(output.status.code()).ok_or_else(|| failure("ferrum-trace gate", &output).into())
    }
}

impl Engine {
    /// Makes the weights once, so that runs only load them.
    pub(super) fn prepare(programs: &Programs, folder: &Path) -> Outcome<Self> {
        let engine = Self { program: programs.engine.clone(), weights: folder.join("weights") };
        let mut command = engine.command();
        command.args(words(MODEL)).args(words(ONE_REQUEST)).arg("--save").arg(&engine.weights);
        finish(command)?;
        Ok(engine)
    }

    /// Makes one run and records it.
    pub(super) fn run(&self, trace: &Path, plant: Option<&Plant>) -> Outcome {
        let mut command = self.command();
        command.args(words(REQUESTS)).arg("--weights").arg(&self.weights).env("FERRUM_TRACE_OUT", trace);
        if let Some(Plant { op, factor, .. }) = plant {
            command.args(["--slow", &format!("{op}={factor}")]);
        }
        finish(command)
    }

    /// Computes on one thread: with two, steps vary more, because the threads wait for each other.
    fn command(&self) -> Command {
        let mut command = program(&self.program);
        command.env("RAYON_NUM_THREADS", "1");
        command
    }
}

/// A program without input, and without the variables that affect the recorder.
fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FERRUM_TRACE_") {
            command.env_remove(name);
        }
    }
    command
}

fn finish(mut command: Command) -> Outcome {
    let output = command.output()?;
    if output.status.success() { Ok(()) } else { Err(failure("the engine", &output).into()) }
}

fn failure(name: &str, output: &Output) -> String {
    format!("{name} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
}

/// The path of a program in the messages of cargo.
fn built(messages: &str, name: &str) -> Outcome<PathBuf> {
    let parsed = messages.lines().filter_map(|line| serde_json::from_str::<CargoMessage>(line).ok());
    let of_name = |message: CargoMessage| message.target.filter(|target| target.name == name).and(message.executable);
    parsed.filter_map(of_name).next().ok_or_else(|| format!("cargo built no program `{name}`").into())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_messages_of_cargo() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"engine","kind":["lib"]},"executable":null}
{"reason":"compiler-artifact","target":{"name":"engine","kind":["bin"]},"executable":"release/engine"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(built(messages, "engine").unwrap(), Path::new("release/engine"));
        assert!(built(messages, "ferrum-trace").unwrap_err().to_string().contains("`ferrum-trace`"));
    }
}
