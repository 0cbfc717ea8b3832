//! `cargo xtask fuzz`: the fuzz target of the spool reader, for a while.

use crate::Result;
use crate::task::Task;
use crate::toolchain::{has_subcommand, need_nightly};
use crate::workspace::Workspace;

const TARGET: &str = "spool";

/// The target builds whole chunks around few bytes; larger inputs only slow the search down.
const INPUT_BYTES_MAX: u32 = 8 << 10;

/// The reader's whole answer to such an input takes milliseconds. One that needs this long hangs.
const SECONDS_PER_INPUT: u32 = 10;

/// The limit holds for the reader and the sanitizer's own memory together.
const MEMORY_MIB: u32 = 1024;

/// Installs what is missing, then searches for `seconds`. What it finds stays in `fuzz/artifacts`, and what it learned
/// in `fuzz/corpus`, neither tracked.
pub fn fuzz(workspace: &Workspace, seconds: u32) -> Result {
    need_nightly(workspace)?;
    if !has_subcommand(workspace, "fuzz") {
        Task::cargo(workspace).words("install --locked cargo-fuzz").run()?;
    }
    // Not the workspace's target folder: the sanitizer's flags would rebuild all of it.
    Task::new(workspace, "rustup")
        .words("run nightly cargo fuzz run")
        .arg(TARGET)
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(format!("-timeout={SECONDS_PER_INPUT}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .env("CARGO_TARGET_DIR", workspace.root().join("fuzz/target"))
        .run()
}
