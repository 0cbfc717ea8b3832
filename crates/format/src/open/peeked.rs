//! A stream with a look-ahead buffer.

use std::io::{self, Read};

/// Maximum size of the look-ahead.
const HEAD_BYTES: usize = 64 << 10;

/// A stream whose first bytes can be inspected before reading.
pub(crate) struct Peeked {
    head: Vec<u8>,
    n_taken: usize,
    rest: Box<dyn Read + Send>,
}

impl Peeked {
    /// Fills the look-ahead buffer.
    pub(crate) fn new(mut input: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut head = Vec::new();
        input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        Ok(Self { head, n_taken: 0, rest: input })
    }

    /// Returns the unread part of the look-ahead buffer.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head[self.n_taken..]
    }
}

impl Read for Peeked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let head = &self.head[self.n_taken..];
        if head.is_empty() {
            return self.rest.read(buffer);
        }
        let n_bytes = head.len().min(buffer.len());
        buffer[..n_bytes].copy_from_slice(&head[..n_bytes]);
        self.n_taken += n_bytes;
        Ok(n_bytes)
    }
}
