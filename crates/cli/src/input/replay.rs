//! A stream that can be read several times.

use ferrum_trace_format::ReadAt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// A stream, and a temporary file without a name that has what was read of it so far.
pub(crate) struct Replay {
    stream: Box<dyn Read + Send>,
    copy: File,
    n_copied: u64,
}

impl Replay {
    /// Does not read yet.
    pub(crate) fn new(stream: Box<dyn Read + Send>) -> io::Result<Self> {
        Ok(Self { stream, copy: tempfile::tempfile().map_err(cannot_keep)?, n_copied: 0 })
    }

    /// Reads at `offset`, which is at most the number of bytes read so far.
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset < self.n_copied {
            return self.copy.read_at(buffer, offset);
        }
        let n_bytes = self.stream.read(buffer)?;
        self.copy.write_all(&buffer[..n_bytes]).map_err(cannot_keep)?;
        self.n_copied += n_bytes as u64;
        Ok(n_bytes)
    }
}

fn cannot_keep(cause: io::Error) -> io::Error {
    let folder = std::env::temp_dir();
    io::Error::new(cause.kind(), format!("cannot write a temporary file in {}: {cause}", folder.display()))
}

/// Reads a [`Replay`] from its start.
pub(crate) struct Replayed {
    replay: Arc<Mutex<Replay>>,
    offset: u64,
}

impl Replayed {
    pub(crate) fn new(replay: &Arc<Mutex<Replay>>) -> Self {
        Self { replay: Arc::clone(replay), offset: 0 }
    }
}

impl Read for Replayed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut replay = self.replay.lock().unwrap_or_else(PoisonError::into_inner);
        let n_bytes = replay.read_at(buffer, self.offset)?;
        self.offset += n_bytes as u64;
        Ok(n_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_gets_the_whole_stream() {
        let replay = Arc::new(Mutex::new(Replay::new(Box::new(&b"0123456789"[..])).unwrap()));
        let mut half = [0; 5];
        Replayed::new(&replay).read_exact(&mut half).unwrap();
        assert_eq!(&half, b"01234");
        for _ in 0..2 {
            let mut all = String::new();
            Replayed::new(&replay).read_to_string(&mut all).unwrap();
            assert_eq!(all, "0123456789");
        }
    }
}
