//! Runs the scenes of `behavior-child`, and reads their files.
#![allow(dead_code, reason = "each test program uses a part of it")]

use ferrum_trace_format::spool::{Summary, to_chrome};
pub use ferrum_trace_testkit::process::{Finished, Running};
pub use ferrum_trace_testkit::trace_file::TraceFile;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder for scenes, deleted when dropped.
pub struct Stage {
    folder: TempDir,
}

impl Stage {
    pub fn new() -> Self {
        Self { folder: TempDir::with_prefix("ferrum-behavior-").unwrap() }
    }

    /// Path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Path of the trace.
    pub fn trace(&self) -> PathBuf {
        self.path("trace.json")
    }

    /// The command for a scene. It records to [`trace`](Self::trace) and may write files into the folder.
    pub fn scene(&self, name: &str) -> Command {
        self.scene_of(env!("CARGO_BIN_EXE_behavior-child").as_ref(), name)
    }

    /// The command for a scene of another build of the program.
    pub fn scene_of(&self, program: &Path, name: &str) -> Command {
        let mut command = Command::new(program);
        command.arg(name).current_dir(self.folder.path()).env("FERRUM_TRACE_OUT", self.trace());
        command
    }

    /// The command for a scene that starts its recordings itself.
    pub fn scene_without_env(&self, name: &str) -> Command {
        let mut command = self.scene(name);
        command.env_remove("FERRUM_TRACE_OUT");
        command
    }

    /// Runs a scene to its end.
    #[track_caller]
    pub fn run(&self, name: &str) -> Finished {
        ferrum_trace_testkit::process::run(&mut self.scene(name))
    }

    /// Starts a scene.
    #[track_caller]
    pub fn start(&self, name: &str) -> Running {
        Running::start(&mut self.scene(name))
    }

    /// The trace of a scene that has ended by itself. Panics if other files of the recording remain.
    #[track_caller]
    pub fn finished_trace(&self) -> TraceFile {
        let leftovers: Vec<String> = self.files().into_iter().filter(|name| name.starts_with("trace.json.")).collect();
        assert!(leftovers.is_empty(), "files beside the trace: {leftovers:?}");
        TraceFile::read(&self.trace())
    }

    /// Names of all files in the folder.
    pub fn files(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Counters of the scene, see `SharedCounters`; also if it was killed.
    pub fn counters(&self) -> Vec<u64> {
        // One number per cache line.
        let bytes = std::fs::read(self.path("counters")).unwrap_or_default();
        bytes.as_chunks::<64>().0.iter().map(|line| u64::from_le_bytes(line[..8].try_into().unwrap())).collect()
    }
}

/// The trace in an undamaged spool, and the reader's summary.
#[track_caller]
pub fn recover(spool: &Path) -> (TraceFile, Summary) {
    let file = File::open(spool).unwrap_or_else(|error| panic!("{}: {error}", spool.display()));
    let mut json = Vec::new();
    let summary = to_chrome(&file, &mut json, 2).unwrap_or_else(|error| panic!("{}: {error}", spool.display()));
    assert_eq!(summary.n_diagnostics, 0, "{:?}", summary.diagnostics);
    let trace = TraceFile::parse(&json).unwrap_or_else(|wrong| panic!("{}: {wrong}", spool.display()));
    (trace, summary)
}

/// Panics unless the numbers are 1, 2, 3 and so on, each once.
#[track_caller]
pub fn assert_counts_up(numbers: &[u64]) {
    let gap = numbers.iter().zip(1..).find(|&(&number, expected)| number != expected);
    if let Some((number, expected)) = gap {
        panic!("expected {expected}, found {number}, among {}", numbers.len());
    }
}

/// Sends a signal to a scene, as users do.
#[track_caller]
pub fn send(signal: &str, scene: &Running) {
    let sent = Command::new("kill").args(["-s", signal, &scene.pid().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Builds this package's program with `panic = "abort"`. Dependencies are compiled once per target folder.
pub fn build_with_panic_abort() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("panic-abort");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--locked", "--bin", "behavior-child"]);
    cargo.args(["--config", "profile.dev.panic='abort'"]);
    cargo.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(&target);
    // Without the time limit of scenes: two tests need it, and a busy machine takes minutes.
    let built = cargo.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("debug/behavior-child")
}
