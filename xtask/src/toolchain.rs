//! Parts of the Rust toolchain that a minimal installation lacks.

use crate::Result;
use crate::task::Task;
use crate::workspace::Workspace;

/// Returns true if `cargo NAME` exists.
pub(crate) fn has_subcommand(workspace: &Workspace, name: &str) -> bool {
    let task = Task::cargo(workspace).arg(name).arg("--version");
    task.output().is_ok()
}

/// Installs a component of the active toolchain, unless its `cargo SUBCOMMAND` exists.
pub(crate) fn need_component(workspace: &Workspace, subcommand: &str, component: &str) -> Result {
    if has_subcommand(workspace, subcommand) {
        return Ok(());
    }
    let task = Task::new(workspace, "rustup").words("component add");
    task.arg(component).run()
}

/// Returns true if code for `triple` can be compiled.
pub(crate) fn has_target(workspace: &Workspace, triple: &str) -> bool {
    let installed = Task::new(workspace, "rustup").words("target list --installed").output();
    installed.is_ok_and(|list| String::from_utf8_lossy(&list).lines().any(|line| line == triple))
}

/// Installs the nightly toolchain if it is missing.
pub(crate) fn need_nightly(workspace: &Workspace) -> Result {
    let there = Task::new(workspace, "rustup").words("run nightly rustc --version");
    if there.output().is_ok() {
        return Ok(());
    }
    let task = Task::new(workspace, "rustup").words("toolchain install nightly --profile minimal");
    task.run()
}
