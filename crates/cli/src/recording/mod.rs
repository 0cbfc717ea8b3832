//! Programs that this command runs and records: their processes, the signals for them, and the files that they write.

mod command_runs;
mod end;
mod folder;
mod last_lines;
mod merge_files;
mod process_events;
mod process_tree;
mod recorded_process;
mod recorded_processes;
mod remaining;
mod run_progress;

pub(crate) use command_runs::{CommandRuns, RunOutcome};
pub(crate) use end::End;
pub(crate) use folder::Folder;
pub(crate) use merge_files::{closed_pipe, merge_files};
pub(crate) use process_events::{ProcessEvent, ProcessEvents};
pub(crate) use process_tree::ProcessTree;
pub(crate) use recorded_process::{ProcessState, RecordedFile, RecordedProcess};
pub(crate) use recorded_processes::RecordedProcesses;
pub(crate) use remaining::wait_for_remaining;
pub(crate) use run_progress::RunProgress;

/// The variable that sets the output of a recording.
pub(crate) const OUT: &str = "FERRUM_TRACE_OUT";
