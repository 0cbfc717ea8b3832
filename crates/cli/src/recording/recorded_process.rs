//! The recording of one process.

use super::end::End;
use super::process_tree::ProcessTree;
use crate::input::paths::Input;
use crate::input::recovery::{Outcome, Recovery};
use crate::input::spool_file::{Owner, SpoolFile};
use crate::output::target::Target;
use crate::user_error::UserError;
use ferrum_trace_format::spool::{EventCounter, Summary};
use std::fmt;
use std::path::{Path, PathBuf};

/// The recording of one process.
#[derive(Debug)]
pub(crate) struct RecordedProcess {
    /// One file, or the parts of a rotating recording in their order.
    pub(crate) files: Vec<RecordedFile>,
    pub(crate) state: ProcessState,
    /// Summary of all files.
    pub(crate) summary: Summary,
}

/// A file of a recording.
#[derive(Debug)]
pub(crate) struct RecordedFile {
    /// The file to read: a spool, or a snapshot of a spool that still grows.
    pub(crate) path: PathBuf,
    pub(crate) n_events: u64,
    pub(crate) n_damaged: u64,
}

/// The state of a process that recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessState {
    /// It ended in this way.
    Ended(End),
    /// It ended and completed its file. Its exit code is known only to its parent.
    CompletedFile,
    /// It ended and did not complete its file: it was killed, or exited without running exit handlers.
    Killed,
    /// It still records.
    StillRecording,
}

impl RecordedProcess {
    /// Reads the summary of a spool.
    pub(crate) fn of(spool: &Path, tree: &ProcessTree) -> Result<Self, UserError> {
        let SpoolFile { file, owner } = SpoolFile::open(spool, |_| {})?;
        let wrong = |error: ferrum_trace_format::Error| UserError::at(spool, error.to_string());
        let mut counter = EventCounter::open(&file).map_err(wrong)?;
        let summary = counter.summary(&file).map_err(wrong)?;
        let state = ProcessState::of(&summary, &owner, tree.end_of(summary.pid));
        if state == ProcessState::StillRecording {
            return Self::snapshot(spool);
        }
        Ok(Self::of_file(spool.to_owned(), state, summary))
    }

    fn of_file(path: PathBuf, state: ProcessState, summary: Summary) -> Self {
        let file = RecordedFile { path, n_events: summary.events, n_damaged: summary.n_diagnostics };
        Self { files: vec![file], state, summary }
    }

    /// Appends a later part of the same recording.
    pub(crate) fn append(&mut self, later: &mut Self) {
        self.files.append(&mut later.files);
        if self.state != ProcessState::StillRecording {
            self.state = later.state;
        }
        self.summary.events += later.summary.events;
        self.summary.dropped += later.summary.dropped;
        self.summary.recording.add_part(&later.summary.recording);
        // Most threads are in all parts, and the others are not identified. The recorder counts them in the same way.
        self.summary.threads = self.summary.threads.max(later.summary.threads);
    }

    /// Copies the spool of a live process, because it would change between two passes.
    fn snapshot(spool: &Path) -> Result<Self, UserError> {
        let file = spool.with_extension("snapshot");
        let recovery = Recovery { target: Some(Target::File(file.clone())), force: true, keep: true };
        match recovery.run(Input::Spool(spool.to_owned()))? {
            Outcome::Recovered(recovered) => {
                // The process may have ended meanwhile; the snapshot is complete anyway.
                let state =
                    if recovered.summary.finished { ProcessState::CompletedFile } else { ProcessState::StillRecording };
                Ok(Self::of_file(file, state, recovered.summary))
            }
            Outcome::ClosedPipe => Err(UserError::at(&file, "cannot write")),
        }
    }
}

impl ProcessState {
    fn of(summary: &Summary, owner: &Owner, end: Option<End>) -> Self {
        match (end, owner) {
            (Some(end), _) => Self::Ended(end),
            (None, _) if summary.finished => Self::CompletedFile,
            (None, Owner::Us | Owner::Copy) => Self::Killed,
            (None, Owner::Recorder | Owner::Unknown(_)) => Self::StillRecording,
        }
    }

    /// Returns the name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ended(End::Exit(_)) => "exit",
            Self::Ended(End::Signal(_)) => "signal",
            Self::CompletedFile => "by itself",
            Self::Killed => "killed",
            Self::StillRecording => "still records",
        }
    }
}

impl fmt::Display for ProcessState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(end) => end.fmt(f),
            Self::CompletedFile | Self::Killed | Self::StillRecording => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_state_is_reported() {
        let finished = Summary { finished: true, ..Summary::default() };
        let open = Summary::default();
        let state = |summary, owner, end| ProcessState::of(summary, &owner, end).to_string();
        assert_eq!(state(&finished, Owner::Us, Some(End::Exit(3))), "exit 3");
        assert_eq!(state(&open, Owner::Us, Some(End::Signal(9))), "SIGKILL");
        assert_eq!(state(&finished, Owner::Us, None), "by itself");
        assert_eq!(state(&open, Owner::Us, None), "killed");
        assert_eq!(state(&open, Owner::Recorder, None), "still records");
    }
}
