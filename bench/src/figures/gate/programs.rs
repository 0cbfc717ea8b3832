//! The programs under test.

use std::path::{Path, PathBuf};

use super::results::{DiffResult, GateResult};
use crate::cargo_build;
use crate::contenders::Outcome;
use crate::engine_runs::{failure, program};

/// Budget of the gate.
pub(super) const BUDGET: &str = "1%";

/// The paths of the programs.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) engine: PathBuf,
    command: PathBuf,
}

impl Programs {
    /// Builds the engine and the command, optimized.
    pub(super) fn build() -> Outcome<Self> {
        let built = cargo_build::build(&["engine", "ferrum-trace-cli"])?;
        Ok(Self { engine: built.program("engine")?, command: built.program("ferrum-trace")? })
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
