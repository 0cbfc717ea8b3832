//! Which file it is, whatever it is called.

use std::fs::{File, Metadata};
use std::path::Path;

/// What tells a file from all others on this machine, also from one that has taken its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    #[cfg(unix)]
    place: (u64, u64),
}

impl FileId {
    #[cfg(unix)]
    pub fn of(about: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { place: (about.dev(), about.ino()) }
    }

    /// Elsewhere nobody tells.
    #[cfg(not(unix))]
    pub fn of(_: &Metadata) -> Self {
        Self {}
    }
}

/// Whether the open file is the one at this path.
pub fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(file), Ok(named)) => FileId::of(&file) == FileId::of(&named),
        _ => false,
    }
}
