//! The child process that runs one scene, in an environment of its own.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

/// Variables that the recorder reads. The child does not inherit them.
const VARIABLES: [&str; 6] =
    ["FERRUM_TRACE_OUT", "FERRUM_TRACE_LIMIT", "FERRUM_TRACE_CLOCK", "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"];

/// A scene to run.
#[derive(Debug)]
pub struct Child {
    command: Command,
    input: String,
}

/// Creates a child that runs a scene.
#[macro_export]
macro_rules! child {
    ($scene:expr) => {
        $crate::child::Child::new(env!("CARGO_BIN_EXE_content-child"), $scene)
    };
}

impl Child {
    /// Creates a child from the path of the program and the name of a scene.
    pub fn new(program: &str, scene: &str) -> Self {
        let mut command = Command::new(program);
        command.arg(scene);
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        Self { command, input: String::new() }
    }

    /// Sets `FERRUM_TRACE_OUT`.
    pub fn out(self, path: impl AsRef<OsStr>) -> Self {
        self.env("FERRUM_TRACE_OUT", path)
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.command.arg(word);
        self
    }

    /// Adds a number to the arguments of the scene.
    pub fn number(self, number: u64) -> Self {
        self.arg(number.to_string())
    }

    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Sets the standard input of the scene.
    pub fn input(mut self, text: impl Into<String>) -> Self {
        self.input = text.into();
        self
    }

    /// Runs the scene to its end.
    pub fn run(mut self) -> Outcome {
        let piped = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("the child starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        // A scene that does not read its input may have ended already.
        let _ = stdin.write_all(self.input.as_bytes());
        drop(stdin);
        Outcome::new(child.wait_with_output().expect("the child ends"))
    }

    /// Runs the scene until it writes a line, and then kills it with SIGKILL.
    pub fn run_until_line_then_kill(mut self) -> Outcome {
        use std::io::{BufRead, BufReader};
        let piped = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("the child starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("the child writes a line");
        child.kill().expect("the child can be killed");
        let mut outcome = Outcome::new(child.wait_with_output().expect("the child ends"));
        outcome.stdout.insert_str(0, &line);
        outcome
    }
}

/// Status and output of a scene.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    fn new(output: Output) -> Self {
        Self {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Panics unless the scene succeeded and stderr is empty.
    #[track_caller]
    pub fn expect_quiet(self) -> Self {
        assert!(self.status.success(), "{self:#?}");
        assert_eq!(self.stderr, "", "{self:#?}");
        self
    }

    /// Panics unless the scene succeeded and the recorder wrote exactly one line; returns it without the prefix.
    #[track_caller]
    pub fn one_line(&self) -> &str {
        assert!(self.status.success(), "{self:#?}");
        let mut lines = self.stderr.lines();
        let line = lines.next().unwrap_or_else(|| panic!("expected one line, found none: {self:#?}"));
        assert_eq!(lines.next(), None, "more than one line: {self:#?}");
        line.strip_prefix("ferrum-trace: ").unwrap_or_else(|| panic!("expected a line of the recorder: {self:#?}"))
    }

    /// The number in the line `KEY=NUMBER` of the scene's output.
    #[track_caller]
    pub fn reported(&self, key: &str) -> u64 {
        let lines = self.stdout.lines().filter_map(|line| line.split_once('='));
        let value = lines.filter(|(found, _)| *found == key).map(|(_, value)| value.parse());
        match value.collect::<Vec<_>>()[..] {
            [Ok(number)] => number,
            _ => panic!("expected one line `{key}=NUMBER`: {self:#?}"),
        }
    }
}
