//! The steps of `check` that are a few lines of cargo each.

use std::{env, fs, io};

use crate::Result;
use crate::task::Task;
use crate::toolchain::{has_subcommand, need_component};
use crate::workspace::Workspace;

/// The manifests outside the workspace, which `cargo` in the root does not see.
const FUZZ: &str = "fuzz/Cargo.toml";
const COMPILED_OUT: &str = "tests/compiled-out/Cargo.toml";

/// What is off unless asked for, and is checked all the same.
const FEATURES: &str = "--features ferrum-trace/http,ferrum-trace/tracing";

pub fn fmt(workspace: &Workspace) -> Result {
    need_component(workspace, "fmt", "rustfmt")?;
    cargo(workspace, "fmt --all --check")?;
    cargo(workspace, &format!("fmt --check --manifest-path {COMPILED_OUT}"))?;
    cargo(workspace, &format!("fmt --check --manifest-path {FUZZ}"))
}

pub fn clippy(workspace: &Workspace) -> Result {
    need_component(workspace, "clippy", "clippy")?;
    cargo(workspace, &format!("clippy --all-targets {FEATURES} -- -D warnings"))?;
    // Elsewhere the packings are all there, or none.
    cargo(workspace, "clippy -p ferrum-trace-format --all-targets --features zstd -- -D warnings")?;
    cargo(workspace, "clippy -p bench --all-targets -- -D warnings")
}

pub fn docs(workspace: &Workspace) -> Result {
    Task::cargo(workspace).words("doc --no-deps").words(FEATURES).env("RUSTDOCFLAGS", "-D warnings").run()
}

/// All of them, also after one has failed. Traces of an earlier run must not stand in for those of this one.
pub fn tests(workspace: &Workspace) -> Result {
    clear(workspace)?;
    if has_subcommand(workspace, "nextest") {
        cargo(workspace, &format!("nextest run --all-targets --no-fail-fast {FEATURES}"))
    } else {
        cargo(workspace, &format!("test --all-targets --no-fail-fast {FEATURES}"))
    }
}

pub fn doctests(workspace: &Workspace) -> Result {
    cargo(workspace, &format!("test --doc {FEATURES}"))
}

/// Three preemptions find what two threads can do to each other in practice; without a bound the search takes hours. Not `--cfg loom`,
/// under which tokio has no network and what needs it does not compile. The folder is its own because flags rebuild every dependency.
pub fn loom(workspace: &Workspace) -> Result {
    let flags = env::var("RUSTFLAGS").unwrap_or_default();
    Task::cargo(workspace)
        .words("test -p ferrum-trace --release --test loom")
        .env("RUSTFLAGS", format!("{flags} --cfg under_loom").trim_start())
        .env("LOOM_MAX_PREEMPTIONS", "3")
        .env("CARGO_TARGET_DIR", workspace.target().join("loom"))
        .run()
}

pub fn compiled_out(workspace: &Workspace) -> Result {
    cargo(workspace, &format!("clippy --all-targets --manifest-path {COMPILED_OUT} -- -D warnings"))?;
    cargo(workspace, &format!("test --manifest-path {COMPILED_OUT}"))
}

/// Lints, which is to build without linking: so any toolchain will do, and the path that stands in for libFuzzer spares its C++.
pub fn fuzz(workspace: &Workspace) -> Result {
    Task::cargo(workspace)
        .words("clippy --manifest-path")
        .words(FUZZ)
        .words("-- -D warnings")
        .env("CUSTOM_LIBFUZZER_PATH", "/dev/null")
        .run()
}

fn cargo(workspace: &Workspace, words: &str) -> Result {
    Task::cargo(workspace).words(words).run()
}

fn clear(workspace: &Workspace) -> Result {
    let folder = workspace.viewer_check();
    match fs::remove_dir_all(&folder) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(format!("cannot empty `{}`: {err}", folder.display())),
        _ => Ok(()),
    }
}
