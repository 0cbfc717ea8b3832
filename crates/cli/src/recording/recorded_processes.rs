//! The recordings of all processes.

use super::folder::Folder;
use super::process_tree::ProcessTree;
use super::recorded_process::{ProcessState, RecordedFile, RecordedProcess};
use crate::input::paths::begins_like_a_spool;
use crate::user_error::UserError;
use ferrum_trace_format::spool::FILE_EXTENSION;
use std::path::{Path, PathBuf};

/// The recordings of all processes.
#[derive(Debug, Default)]
pub(crate) struct RecordedProcesses {
    /// Sorted by pid.
    pub(crate) processes: Vec<RecordedProcess>,
    /// Dumps of flight recorders.
    pub(crate) dumps: Vec<PathBuf>,
    /// Errors of files that cannot be read.
    pub(crate) errors: Vec<UserError>,
}

impl RecordedProcesses {
    /// Reads the summaries of all files in the folder.
    pub(crate) fn of(folder: &Folder, tree: &ProcessTree) -> Result<Self, UserError> {
        let mut all = Self::default();
        for file in folder.files()? {
            match FileKind::of(&file) {
                FileKind::Dump => all.dumps.push(file),
                FileKind::Spool if begins_like_a_spool(&file) => match RecordedProcess::of(&file, tree) {
                    Ok(recorded) => all.processes.push(recorded),
                    Err(error) => all.errors.push(error),
                },
                FileKind::Spool | FileKind::Unfinished => {}
            }
        }
        all.join_parts();
        Ok(all)
    }

    /// Joins the parts of rotating recordings.
    fn join_parts(&mut self) {
        self.processes
            .sort_by_key(|RecordedProcess { summary, .. }| (summary.pid, summary.start_monotonic_ns, summary.part));
        self.processes.dedup_by(|later, first| {
            let is_part = first.summary.is_part_with(&later.summary);
            if is_part {
                first.append(later);
            }
            is_part
        });
    }

    /// Returns the files that have events, with their processes.
    pub(crate) fn files(&self) -> Vec<(&RecordedProcess, &RecordedFile)> {
        let files = self.processes.iter().flat_map(|process| process.files.iter().map(move |file| (process, file)));
        files.filter(|(_, file)| file.n_events > 0).collect()
    }

    pub(crate) fn n_events(&self) -> u64 {
        self.processes.iter().map(|recorded| recorded.summary.events).sum()
    }

    /// Returns the number of dropped events.
    pub(crate) fn n_lost(&self) -> u64 {
        self.processes.iter().map(|recorded| recorded.summary.dropped).sum()
    }

    /// Returns true if a part of some file could not be read.
    pub(crate) fn has_damage(&self) -> bool {
        self.processes.iter().flat_map(|recorded| &recorded.files).any(|file| file.n_damaged > 0)
    }

    /// Returns true if some process still records.
    pub(crate) fn has_live(&self) -> bool {
        self.processes.iter().any(|recorded| recorded.state == ProcessState::StillRecording)
    }
}

/// Kind of a file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    /// The file that a process records to.
    Spool,
    /// A dump of a flight recorder, `….dump-001.…`.
    Dump,
    /// A temporary file of a recorder, `….next` or `….copy`, that it could not remove.
    Unfinished,
}

impl FileKind {
    fn of(file: &Path) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("next" | "copy") => Self::Unfinished,
            _ if name.contains(".dump-") => Self::Dump,
            Some(FILE_EXTENSION) => Self::Spool,
            _ => Self::Unfinished,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_of_recorders_are_skipped() {
        let kind = |name: &str| FileKind::of(Path::new(name));
        assert_eq!([kind("d/host-7.spool"), kind("host-7.7.spool")], [FileKind::Spool; 2]);
        assert_eq!([kind("host-7.dump-001.spool"), kind("host-7.dump-001.json")], [FileKind::Dump; 2]);
        let unfinished = ["host-7.spool.copy", "host-7.dump-001.spool.next", "host-7.snapshot", "notes.txt"];
        assert_eq!(unfinished.map(kind), [FileKind::Unfinished; 4]);
    }
}
