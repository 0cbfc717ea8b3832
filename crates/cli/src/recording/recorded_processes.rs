//! What all processes have recorded.

use super::folder::Folder;
use super::process_tree::ProcessTree;
use super::recorded_process::{ProcessState, RecordedProcess};
use crate::input::paths::begins_like_a_spool;
use crate::user_error::UserError;
use std::path::{Path, PathBuf};

/// What all processes have recorded.
#[derive(Debug, Default)]
pub struct RecordedProcesses {
    /// By the numbers of the processes.
    pub processes: Vec<RecordedProcess>,
    /// What flight recorders have written while they went on.
    pub dumps: Vec<PathBuf>,
    /// Files that cannot be read.
    pub errors: Vec<UserError>,
}

impl RecordedProcesses {
    /// Looks at all files of a folder.
    pub fn of(folder: &Folder, tree: &ProcessTree) -> Result<Self, UserError> {
        let mut gathered = Self::default();
        for file in folder.files()? {
            match FileKind::of(&file) {
                FileKind::Dump => gathered.dumps.push(file),
                FileKind::Spool if begins_like_a_spool(&file) => match RecordedProcess::of(&file, tree) {
                    Ok(recorded) => gathered.processes.push(recorded),
                    Err(error) => gathered.errors.push(error),
                },
                FileKind::Spool | FileKind::Unfinished => {}
            }
        }
        gathered.join_parts();
        Ok(gathered)
    }

    /// Files of one rotating recording are what one process has recorded.
    fn join_parts(&mut self) {
        self.processes
            .sort_by_key(|RecordedProcess { summary, .. }| (summary.pid, summary.start_monotonic_ns, summary.part));
        self.processes.dedup_by(|later, first| {
            let is_part = first.summary.is_part_with(&later.summary);
            if is_part {
                first.go_on(later);
            }
            is_part
        });
    }

    pub fn n_events(&self) -> u64 {
        self.processes.iter().map(|recorded| recorded.summary.events).sum()
    }

    /// Events that recorders had to drop, and counted.
    pub fn n_lost(&self) -> u64 {
        self.processes.iter().map(|recorded| recorded.summary.dropped).sum()
    }

    /// Whether some process goes on.
    pub fn has_live(&self) -> bool {
        self.processes.iter().any(|recorded| recorded.state == ProcessState::StillRecording)
    }
}

/// What a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    /// What a process records to.
    Spool,
    /// What a flight recorder has written: `….dump-001.…`, after the file that it is beside.
    Dump,
    /// What a recorder needs while it writes something, `….next` and `….copy`, and had no time to remove.
    Unfinished,
}

impl FileKind {
    fn of(file: &Path) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("next" | "copy") => Self::Unfinished,
            _ if name.contains(".dump-") => Self::Dump,
            Some("spool") => Self::Spool,
            _ => Self::Unfinished,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recorder_did_not_finish_is_nothing_to_gather() {
        let kind = |name: &str| FileKind::of(Path::new(name));
        assert_eq!([kind("d/host-7.spool"), kind("host-7.7.spool")], [FileKind::Spool; 2]);
        assert_eq!([kind("host-7.dump-001.spool"), kind("host-7.dump-001.json")], [FileKind::Dump; 2]);
        let unfinished = ["host-7.spool.copy", "host-7.dump-001.spool.next", "host-7.snapshot", "notes.txt"];
        assert_eq!(unfinished.map(kind), [FileKind::Unfinished; 4]);
    }
}
