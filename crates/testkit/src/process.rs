//! Runs programs in tests, and panics if one hangs.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A program that takes longer than this hangs. Far longer than anything takes on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// The result of a program that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Exit status.
    pub status: ExitStatus,
    /// Standard output, without lines that were read while the program ran.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Process id.
    pub pid: u32,
}

impl Finished {
    /// Panics with the whole output unless the program ended with code 0.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        self.expect_code(0)
    }

    /// Panics with the whole output unless the program ended with this code.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    /// Panics with the whole output unless the program was terminated by this signal.
    #[track_caller]
    pub fn expect_signal(self, signal: i32) -> Self {
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&self.status), Some(signal), "{self}");
        self
    }

    /// The text after `key` on the first line of standard output that begins with it.
    #[track_caller]
    pub fn answer(&self, key: &str) -> &str {
        let found = self.answers(key).next();
        found.unwrap_or_else(|| panic!("expected a line `{key} …` on standard output\n{self}"))
    }

    /// The text after `key` on every line of standard output that begins with it.
    pub fn answers<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> {
        self.stdout.lines().filter_map(move |line| line.strip_prefix(key)?.strip_prefix(' '))
    }

    /// The number after `key`, see [`answer`](Self::answer).
    #[track_caller]
    pub fn number(&self, key: &str) -> u64 {
        let answer = self.answer(key);
        answer.parse().unwrap_or_else(|_| panic!("expected a number after `{key}`, found `{answer}`"))
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n--- stdout\n{}--- stderr\n{}", self.status, last_of(&self.stdout), last_of(&self.stderr))
    }
}

/// The last part of a long output.
fn last_of(output: &str) -> &str {
    const BYTES: usize = 8000;
    &output[output.ceil_char_boundary(output.len().saturating_sub(BYTES))..]
}

/// Runs a program until it and all programs that inherited its standard output have ended. Panics if that takes longer
/// than [`TIMEOUT`].
#[track_caller]
pub fn run(command: &mut Command) -> Finished {
    Running::start(command).finish()
}

/// A running program, in a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    is_over: bool,
}

impl Running {
    /// Starts a program.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut stderr = child.stderr.take().expect("it is piped");
        let (sender, lines) = channel();
        thread::spawn(move || {
            // The receiver is gone after a test has failed.
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line).ok())
        });
        let stderr = thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, stderr: Some(stderr), is_over: false }
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line of standard output; `None` at its end.
    #[track_caller]
    pub fn next_line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(TIMEOUT) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => self.give_up(),
        }
    }

    /// Waits until the program writes this line to standard output. Discards the lines before it.
    #[track_caller]
    pub fn wait_for_line(&mut self, wanted: &str) {
        while let Some(line) = self.next_line() {
            if line == wanted {
                return;
            }
        }
        panic!("the program ended before it wrote `{wanted}`:\n{}", self.collect());
    }

    /// Writes a line to the program's standard input. Does nothing if the program has ended.
    pub fn tell(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{line}");
        }
    }

    /// Kills the program with SIGKILL, but not its children.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Returns true if the program has ended. Its children may still run.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Closes the program's standard input and waits until it and all programs that inherited its standard output have
    /// ended.
    #[track_caller]
    pub fn finish(mut self) -> Finished {
        self.collect()
    }

    #[track_caller]
    fn collect(&mut self) -> Finished {
        self.stdin = None;
        let mut stdout = String::new();
        while let Some(line) = self.next_line() {
            stdout.push_str(&line);
            stdout.push('\n');
        }
        let status = self.child.wait().expect("the program was not waited for");
        self.is_over = true;
        Finished { status, stdout, stderr: self.take_stderr(), pid: self.child.id() }
    }

    fn take_stderr(&mut self) -> String {
        self.stderr.take().and_then(|stderr| stderr.join().ok()).unwrap_or_default()
    }

    #[track_caller]
    fn give_up(&mut self) -> ! {
        let threads = describe_group(self.child.id());
        self.kill_group();
        panic!("the program hangs:\n{threads}--- stderr\n{}", last_of(&self.take_stderr()));
    }

    fn kill_group(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
        self.is_over = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill_group();
        }
    }
}

/// Describes the system calls that the threads of a process group are in, one line per thread.
fn describe_group(group: u32) -> String {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let threads = processes
        .filter(|process| {
            let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
            // After the name, which may contain anything: state, parent, group.
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(2)) == Some(&group.to_string())
        })
        .flat_map(|process| std::fs::read_dir(process.join("task")).into_iter().flatten().flatten());
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let describe = |thread: std::fs::DirEntry| {
        let path = thread.path();
        let (name, call) = (read(path.join("comm")), read(path.join("syscall")));
        format!("{} ({name}) in system call {call}\n", path.display())
    };
    threads.map(describe).collect()
}
