//! The program that `record` runs: its processes, the signals for them, and the files that they write.

mod end;
mod folder;
mod process_events;
mod process_tree;
mod recorded_process;
mod recorded_processes;
mod remaining;

pub(crate) use end::End;
pub(crate) use folder::Folder;
pub(crate) use process_events::{ProcessEvent, ProcessEvents};
pub(crate) use process_tree::ProcessTree;
pub(crate) use recorded_process::{ProcessState, RecordedFile, RecordedProcess};
pub(crate) use recorded_processes::RecordedProcesses;
pub(crate) use remaining::wait_for_remaining;
