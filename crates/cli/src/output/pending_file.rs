//! A file that appears under its name only when it is complete.

use super::{recorder_leftovers, unfinished_files};
use crate::os::{interrupt, permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Attempts to create the file, if another process removes it before it is locked.
const CREATE_ATTEMPTS: usize = 100;

/// Handling of a file that already has the name of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Keep it and fail.
    Keep,
    /// Replace it atomically.
    Replace,
}

impl Existing {
    /// Returns the handling for the value of `--force`.
    pub(crate) fn of_force(force: bool) -> Self {
        if force { Self::Replace } else { Self::Keep }
    }
}

/// A temporary file next to the output. It is removed if it is dropped before [`commit`](Self::commit).
#[derive(Debug)]
pub(crate) struct PendingFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl PendingFile {
    /// Creates a file that will be at `path`, and removes the unfinished files of killed processes for the same path.
    /// Until then, only its user may open it.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let name = path.file_name().unwrap_or_default();
        unfinished_files::remove(folder, name);
        recorder_leftovers::remove(path);
        let prefix = unfinished_files::prefix(name, std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(unfinished_files::SUFFIX).rand_bytes(unfinished_files::N_RANDOM);
        let make = || builder.make_in(folder, permissions::create_private);
        for _ in 0..CREATE_ATTEMPTS {
            let file = interrupt::guard(make, |file| file.path())?;
            if unfinished_files::hold(file.as_file(), file.path()) {
                return Ok(Self { file, path: path.to_owned() });
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Syncs the file, and gives it its name and the permissions of the file that it replaces, or those of any new
    /// file. Its input may be removed after this.
    pub(crate) fn commit(self, existing: Existing) -> io::Result<()> {
        let Self { file, path } = self;
        permissions::give_final(file.as_file(), &path)?;
        file.as_file().sync_all()?;
        let named = interrupt::release(|| match existing {
            Existing::Keep => file.persist_noclobber(&path),
            Existing::Replace => file.persist(&path),
        });
        named.map_err(|refused| refused.error)?;
        permissions::sync_folder(&path)
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}
