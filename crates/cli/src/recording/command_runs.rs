//! Runs shell commands one after the other, records each run and measures it.

use super::OUT;
use super::end::End;
use super::folder::Folder;
use super::last_lines::last_lines;
use super::merge_files::merge_files;
use super::process_events::{ProcessEvent, ProcessEvents};
use super::process_tree::ProcessTree;
use super::recorded_processes::RecordedProcesses;
use super::remaining::{Waited, wait_for_remaining};

use crate::render::units::count;
use crate::sides::{Measuring, Side};
use crate::user_error::UserError;
use ferrum_trace_analyze::merge::MergedForm;
use rustix::process::Signal;
use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest sleep while a command runs. Every process event ends it earlier.
const PERIOD: Duration = Duration::from_secs(1);
/// Longest wait for processes that outlive their command and still record.
const WAIT: Duration = Duration::from_secs(10);
/// Exit code of the shell for a program that it does not find.
const NOT_FOUND: i32 = 127;
/// File with the output of the command.
const OUTPUT: &str = "output.txt";
/// The trace of a run with several processes.
const MERGED: &str = "trace.json";

/// Runs commands.
#[derive(Debug)]
pub(crate) struct CommandRuns {
    measuring: Measuring,
    keep: Option<PathBuf>,
    shows_output: bool,
    events: ProcessEvents,
    is_interrupted: Cell<bool>,
}

/// Result of a run.
#[derive(Debug)]
pub(crate) enum RunOutcome {
    /// The command ended with code 0 and recorded something. The side has one run.
    Measured(Box<Side>),
    /// A termination signal arrived. The command has received it and has ended.
    Interrupted,
}

impl CommandRuns {
    /// Prepares to run commands. Traces are kept in folders in `keep`. From now on, signals do not end this process.
    pub(crate) fn new(measuring: Measuring, keep: Option<PathBuf>, shows_output: bool) -> Result<Self, UserError> {
        let cannot = |cause| UserError::new("signals", format!("cannot forward them to the command: {cause}"));
        let events = ProcessEvents::listen().map_err(cannot)?;
        Ok(Self { measuring, keep, shows_output, events, is_interrupted: Cell::new(false) })
    }

    /// Runs a command and measures the run. `name` is the name of the run, such as `base-01`.
    pub(crate) fn measure(&self, command: &str, name: &str) -> Result<RunOutcome, UserError> {
        let folder = match &self.keep {
            Some(keep) => Folder::named(&keep.join(name))?,
            None => Folder::temporary()?,
        };
        let start = now_unix_ns();
        let Some(recorded) = self.record(command, name, &folder)? else {
            folder.remove();
            return Ok(RunOutcome::Interrupted);
        };
        let trace = self.one_trace(&recorded, &folder)?;
        let mut side = self.measuring.side(std::slice::from_ref(&trace))?;
        join_runs(&mut side, name, start);
        let place = trace.display().to_string();
        side.notes.iter_mut().for_each(|note| *note = note.replace(&place, name));
        Ok(RunOutcome::Measured(Box::new(side)))
    }

    /// Runs a command, and forgets the recording. Returns false if a termination signal arrived.
    pub(crate) fn warm_up(&self, command: &str, name: &str) -> Result<bool, UserError> {
        let folder = Folder::temporary()?;
        Ok(self.record(command, name, &folder)?.is_some())
    }

    /// Returns true if a termination signal has arrived, also between two runs.
    pub(crate) fn is_interrupted(&self) -> bool {
        while let Some(event) = self.events.next(Duration::ZERO) {
            if let ProcessEvent::Signal(signal) = event
                && signal.is_termination()
            {
                self.is_interrupted.set(true);
            }
        }
        self.is_interrupted.get()
    }

    /// Makes signals end this process again, after all runs.
    pub(crate) fn finish(&self, exit_message: &str) {
        self.events.exit_on_signal(exit_message.to_owned());
    }

    /// Runs a command until its last process has ended. Returns `None` if it was interrupted.
    fn record(&self, command: &str, name: &str, folder: &Folder) -> Result<Option<RecordedProcesses>, UserError> {
        if self.is_interrupted() {
            return Ok(None);
        }
        let run = Run { command, name, folder };
        let mut tree = self.start(&run)?;
        let end = self.wait(&mut tree);
        if end != End::Exit(0) && !self.is_interrupted.get() {
            return Err(run.failed(end));
        }
        let waited = wait_for_remaining(&mut tree, folder, &self.events, WAIT, |_| {})?;
        if waited == Waited::UntilSignal {
            self.is_interrupted.set(true);
        }
        if self.is_interrupted.get() {
            return Ok(None);
        }
        run.checked(RecordedProcesses::of(folder, &tree)?).map(Some)
    }

    fn start(&self, run: &Run) -> Result<ProcessTree, UserError> {
        let cannot = |cause: io::Error| run.error(format!("cannot be started: {cause}"));
        let mut command = Command::new("sh");
        command.args(["-c", run.command]).env(OUT, run.folder.pattern()).stdin(Stdio::null());
        if self.shows_output {
            command.stdout(io::stderr()).stderr(io::stderr());
        } else {
            let output = File::create(run.output()).map_err(cannot)?;
            command.stdout(output.try_clone().map_err(cannot)?).stderr(output);
        }
        ProcessTree::start_group(&mut command).map_err(cannot)
    }

    /// Waits for the end of the program. The first termination signal is forwarded, the second kills the program.
    fn wait(&self, tree: &mut ProcessTree) -> End {
        loop {
            tree.reap();
            if let Some(end) = tree.end() {
                return end;
            }
            let Some(ProcessEvent::Signal(received)) = self.events.next(PERIOD) else { continue };
            if received.is_termination() && self.is_interrupted.replace(true) {
                tree.signal_group(Signal::KILL);
            } else {
                tree.signal_group(received.signal);
            }
        }
    }

    /// Returns the path of the trace of all processes, which is the only trace in the folder.
    fn one_trace(&self, recorded: &RecordedProcesses, folder: &Folder) -> Result<PathBuf, UserError> {
        let files = recorded.files();
        if let [(_, one)] = &files[..] {
            return Ok(one.path.clone());
        }
        let merged = folder.path().join(MERGED);
        merge_files(&files, &merged, MergedForm::Chrome, &self.measuring.messages)?;
        for (_, file) in files {
            // A file that stays is in a temporary folder, or is read again with a kept one. One with damage stays under
            // another name, because the merged trace lacks a part of it.
            let _ = match file.n_damaged {
                0 => fs::remove_file(&file.path),
                _ => fs::rename(&file.path, file.path.with_added_extension("damaged")),
            };
        }
        Ok(merged)
    }
}

/// A run of a command.
struct Run<'a> {
    command: &'a str,
    name: &'a str,
    folder: &'a Folder,
}

impl Run<'_> {
    fn output(&self) -> PathBuf {
        self.folder.path().join(OUTPUT)
    }

    fn error(&self, what: String) -> UserError {
        UserError::new(format!("{}: `{}`", self.name, self.command), what)
    }

    /// Returns the error of a command that failed.
    fn failed(&self, end: End) -> UserError {
        let error = self.error(format!("expected exit 0, found {end}{}", self.last_lines()));
        match end {
            End::Exit(NOT_FOUND) => error.hint("the shell has not found the program"),
            _ => error,
        }
    }

    fn last_lines(&self) -> String {
        match last_lines(&self.output()) {
            lines if lines.is_empty() => String::new(),
            lines => format!("; the last lines of its output:{lines}"),
        }
    }

    /// Returns the recordings if they can be measured.
    fn checked(&self, mut recorded: RecordedProcesses) -> Result<RecordedProcesses, UserError> {
        if let Some(error) = recorded.errors.pop() {
            return Err(error);
        }
        if recorded.has_live() {
            let what = "expected all processes to end with the command; some still record";
            return Err(self.error(what.to_owned()).hint("end background processes before the command ends"));
        }
        if recorded.n_events() == 0 {
            let processes = count(recorded.processes.len() as u64, "process");
            let what = format!("recorded nothing ({processes} with a recorder){}", self.last_lines());
            let hint = "check that it links ferrum-trace without the feature `compiled-out`, executes a span, and does \
                        not set FERRUM_TRACE_OUT itself";
            return Err(self.error(what).hint(hint));
        }
        Ok(recorded)
    }
}

/// Makes one run of all traces: they belong to one command.
fn join_runs(side: &mut Side, name: &str, start_unix_ns: Option<i64>) {
    let mut runs = std::mem::take(&mut side.runs).into_iter();
    if let Some(mut run) = runs.next() {
        runs.for_each(|other| run.join(other));
        run.names = vec![name.to_owned()];
        run.start_unix_ns = start_unix_ns.or(run.start_unix_ns);
        side.runs.push(run);
    }
}

/// Returns the time in nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "orders the runs of commands")]
fn now_unix_ns() -> Option<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}
