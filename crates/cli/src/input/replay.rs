//! A stream that can be read several times.

use ferrum_trace_format::ReadAt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// What has been read of a stream is kept in a temporary file that has no name, and read from there the next time.
pub struct Replay {
    stream: Box<dyn Read + Send>,
    copy: File,
    n_copied: u64,
}

impl Replay {
    /// Nothing is read yet.
    pub fn new(stream: Box<dyn Read + Send>) -> io::Result<Self> {
        Ok(Self { stream, copy: tempfile::tempfile().map_err(cannot_keep)?, n_copied: 0 })
    }

    /// Reads from some place, which is not beyond what has been read before.
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

/// Reads it from the beginning.
pub struct Replayed {
    replay: Arc<Mutex<Replay>>,
    offset: u64,
}

impl Replayed {
    /// Once more.
    pub fn new(replay: &Arc<Mutex<Replay>>) -> Self {
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
    fn each_reading_gives_all_of_it_however_far_the_others_came() {
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
