//! External programs that a chore runs.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

use crate::Result;
use crate::workspace::Workspace;

/// A command in the root of the workspace, with the text to show for it.
pub(crate) struct Task {
    command: Command,
    shown: String,
}

impl Task {
    /// The program `name`, searched in `PATH`.
    pub(crate) fn new(workspace: &Workspace, name: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(&name);
        command.current_dir(workspace.root()).env("CARGO_TARGET_DIR", workspace.target());
        let shown = name.as_ref().to_string_lossy().into_owned();
        Self { command, shown }
    }

    /// The cargo that started this program.
    pub(crate) fn cargo(workspace: &Workspace) -> Self {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let task = Self::new(workspace, program);
        Self { shown: "cargo".into(), ..task }
    }

    /// Adds arguments, separated by blanks. They must not contain characters special to a shell.
    pub(crate) fn words(self, words: &str) -> Self {
        words.split_whitespace().fold(self, Self::arg)
    }

    pub(crate) fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.command.arg(&word);
        self.shown = format!("{} {}", self.shown, word.as_ref().to_string_lossy());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, &value);
        let value = value.as_ref().to_string_lossy();
        self.shown = format!("{name}='{value}' {}", self.shown);
        self
    }

    /// Runs the program and shows its output, all of it on stdout: cargo and its test runners report on stderr, and a
    /// log of one stream should have the summary.
    pub(crate) fn run(mut self) -> Result {
        println!("$ {}", self.shown);
        let status = self
            .command
            .stdin(Stdio::null())
            .stderr(Stdio::from(io::stdout()))
            .status()
            .map_err(|err| self.not_started(&err))?;
        if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", self.shown)) }
    }

    /// Runs the program and returns its stdout.
    pub(crate) fn output(mut self) -> Result<Vec<u8>> {
        let output = self.command.stdin(Stdio::null()).output().map_err(|err| self.not_started(&err))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(format!("`{}` failed ({}): {}", self.shown, output.status, stderr.trim()))
    }

    fn not_started(&self, err: &io::Error) -> String {
        let program = self.command.get_program().to_string_lossy();
        format!("cannot start `{program}`: {err}\n\nhint: CONTRIBUTING.md lists what must be installed")
    }
}
