//! What all processes have recorded.

use super::folder::Folder;
use super::recorded::{Fate, Recorded};
use super::tree::Tree;
use crate::input::begins_like_a_spool;
use crate::trouble::Trouble;
use std::path::{Path, PathBuf};

/// What all processes have recorded.
#[derive(Debug, Default)]
pub struct Gathered {
    /// By the numbers of the processes.
    pub recorded: Vec<Recorded>,
    /// What flight recorders have written while they went on.
    pub dumps: Vec<PathBuf>,
    /// Files that cannot be read.
    pub troubles: Vec<Trouble>,
}

impl Gathered {
    /// Looks at all files of a folder.
    pub fn of(folder: &Folder, tree: &Tree) -> Result<Self, Trouble> {
        let mut gathered = Self::default();
        for file in folder.files()? {
            match LeftoverFile::of(&file) {
                LeftoverFile::Dump => gathered.dumps.push(file),
                LeftoverFile::Spool if begins_like_a_spool(&file) => match Recorded::of(&file, tree) {
                    Ok(recorded) => gathered.recorded.push(recorded),
                    Err(trouble) => gathered.troubles.push(trouble),
                },
                LeftoverFile::Spool | LeftoverFile::Unfinished => {}
            }
        }
        gathered.join_parts();
        Ok(gathered)
    }

    /// Files of one rotating recording are what one process has recorded.
    fn join_parts(&mut self) {
        self.recorded.sort_by_key(|Recorded { summary, .. }| (summary.pid, summary.start_monotonic_ns, summary.part));
        self.recorded.dedup_by(|later, first| {
            let is_part = first.summary.is_part_with(&later.summary);
            if is_part {
                first.go_on(later);
            }
            is_part
        });
    }

    pub fn n_events(&self) -> u64 {
        self.recorded.iter().map(|recorded| recorded.summary.events).sum()
    }

    /// Events that recorders had to drop, and counted.
    pub fn n_lost(&self) -> u64 {
        self.recorded.iter().map(|recorded| recorded.summary.dropped).sum()
    }

    /// Whether some process goes on.
    pub fn has_live(&self) -> bool {
        self.recorded.iter().any(|recorded| recorded.fate == Fate::Records)
    }
}

/// What a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeftoverFile {
    /// What a process records to.
    Spool,
    /// What a flight recorder has written: `….dump-001.…`, after the file that it is beside.
    Dump,
    /// What a recorder needs while it writes something, `….next` and `….copy`, and had no time to remove.
    Unfinished,
}

impl LeftoverFile {
    fn of(file: &Path) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("next" | "copy") => Self::Unfinished,
            _ if name.contains(".dump-") => Self::Dump,
            Some(ferrum_trace_format::spool::FILE_EXTENSION) => Self::Spool,
            _ => Self::Unfinished,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recorder_did_not_finish_is_nothing_to_gather() {
        let kind = |name: &str| LeftoverFile::of(Path::new(name));
        assert_eq!([kind("d/host-7.spool"), kind("host-7.7.spool")], [LeftoverFile::Spool; 2]);
        assert_eq!([kind("host-7.dump-001.spool"), kind("host-7.dump-001.json")], [LeftoverFile::Dump; 2]);
        let unfinished = ["host-7.spool.copy", "host-7.dump-001.spool.next", "host-7.snapshot", "notes.txt"];
        assert_eq!(unfinished.map(kind), [LeftoverFile::Unfinished; 4]);
    }
}
