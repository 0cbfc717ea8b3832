//! Records that wait for their end, in memory or in a temporary file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Memory budget. Further records are mostly begins without an end, and go to a file.
const IN_MEMORY_BYTES: usize = 16 << 20;

/// Location of a record.
#[derive(Debug)]
pub(super) enum Stored {
    Memory(Box<[u8]>),
    File { offset: u64, len: u32 },
}

/// Records that wait for their end.
#[derive(Debug, Default)]
pub(super) struct PendingRecords {
    n_in_memory: usize,
    file: Option<File>,
    file_len: u64,
}

impl PendingRecords {
    /// Stores a record.
    pub(super) fn keep(&mut self, record: &[u8]) -> io::Result<Stored> {
        if self.n_in_memory + record.len() <= IN_MEMORY_BYTES {
            self.n_in_memory += record.len();
            return Ok(Stored::Memory(record.into()));
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let offset = self.file_len;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(record)?;
        self.file_len += record.len() as u64;
        Ok(Stored::File { offset, len: record.len() as u32 })
    }

    /// Returns a record and removes it.
    pub(super) fn take(&mut self, place: Stored) -> io::Result<Box<[u8]>> {
        match (place, &mut self.file) {
            (Stored::Memory(record), _) => {
                self.n_in_memory -= record.len();
                Ok(record)
            }
            (Stored::File { offset, len }, Some(file)) => {
                let mut record = vec![0; len as usize];
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(&mut record)?;
                Ok(record.into())
            }
            (Stored::File { .. }, None) => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_returned_from_memory_and_from_the_file() {
        let mut pending = PendingRecords::default();
        let record = |n: u8| vec![n; IN_MEMORY_BYTES / 3];
        let places: Vec<Stored> = (0..6).map(|n| pending.keep(&record(n)).unwrap()).collect();
        assert!(matches!(
            places[..],
            [Stored::Memory(_), Stored::Memory(_), Stored::Memory(_), Stored::File { .. }, ..]
        ));
        for (n, place) in places.into_iter().enumerate().rev() {
            assert!(*pending.take(place).unwrap() == *record(n as u8));
        }
        assert!(matches!(pending.keep(b"again"), Ok(Stored::Memory(_))));
    }
}
