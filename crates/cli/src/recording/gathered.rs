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
            if is_dump(&file) {
                gathered.dumps.push(file);
            } else if begins_like_a_spool(&file) {
                match Recorded::of(&file, tree) {
                    Ok(recorded) => gathered.recorded.push(recorded),
                    Err(trouble) => gathered.troubles.push(trouble),
                }
            }
        }
        gathered.recorded.sort_by_key(|recorded| recorded.summary.pid);
        Ok(gathered)
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

/// The recorder calls them `….dump-001.…`, after the file that they are beside.
fn is_dump(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().contains(".dump-"))
}
