//! The object of `record`.

use crate::commands::summary::SummaryObject;
use crate::recording::{End, ProcessState, RecordedProcess, RecordedProcesses};
use crate::render::json::{RecordingObject, VERSION};
use ferrum_trace_analyze::merge::Merged;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Serialize)]
pub(crate) struct RecordObject<'a> {
    version: u32,
    program: Vec<String>,
    code: Option<i32>,
    signal: Option<i32>,
    output: Option<String>,
    clock_error_ns: Option<u64>,
    folder: Option<String>,
    processes: Vec<ProcessObject<'a>>,
    dumps: Vec<String>,
    summary: Option<SummaryObject<'a>>,
    error: Option<String>,
}

#[derive(Serialize)]
struct ProcessObject<'a> {
    pid: u32,
    name: &'a str,
    rank: Option<u32>,
    ended: &'static str,
    code: Option<i32>,
    signal: Option<i32>,
    threads: usize,
    events: u64,
    lost: u64,
    recorder: RecordingObject<'a>,
}

/// Results of a run.
pub(crate) struct RunResult<'a> {
    pub(crate) program: &'a [OsString],
    pub(crate) end: End,
    pub(crate) recorded: &'a RecordedProcesses,
    pub(crate) output: Option<&'a Path>,
    /// The result of merging, if there were several files.
    pub(crate) merged: Option<&'a Merged>,
    pub(crate) folder: Option<&'a Path>,
    pub(crate) dumps: &'a [PathBuf],
    pub(crate) error: Option<String>,
}

impl<'a> RecordObject<'a> {
    pub(crate) fn new(result: RunResult<'a>, summary: Option<SummaryObject<'a>>) -> Self {
        let (code, signal) = split(result.end);
        let spelled = |path: &Path| path.display().to_string();
        Self {
            version: VERSION,
            program: result.program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            code,
            signal,
            output: result.output.map(spelled),
            clock_error_ns: result.merged.and_then(Merged::error_ns),
            folder: result.folder.map(spelled),
            processes: result.recorded.processes.iter().map(ProcessObject::of).collect(),
            dumps: result.dumps.iter().map(|dump| spelled(dump)).collect(),
            summary,
            error: result.error,
        }
    }
}

impl<'a> ProcessObject<'a> {
    fn of(recorded: &'a RecordedProcess) -> Self {
        let RecordedProcess { state, summary, .. } = recorded;
        let (code, signal) = match *state {
            ProcessState::Ended(end) => split(end),
            ProcessState::CompletedFile | ProcessState::Killed | ProcessState::StillRecording => (None, None),
        };
        Self {
            pid: summary.pid,
            name: &summary.process,
            rank: summary.rank,
            ended: state.name(),
            code,
            signal,
            threads: summary.threads,
            events: summary.events,
            lost: summary.dropped,
            recorder: (&summary.recording).into(),
        }
    }
}

/// Returns the exit code or the signal.
fn split(end: End) -> (Option<i32>, Option<i32>) {
    match end {
        End::Exit(code) => (Some(code), None),
        End::Signal(signal) => (None, Some(signal)),
    }
}
