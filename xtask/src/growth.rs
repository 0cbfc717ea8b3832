//! The chore `growth`: doubles traces of shapes that are expensive to read, and compares the CPU time of each command.
//!
//! It is not a step of `check`, since it measures time and takes most of an hour.

use crate::Result;
use crate::task::Task;
use crate::workspace::Workspace;

/// Measures the cases whose names match a Python regular expression.
pub(crate) fn measure(workspace: &Workspace, cases: &str) -> Result {
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
