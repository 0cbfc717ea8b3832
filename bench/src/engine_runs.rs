//! Runs of `examples/engine` with fixed settings.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::contenders::Outcome;

/// The model: its steps take less than a millisecond.
const MODEL: &str = "--layers 4 --width 128";
/// The requests: about 500 decode steps of up to four sequences, the same in every run.
pub(crate) const REQUESTS: &str = "--requests 16 --rate 0 --prompt 16 --tokens 160 --batch 4";
/// Requests of the run that makes the weights.
const ONE_REQUEST: &str = "--requests 1 --rate 0 --prompt 1 --tokens 1 --off";

/// The engine with its weights.
#[derive(Debug)]
pub(crate) struct Engine {
    program: PathBuf,
    weights: PathBuf,
}

impl Engine {
    /// Makes the weights once, so that runs only load them.
    pub(crate) fn prepare(program: PathBuf, folder: &Path) -> Outcome<Self> {
        let engine = Self { program, weights: folder.join("weights") };
        let mut command = engine.command();
        command.args(words(MODEL)).args(words(ONE_REQUEST)).arg("--save").arg(&engine.weights);
        finish(command)?;
        Ok(engine)
    }

    /// Makes one run with these values of `--slow` and records it.
    pub(crate) fn run(&self, trace: &Path, slow: &[String]) -> Outcome {
        let mut command = self.command();
        command.args(words(REQUESTS)).arg("--weights").arg(&self.weights).env("FERRUM_TRACE_OUT", trace);
        for slowdown in slow {
            command.args(["--slow", slowdown]);
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
pub(crate) fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FERRUM_TRACE_") {
            command.env_remove(name);
        }
    }
    command
}

/// Describes a program that failed.
pub(crate) fn failure(name: &str, output: &Output) -> String {
    format!("{name} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
}

/// Runs an engine to its end.
pub(crate) fn finish(mut command: Command) -> Outcome {
    let output = command.output()?;
    if output.status.success() { Ok(()) } else { Err(failure("the engine", &output).into()) }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}
