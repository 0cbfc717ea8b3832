//! Decompression with a size limit, which keeps the output before an error.

use super::Notes;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum ratio of decompressed to compressed size. Real traces stay below 100.
const RATIO_MAX: u64 = 400;
/// Decompressed size that is always allowed.
const BYTES_ALWAYS_ALLOWED: u64 = 64 << 20;

/// Returns the maximum decompressed size for `n_packed` compressed bytes.
pub(crate) fn unpacked_max(n_packed: u64) -> u64 {
    n_packed.saturating_mul(RATIO_MAX).max(BYTES_ALWAYS_ALLOWED)
}

/// Counts the bytes that are read through it.
pub(crate) struct Counted<R> {
    input: R,
    n_bytes: Arc<AtomicU64>,
}

/// Wraps a stream; returns it with the count of the bytes read.
pub(crate) fn counted<R: Read>(input: R) -> (Counted<R>, Arc<AtomicU64>) {
    let n_bytes = Arc::new(AtomicU64::new(0));
    (Counted { input, n_bytes: Arc::clone(&n_bytes) }, n_bytes)
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.input.read(buffer)?;
        self.n_bytes.fetch_add(n_bytes as u64, Ordering::Relaxed);
        Ok(n_bytes)
    }
}

/// A stream that is decompressed. If the input breaks off, the output so far is kept and a note is added; if the output
/// exceeds the limit, reading fails.
pub(crate) struct Bounded<D> {
    decoder: D,
    n_packed: Arc<AtomicU64>,
    n_unpacked: u64,
    notes: Notes,
    what: &'static str,
    has_ended: bool,
}

impl<D: Read> Bounded<D> {
    /// Decompresses `input`.
    pub(crate) fn new<R: Read>(
        input: R,
        notes: Notes,
        what: &'static str,
        decoder: impl FnOnce(Counted<R>) -> D,
    ) -> Self {
        let (input, n_packed) = counted(input);
        Self::around(decoder(input), n_packed, notes, what)
    }

    /// Wraps an existing decoder and the count of the bytes it has read.
    pub(crate) fn around(decoder: D, n_packed: Arc<AtomicU64>, notes: Notes, what: &'static str) -> Self {
        Self { decoder, n_packed, n_unpacked: 0, notes, what, has_ended: false }
    }
}

impl<D: Read> Read for Bounded<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        let n_bytes = match self.decoder.read(buffer) {
            Err(cause) if cause.kind() != io::ErrorKind::Interrupted && self.n_unpacked > 0 => {
                let (what, at) = (self.what, self.n_packed.load(Ordering::Relaxed));
                self.notes
                    .add(format!("the {what} data break off near byte {at} ({cause}): the data before that are read"));
                self.has_ended = true;
                return Ok(0);
            }
            other => other?,
        };
        self.n_unpacked += n_bytes as u64;
        let n_packed = self.n_packed.load(Ordering::Relaxed);
        if self.n_unpacked > unpacked_max(n_packed) {
            let what = self.what;
            return Err(io::Error::other(format!(
                "{n_packed} bytes of {what} decompress to {}, more than {RATIO_MAX} times as many; if this is a trace, \
                 decompress it first",
                self.n_unpacked
            )));
        }
        Ok(n_bytes)
    }
}
