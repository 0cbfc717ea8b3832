//! The program that `record` runs: its processes, the signals for them, and the files that they write.

mod end;
mod folder;
mod process_events;
mod process_tree;
mod recorded_process;
mod recorded_processes;
mod remaining;

pub use end::End;
pub use folder::Folder;
pub use process_events::{ProcessEvent, ProcessEvents};
pub use process_tree::ProcessTree;
pub use recorded_process::{ProcessState, RecordedFile, RecordedProcess};
pub use recorded_processes::RecordedProcesses;
pub use remaining::wait_for_remaining;
