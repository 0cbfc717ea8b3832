//! Identity of a file, independent of its name.

use std::fs::{File, Metadata};
use std::path::Path;

/// Device and inode. Differs for a new file of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    #[cfg(unix)]
    place: (u64, u64),
}

impl FileId {
    #[cfg(unix)]
    pub(crate) fn of(about: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { place: (about.dev(), about.ino()) }
    }

    /// Other systems have no such number; all files are equal.
    #[cfg(not(unix))]
    pub(crate) fn of(_: &Metadata) -> Self {
        Self {}
    }
}

/// Returns true if the open file is the one at this path.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(file), Ok(named)) => FileId::of(&file) == FileId::of(&named),
        _ => false,
    }
}
