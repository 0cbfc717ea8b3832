//! A file that has its name only when it is complete.

use crate::interrupt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What may be in the way of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Stays; the new file is given up.
    Stays,
    /// Is replaced in one step.
    IsReplaced,
}

/// A file that is being written beside the place where it will be. If it is dropped before, it vanishes.
#[derive(Debug)]
pub struct PendingFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl PendingFile {
    /// Begins a file that will be at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut prefix = path.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".tmp");
        // As for any new file, the user's mask decides who may read it. Temporary files are private otherwise.
        let make = || builder.make_in(folder, |path| File::create_new(path));
        let file = interrupt::guard(make, |file| file.path())?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Gives the file its name, once the disk has all of it: what it was made of may be removed after this.
    pub fn commit(self, existing: Existing) -> io::Result<()> {
        let Self { file, path } = self;
        file.as_file().sync_all()?;
        let named = interrupt::release(|| match existing {
            Existing::Stays => file.persist_noclobber(&path),
            Existing::IsReplaced => file.persist(&path),
        });
        named.map(|_| ()).map_err(|refused| refused.error)
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
