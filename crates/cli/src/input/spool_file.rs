//! An open spool and its owner.

use crate::os::file_id::is_at;
use crate::user_error::UserError;
use ferrum_trace_format::spool::is_spool;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// Number of attempts to open a spool that is replaced meanwhile.
const OPEN_ATTEMPTS: usize = 100;
/// Number of bytes of a stream that are copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// An open spool.
#[derive(Debug)]
pub(crate) struct SpoolFile {
    pub(crate) file: File,
    pub(crate) owner: Owner,
}

/// The process that may write to an open spool.
#[derive(Debug)]
pub(crate) enum Owner {
    /// None: this process has the lock, which also keeps recorders from using the name.
    Us,
    /// The process that records to it.
    Recorder,
    /// Unknown: the system has no locks.
    Unknown(io::Error),
    /// None: the file is a copy of a stream.
    Copy,
}

impl SpoolFile {
    /// Opens a file, or copies a named pipe or another stream.
    pub(crate) fn open(path: &Path, copied: impl FnMut(u64)) -> Result<Self, UserError> {
        let cannot = |cause: io::Error| UserError::at(path, format!("cannot open: {cause}"));
        for _ in 0..OPEN_ATTEMPTS {
            let file = File::open(path).map_err(cannot)?;
            if !file.metadata().map_err(cannot)?.is_file() {
                return Self::copy(file, &path.display().to_string(), copied);
            }
            let owner = match file.try_lock() {
                Ok(()) => Owner::Us,
                Err(TryLockError::WouldBlock) => Owner::Recorder,
                Err(TryLockError::Error(cause)) => Owner::Unknown(cause),
            };
            // The recorder may have removed the spool between open and lock.
            if is_at(&file, path) {
                return Ok(Self { file, owner });
            }
        }
        Err(cannot(io::ErrorKind::ResourceBusy.into()))
    }

    /// Copies a stream to a temporary file, because spools are read in random order. If it is not a spool, only its
    /// beginning is copied.
    pub(crate) fn copy(mut stream: impl Read, name: &str, mut copied: impl FnMut(u64)) -> Result<Self, UserError> {
        let cannot_read = |cause: io::Error| UserError::new(name, format!("cannot read: {cause}"));
        let cannot_keep = |cause: io::Error| {
            let folder = std::env::temp_dir();
            UserError::at(&folder, format!("cannot write a temporary file: {cause}"))
                .hint("set TMPDIR to a folder with room for the whole spool")
        };
        let mut file = tempfile::tempfile().map_err(cannot_keep)?;
        let mut buffer = Vec::with_capacity(COPY_BYTES);
        let mut is_first = true;
        loop {
            buffer.clear();
            stream.by_ref().take(COPY_BYTES as u64).read_to_end(&mut buffer).map_err(cannot_read)?;
            file.write_all(&buffer).map_err(cannot_keep)?;
            copied(buffer.len() as u64);
            if buffer.is_empty() || (is_first && !is_spool(&buffer)) {
                break;
            }
            is_first = false;
        }
        file.rewind().map_err(cannot_keep)?;
        Ok(Self { file, owner: Owner::Copy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spool_without_an_owner_is_locked_by_the_first_to_open_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.spool");
        std::fs::write(&path, "FERRUMSP").unwrap();
        let ours = SpoolFile::open(&path, |_| {}).unwrap();
        assert!(matches!(ours.owner, Owner::Us));
        let theirs = SpoolFile::open(&path, |_| {}).unwrap();
        assert!(matches!(theirs.owner, Owner::Recorder));
    }

    #[test]
    fn a_spool_from_a_stream_is_copied_completely() {
        let mut bytes = b"FERRUMSP".to_vec();
        bytes.resize(3 * COPY_BYTES + 5, 7);
        let mut n_copied = 0;
        let copy = SpoolFile::copy(&bytes[..], "-", |n_bytes| n_copied += n_bytes).unwrap();
        assert_eq!(copy.file.metadata().unwrap().len(), bytes.len() as u64);
        assert_eq!(n_copied, bytes.len() as u64);
    }

    #[test]
    fn a_stream_that_is_not_a_spool_is_not_read_to_its_end() {
        let copy = SpoolFile::copy(io::repeat(0), "-", |_| {}).unwrap();
        assert_eq!(copy.file.metadata().unwrap().len(), COPY_BYTES as u64);
    }
}
