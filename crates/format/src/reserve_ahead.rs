//! Writing to files whose system works faster when it is told how much is to come.

use std::io::{self, Write};

/// What is asked for at a time.
const STEP_BYTES: u64 = 16 << 20;
/// Writes below this are not worth asking for.
const WORTHWHILE_BYTES: u64 = 256 << 10;

/// Passes everything on, and has space reserved before large writes. Linux' ext4 writes reserved space five times faster
/// than unreserved, 0.2 instead of 1 ms a MiB, because it can use large pages.
pub struct ReserveAhead<W, F> {
    out: W,
    at: u64,
    reserved: u64,
    reserve: F,
}

impl<W: Write, F: FnMut(u64, u64)> ReserveAhead<W, F> {
    /// Writes to `out`, whose next byte is the one at `at`. `reserve` is given offset and length; what it does may fail,
    /// and then nothing is gained.
    pub fn new(out: W, at: u64, reserve: F) -> Self {
        Self { out, at, reserved: at, reserve }
    }
}

impl<W: Write, F: FnMut(u64, u64)> Write for ReserveAhead<W, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.at + bytes.len() as u64;
        if end > self.reserved && bytes.len() as u64 >= WORTHWHILE_BYTES {
            let n_bytes = STEP_BYTES.max(end - self.at);
            (self.reserve)(self.at, n_bytes);
            self.reserved = self.at + n_bytes;
        }
        let n_bytes = self.out.write(bytes)?;
        self.at += n_bytes as u64;
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_passed_on_and_large_writes_are_announced() {
        let mut asked = Vec::new();
        let mut out = Vec::new();
        let mut writer = ReserveAhead::new(&mut out, 100, |from, len| asked.push((from, len)));
        writer.write_all(&[1; 1000]).unwrap();
        writer.write_all(&[2; 1 << 20]).unwrap();
        writer.write_all(&[3; 1 << 20]).unwrap();
        assert_eq!(out.len(), 1000 + (2 << 20));
        assert_eq!(asked, [(1100, STEP_BYTES)]);
    }
}
