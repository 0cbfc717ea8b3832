//! The chore `growth`: doubles traces of shapes that are hard on readers, and compares what each command takes.
//!
//! It is no step of `check`: it measures time, and takes the better part of an hour.

use crate::Result;
use crate::task::Task;
use crate::workspace::Workspace;

/// Measures the cases whose names match a regular expression of Python.
pub fn measure(workspace: &Workspace, cases: &str) -> Result {
    Task::cargo(workspace).words("build --release -p ferrum-trace-cli -p ferrum-trace-testkit --bins").run()?;
    let programs = workspace.target().join("release");
    Task::new(workspace, "python3")
        .arg("xtask/growth/growth.py")
        .arg(programs.join("ferrum-trace"))
        .arg(programs.join("shapes"))
        .arg(workspace.target().join("growth"))
        .arg(cases)
        .run()
}
