//! `cargo xtask fuzz`: runs the fuzz targets of the readers for a limited time.

use crate::Result;
use crate::task::Task;
use crate::toolchain::{has_subcommand, need_nightly};
use crate::workspace::Workspace;

/// Each target and the folder of its seed inputs.
const TARGETS: &[(&str, Option<&str>)] = &[
    ("spool", None),
    ("chrome", Some(SMALL_TRACES)),
    ("open", Some(SMALL_TRACES)),
    ("perfetto", None),
    ("repair", Some(SMALL_TRACES)),
    ("steps", Some(SMALL_TRACES)),
    ("config", Some("fuzz/seeds/config")),
];
const SMALL_TRACES: &str = "tests/data/corpus-small";

/// Errors of readers show on small inputs; larger ones only slow the search down.
const INPUT_BYTES_MAX: u32 = 8 << 10;

/// A reader takes milliseconds for an input of that size. One that takes this long hangs.
const SECONDS_PER_INPUT: u32 = 10;

/// The limit covers the reader and the sanitizer's own memory.
const MEMORY_MIB: u32 = 1024;

/// Installs missing tools, then runs each target for `seconds`. Failing inputs stay in `fuzz/artifacts`, the corpus in
/// `fuzz/corpus`; neither is tracked.
pub(crate) fn fuzz(workspace: &Workspace, seconds: u32) -> Result {
    need_nightly(workspace)?;
    if !has_subcommand(workspace, "fuzz") {
        Task::cargo(workspace).words("install --locked cargo-fuzz").run()?;
    }
    TARGETS.iter().try_for_each(|(target, seeds)| search(workspace, target, *seeds, seconds))
}

fn search(workspace: &Workspace, target: &str, seeds: Option<&str>, seconds: u32) -> Result {
    let corpus = workspace.root().join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&corpus).map_err(|cause| format!("`{}`: {cause}", corpus.display()))?;
    // The fuzzer writes new inputs to the first folder.
    let folders = [Some(corpus), seeds.map(|seeds| workspace.root().join(seeds))];
    let mut task = Task::new(workspace, "rustup").words("run nightly cargo fuzz run").arg(target);
    for folder in folders.into_iter().flatten() {
        task = task.arg(folder);
    }
    // Not the workspace's target folder: the sanitizer's flags would rebuild everything in it.
    task.arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(format!("-timeout={SECONDS_PER_INPUT}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        // Threads that are just ending are reported as leaks.
        .arg("-detect_leaks=0")
        .env("CARGO_TARGET_DIR", workspace.root().join("fuzz/target"))
        .run()
}
