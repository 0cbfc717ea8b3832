//! Runs the command in a folder of its own.

use ferrum_trace_testkit::trace_file::TraceFile;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder that the command is run in.
pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Creates a folder with one file.
    pub(crate) fn with(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let scene = Self::new();
        scene.write(name, bytes);
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Returns the names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Returns the number of events of a trace. It is read strictly, and its slices must nest.
    pub(crate) fn n_events(&self, trace: &str) -> usize {
        let file = TraceFile::read(&self.path(trace));
        file.assert_nested();
        file.recorded().count()
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ferrum-trace"));
        command.current_dir(self.folder.path()).args(line.split_whitespace());
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs the command with these arguments, which are separated by spaces.
    pub(crate) fn run(&self, line: &str) -> Run {
        Run::of(self.command(line).output().unwrap())
    }

    /// Like [`run`](Self::run), with standard input.
    pub(crate) fn run_with_stdin(&self, line: &str, bytes: &[u8]) -> Run {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            // Fails if the command stops reading.
            scope.spawn(move || stdin.write_all(bytes));
            child.wait_with_output()
        });
        Run::of(output.unwrap())
    }
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let run = Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
        run
    }

    /// Panics unless the run ended with this code, standard output and standard error.
    #[track_caller]
    pub(crate) fn expect(self, code: i32, stdout: &str, stderr: &str) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.stdout, stdout);
        assert_eq!(self.stderr, stderr);
    }

    /// Panics unless the run ended with this code.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}
