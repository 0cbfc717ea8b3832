//! The chore `advisories`: known vulnerabilities of dependencies, from the RustSec database.
//!
//! It is not a step of `check`, since the database is on GitHub and changes daily: the result depends on the network
//! and on the date, not on the repository alone.

use crate::Result;
use crate::task::Task;
use crate::toolchain::has_subcommand;
use crate::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Result {
    if !has_subcommand(workspace, "deny") {
        return Err("cargo-deny is not installed\n\nhint: `cargo install --locked cargo-deny`".to_owned());
    }
    let run = Task::cargo(workspace).words("deny check advisories").run();
    run.map_err(|complaint| {
        let hint = "the messages above say if a dependency has an advisory or if the database could not be fetched";
        format!("{complaint}\n\nhint: {hint}")
    })
}
