//! A spool that is open, and whose it is.

use crate::os::file_id::is_at;
use crate::user_error::UserError;
use ferrum_trace_format::spool::is_spool;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// How often a spool that is replaced while it is being opened is tried again.
const OPEN_ATTEMPTS: usize = 100;
/// Bytes of a stream that are moved at a time.
const COPY_BYTES: usize = 1 << 20;

/// An open spool.
#[derive(Debug)]
pub struct SpoolFile {
    pub file: File,
    pub owner: Owner,
}

/// Who may write to an open spool.
#[derive(Debug)]
pub enum Owner {
    /// Nobody, as long as it is open here: no recorder takes its name meanwhile.
    Us,
    /// The process that records to it.
    Recorder,
    /// The system cannot tell.
    Unknown(io::Error),
    /// Nobody: it is a copy of what came through a pipe.
    Copy,
}

impl SpoolFile {
    /// Opens a file, or copies what comes through a named pipe or the like.
    pub fn open(path: &Path, copied: impl FnMut(u64)) -> Result<Self, UserError> {
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
            // Between opening and locking, its recorder may have finished and removed it.
            if is_at(&file, path) {
                return Ok(Self { file, owner });
            }
        }
        Err(cannot(io::ErrorKind::ResourceBusy.into()))
    }

    /// Copies a stream to a temporary file, since spools are not read from front to back. Of what is no spool, only the
    /// beginning is taken.
    pub fn copy(mut stream: impl Read, name: &str, mut copied: impl FnMut(u64)) -> Result<Self, UserError> {
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
    fn a_spool_that_nobody_has_is_ours_and_then_not_anothers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.spool");
        std::fs::write(&path, "FERRUMSP").unwrap();
        let ours = SpoolFile::open(&path, |_| {}).unwrap();
        assert!(matches!(ours.owner, Owner::Us));
        let theirs = SpoolFile::open(&path, |_| {}).unwrap();
        assert!(matches!(theirs.owner, Owner::Recorder));
    }

    #[test]
    fn a_stream_is_copied_whole_if_it_is_a_spool() {
        let mut bytes = b"FERRUMSP".to_vec();
        bytes.resize(3 * COPY_BYTES + 5, 7);
        let mut n_copied = 0;
        let copy = SpoolFile::copy(&bytes[..], "-", |n_bytes| n_copied += n_bytes).unwrap();
        assert_eq!(copy.file.metadata().unwrap().len(), bytes.len() as u64);
        assert_eq!(n_copied, bytes.len() as u64);
    }

    #[test]
    fn a_stream_that_is_no_spool_is_not_read_to_its_end() {
        let copy = SpoolFile::copy(io::repeat(0), "-", |_| {}).unwrap();
        assert_eq!(copy.file.metadata().unwrap().len(), COPY_BYTES as u64);
    }
}
