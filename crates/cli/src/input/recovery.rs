//! Recovers traces from spools.

use super::paths::{Input, trace_path};
use super::spool_file::{Owner, SpoolFile};
use crate::output::pending_file::Existing;
use crate::output::recorder_leftovers;
use crate::output::target::{Failure, Target, TraceWriter};
use crate::render::progress::{Progress, Watched};
use crate::user_error::UserError;
use ferrum_trace_format::ReadAt;
use ferrum_trace_format::spool::{Summary, is_spool, to_chrome, to_format};
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::path::Path;

/// Largest number of threads per spool.
const WORKERS_MAX: usize = 8;

/// Options of a recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    /// The output; by default, the name of the spool without `.spool`.
    pub(crate) target: Option<Target>,
    /// Replace an existing file.
    pub(crate) force: bool,
    /// Keep the spool.
    pub(crate) keep: bool,
}

/// The result of a recovery.
#[derive(Debug)]
pub(crate) enum Outcome {
    Recovered(Box<Recovered>),
    /// The reader of the trace has closed the pipe.
    ClosedPipe,
}

/// A recovered trace.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// The spool.
    pub(crate) input: Input,
    pub(crate) target: Target,
    pub(crate) summary: Summary,
    /// The reason why the spool still exists; `None` if it was removed, or never was a file.
    pub(crate) kept: Option<KeepReason>,
    /// Errors of files that could not be removed.
    pub(crate) cleanup_errors: Vec<UserError>,
}

/// The reason why a spool was not removed.
#[derive(Debug)]
pub(crate) enum KeepReason {
    /// The user keeps it, or it is an output that its recorder has finished.
    Requested,
    /// Its process still records.
    StillRecording,
    /// The system cannot report if its process still records.
    Unknown(io::Error),
    /// A part of it could not be read: this one.
    Incomplete(String),
}

impl KeepReason {
    /// Returns the name in JSON.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::StillRecording => "still records",
            Self::Unknown(_) => "unknown",
            Self::Incomplete(_) => "incomplete",
        }
    }
}

impl Recovered {
    /// Returns true if the process still records.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.kept, Some(KeepReason::StillRecording))
    }
}

impl Recovery {
    /// Writes the trace of a spool.
    pub(crate) fn run(&self, input: Input) -> Result<Outcome, UserError> {
        let spool = open(&input)?;
        check_is_spool(&spool.file, &input.label())?;
        let target = self.target_for(input.path())?;
        if !matches!(spool.owner, Owner::Us | Owner::Copy) {
            leave_to_recorder(&target, input.path())?;
        }
        let existing = if self.force { Existing::Replace } else { Existing::Keep };
        let summary = match write(&spool.file, &input, &target, existing)? {
            Written::Complete(summary) => *summary,
            Written::ClosedPipe => return Ok(Outcome::ClosedPipe),
        };
        let (kept, cleanup_errors) = self.clean_up(input.path(), spool, &target, &summary);
        Ok(Outcome::Recovered(Box::new(Recovered { input, target, summary, kept, cleanup_errors })))
    }

    fn target_for(&self, path: Option<&Path>) -> Result<Target, UserError> {
        let target = match (&self.target, path) {
            (Some(target), _) => target.clone(),
            (None, None) => Target::Stdout,
            (None, Some(path)) => match trace_path(path) {
                Some(trace) => Target::File(trace),
                None => return Err(no_name(path)),
            },
        };
        match path {
            Some(path) if target.is_at(path) => Err(no_name(path)),
            _ => Ok(target),
        }
    }

    /// Removes the spool and the recorder's other files after the trace was written. A spool that its recorder has
    /// finished is an output itself and is kept, and so is one that could not be read completely.
    fn clean_up(
        &self,
        path: Option<&Path>,
        spool: SpoolFile,
        target: &Target,
        summary: &Summary,
    ) -> (Option<KeepReason>, Vec<UserError>) {
        let Some(path) = path else {
            return (None, Vec::new());
        };
        let mut cleanup_errors = Vec::new();
        let kept = match spool.owner {
            Owner::Copy => return (None, cleanup_errors),
            Owner::Recorder => return (Some(KeepReason::StillRecording), cleanup_errors),
            Owner::Unknown(cause) => return (Some(KeepReason::Unknown(cause)), cleanup_errors),
            Owner::Us if *target == Target::Stdout => return (Some(KeepReason::Requested), cleanup_errors),
            Owner::Us if self.keep || summary.finished => Some(KeepReason::Requested),
            Owner::Us => match summary.why_incomplete() {
                Some(why) => Some(KeepReason::Incomplete(why)),
                None => {
                    cleanup_errors.extend(remove(path).err());
                    None
                }
            },
        };
        if let Some(trace) = trace_path(path) {
            let files = recorder_leftovers::beside(&trace);
            cleanup_errors.extend(files.iter().filter_map(|file| remove(file).err()));
        }
        // The lock kept other processes from using the spool's name until here.
        drop(spool.file);
        (kept, cleanup_errors)
    }
}

fn open(input: &Input) -> Result<SpoolFile, UserError> {
    let progress = Progress::start(input.label(), None);
    let copied = |n_bytes| progress.advance(n_bytes);
    match input.path() {
        Some(path) => SpoolFile::open(path, copied),
        None if io::stdin().is_terminal() => {
            let error = UserError::new(input.label(), "expected a spool, found a terminal");
            Err(error.hint("`ferrum-trace recover - < trace.json.spool`"))
        }
        None => SpoolFile::copy(io::stdin().lock(), &input.label(), copied),
    }
}

/// Refuses to replace the trace of a live recorder: it swaps the trace with a second file at each flush, and would lose
/// the recording if the trace were another file.
fn leave_to_recorder(target: &Target, spool: Option<&Path>) -> Result<(), UserError> {
    match spool.and_then(trace_path) {
        Some(trace) if target.is_at(&trace) && trace.exists() => {
            let error = UserError::at(&trace, "its process still records and updates the trace itself");
            Err(error.hint("use `-o PATH` to write a snapshot elsewhere"))
        }
        _ => Ok(()),
    }
}

/// The result of writing.
enum Written {
    Complete(Box<Summary>),
    ClosedPipe,
}

fn write(spool: &File, input: &Input, target: &Target, existing: Existing) -> Result<Written, UserError> {
    let name = input.label();
    let mut out = target.begin(existing)?;
    let progress = Progress::start(name.clone(), spool.size().ok());
    let form = target.form();
    let converted = to_format(&Watched { file: spool, progress: &progress }, &mut out, form, n_workers());
    progress.wait_for_disk();
    let failure = match converted {
        Ok(summary) => match out.commit() {
            Ok(()) => return Ok(Written::Complete(Box::new(summary))),
            Err(failure) => failure,
        },
        Err(error) => failure_of(&mut out, &name, &error),
    };
    match failure {
        Failure::ClosedPipe => Ok(Written::ClosedPipe),
        Failure::Error(error) => Err(error),
    }
}

fn failure_of(out: &mut TraceWriter, name: &str, error: &ferrum_trace_format::Error) -> Failure {
    out.failure().unwrap_or_else(|| Failure::Error(UserError::new(name, error.to_string())))
}

/// Number of bytes that identify a spool.
const HEADER_BYTES: usize = 512;

/// Returns an error if the file is not a spool, before anything else is checked.
fn check_is_spool(spool: &File, name: &str) -> Result<(), UserError> {
    let cannot = |cause: io::Error| UserError::new(name, format!("cannot read the spool: {cause}"));
    let mut first_bytes = [0; HEADER_BYTES];
    let n_bytes = spool.read_at(&mut first_bytes, 0).map_err(cannot)?;
    let first_bytes = &first_bytes[..n_bytes];
    if first_bytes.is_empty() {
        let error = UserError::new(name, "expected a spool, found an empty file");
        return Err(error.hint("its process ended before it began to record"));
    }
    match to_chrome(first_bytes, &mut io::sink(), 1) {
        Err(error) if error.is_wrong_format() => {
            let error = UserError::new(name, error.to_string());
            Err(match first_bytes.trim_ascii_start() {
                bytes if is_spool(bytes) && n_bytes == HEADER_BYTES => {
                    error.hint("use the version of ferrum-trace that recorded it")
                }
                [b'[' | b'{', ..] => error.hint("this looks like a finished trace, which needs no recovery"),
                _ => error,
            })
        }
        _ => Ok(()),
    }
}

fn no_name(path: &Path) -> UserError {
    let what = "the spool's name does not end in `.spool`, so the trace needs another name";
    UserError::at(path, what).hint("use `-o PATH` to name the trace")
}

fn remove(path: &Path) -> Result<(), UserError> {
    fs::remove_file(path).map_err(|cause| UserError::at(path, format!("cannot remove: {cause}")))
}

/// Returns the number of processors, at most [`WORKERS_MAX`].
fn n_workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX)
}
