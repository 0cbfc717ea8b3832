//! How the tests run the scenes of `behavior-child`, and read what these leave.
#![allow(dead_code, reason = "each test program uses a part of it")]

use ferrum_trace_format::spool::{Summary, to_chrome};
pub use ferrum_trace_testkit::process::{Finished, Running};
pub use ferrum_trace_testkit::trace_file::TraceFile;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder in which scenes are played, one after the other or together. Gone when it is dropped.
pub struct Stage {
    folder: TempDir,
}

impl Stage {
    pub fn new() -> Self {
        Self { folder: TempDir::with_prefix("ferrum-behavior-").unwrap() }
    }

    /// A file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where the traces of scenes go.
    pub fn trace(&self) -> PathBuf {
        self.path("trace.json")
    }

    /// A scene, yet to be played. It records to [`trace`](Self::trace) and may leave files in the folder.
    pub fn scene(&self, name: &str) -> Command {
        self.scene_of(env!("CARGO_BIN_EXE_behavior-child").as_ref(), name)
    }

    /// The same of another build of the program.
    pub fn scene_of(&self, program: &Path, name: &str) -> Command {
        let mut command = Command::new(program);
        command.arg(name).current_dir(self.folder.path()).env("FERRUM_TRACE_OUT", self.trace());
        command
    }

    /// A scene that begins recordings by itself.
    pub fn scene_of_its_own(&self, name: &str) -> Command {
        let mut command = self.scene(name);
        command.env_remove("FERRUM_TRACE_OUT");
        command
    }

    /// Plays a scene to its end.
    #[track_caller]
    pub fn play(&self, name: &str) -> Finished {
        ferrum_trace_testkit::process::run(&mut self.scene(name))
    }

    /// Begins a scene.
    #[track_caller]
    pub fn begin(&self, name: &str) -> Running {
        Running::start(&mut self.scene(name))
    }

    /// The trace of a scene that has ended by itself: it is there, and nothing else of it is.
    #[track_caller]
    pub fn finished_trace(&self) -> TraceFile {
        let leftovers: Vec<String> = self.files().into_iter().filter(|name| name.starts_with("trace.json.")).collect();
        assert!(leftovers.is_empty(), "beside the trace lies {leftovers:?}");
        TraceFile::read(&self.trace())
    }

    /// The names of all files in the folder.
    pub fn files(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// What the scene has counted, see `SharedCounters`. Also of one that was killed.
    pub fn counters(&self) -> Vec<u64> {
        // One number on each cache line.
        let bytes = std::fs::read(self.path("counters")).unwrap_or_default();
        bytes.as_chunks::<64>().0.iter().map(|line| u64::from_le_bytes(line[..8].try_into().unwrap())).collect()
    }
}

/// The trace in a spool that is not damaged, and what the reader says of it.
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

/// Sends a signal to a scene, the way users do.
#[track_caller]
pub fn send(signal: &str, scene: &Running) {
    let sent = Command::new("kill").args(["-s", signal, &scene.pid().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Builds this package's program anew, such that a panic aborts it. Dependencies are compiled once a target folder.
pub fn build_with_panic_abort() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("panic-abort");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--locked", "--bin", "behavior-child"]);
    cargo.args(["--config", "profile.dev.panic='abort'"]);
    cargo.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(&target);
    // As long as it takes: compiling is no hanging.
    assert!(cargo.status().unwrap().success());
    target.join("debug/behavior-child")
}
