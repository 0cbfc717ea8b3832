//! Which file it is, whatever it is called.

use std::fs::Metadata;

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
