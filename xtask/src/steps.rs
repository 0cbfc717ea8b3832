//! Steps of `check` that only run cargo.

use std::{env, fs, io};

use crate::Result;
use crate::task::Task;
use crate::toolchain::{has_subcommand, need_component};
use crate::workspace::Workspace;

/// Manifests outside the workspace, which `cargo` in the root does not see.
const FUZZ: &str = "fuzz/Cargo.toml";
const COMPILED_OUT: &str = "tests/compiled-out/Cargo.toml";

/// Optional features that are checked too.
const FEATURES: &str = "--features ferrum-trace/http,ferrum-trace/tracing";

pub(crate) fn fmt(workspace: &Workspace) -> Result {
    need_component(workspace, "fmt", "rustfmt")?;
    cargo(workspace, "fmt --all --check")?;
    cargo(workspace, &format!("fmt --check --manifest-path {COMPILED_OUT}"))?;
    cargo(workspace, &format!("fmt --check --manifest-path {FUZZ}"))
}

pub(crate) fn clippy(workspace: &Workspace) -> Result {
    need_component(workspace, "clippy", "clippy")?;
    cargo(workspace, &format!("clippy --all-targets {FEATURES} -- -D warnings"))?;
    // In the other builds either all containers are enabled or none.
    cargo(workspace, "clippy -p ferrum-trace-format --all-targets --features zstd -- -D warnings")?;
    cargo(workspace, "clippy -p bench --all-targets -- -D warnings")
}

pub(crate) fn docs(workspace: &Workspace) -> Result {
    Task::cargo(workspace).words("doc --no-deps").words(FEATURES).env("RUSTDOCFLAGS", "-D warnings").run()
}

/// Runs all tests, also after one has failed. Deletes the traces of an earlier run first, so that `viewers` does not
/// read them.
pub(crate) fn tests(workspace: &Workspace) -> Result {
    clear(workspace)?;
    if has_subcommand(workspace, "nextest") {
        cargo(workspace, &format!("nextest run --all-targets --no-fail-fast {FEATURES}"))
    } else {
        cargo(workspace, &format!("test --all-targets --no-fail-fast {FEATURES}"))
    }
}

pub(crate) fn doctests(workspace: &Workspace) -> Result {
    cargo(workspace, &format!("test --doc {FEATURES}"))
}

/// Runs the loom tests with at most three preemptions; without a bound the search takes hours. The flag is not `--cfg
/// loom`, because tokio has no network under it and dependent crates do not compile. The target folder is separate
/// because flags rebuild every dependency.
pub(crate) fn loom(workspace: &Workspace) -> Result {
    let flags = env::var("RUSTFLAGS").unwrap_or_default();
    Task::cargo(workspace)
        .words("test -p ferrum-trace --release --test loom")
        .env("RUSTFLAGS", format!("{flags} --cfg under_loom").trim_start())
        .env("LOOM_MAX_PREEMPTIONS", "3")
        .env("CARGO_TARGET_DIR", workspace.target().join("loom"))
        .run()
}

pub(crate) fn compiled_out(workspace: &Workspace) -> Result {
    cargo(workspace, &format!("clippy --all-targets --manifest-path {COMPILED_OUT} -- -D warnings"))?;
    cargo(workspace, &format!("test --manifest-path {COMPILED_OUT}"))
}

/// Lints without linking, so that any toolchain works. The path in place of libFuzzer avoids compiling its C++.
pub(crate) fn fuzz(workspace: &Workspace) -> Result {
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
