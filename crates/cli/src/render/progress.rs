//! A progress bar on standard error.

use super::table::clean;
use ferrum_trace_format::ReadAt;
use ferrum_trace_format::spool::layout::CHUNK_BYTES;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{self, Read};
use std::sync::Once;
use std::time::Duration;

/// Time after which the bar is shown.
const DELAY: Duration = Duration::from_secs(1);

const OF_TOTAL: &str = "[{bar:20}] {bytes} of {total_bytes}, {eta} left: {wide_msg}";
const WITHOUT_TOTAL: &str = "{bytes} read: {wide_msg}";
const TO_DISK: &str = "waiting for the disk: {wide_msg}";

/// A progress bar. It is not drawn within the first second, nor if standard error is not a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    is_drawn: Once,
}

impl Progress {
    /// Starts a bar for the file `name`, as in messages, of `n_bytes`, if known.
    pub(crate) fn start(name: String, n_bytes: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(n_bytes, ProgressDrawTarget::hidden());
        let template = if n_bytes.is_some() { OF_TOTAL } else { WITHOUT_TOTAL };
        let progress = Self { bar, is_drawn: Once::new() };
        progress.set_template(template);
        progress.bar.set_message(clean(&name));
        progress
    }

    /// Adds bytes.
    pub(crate) fn advance(&self, n_bytes: u64) {
        self.bar.inc(n_bytes);
        if !self.is_drawn.is_completed() && self.bar.elapsed() >= DELAY {
            self.is_drawn.call_once(|| self.bar.set_draw_target(ProgressDrawTarget::stderr()));
        }
    }

    /// Shows that all is done except for writing to the disk.
    pub(crate) fn wait_for_disk(&self) {
        self.set_template(TO_DISK);
        self.bar.force_draw();
    }

    fn set_template(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A stream that reports progress.
#[derive(Debug)]
pub(crate) struct WatchedRead<R> {
    pub(crate) input: R,
    pub(crate) progress: Progress,
}

impl<R: Read> Read for WatchedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.input.read(buffer)?;
        self.progress.advance(n_bytes as u64);
        Ok(n_bytes)
    }
}

/// A spool that reports progress.
#[derive(Debug)]
pub(crate) struct Watched<'a> {
    pub(crate) file: &'a File,
    pub(crate) progress: &'a Progress,
}

impl ReadAt for Watched<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let n_bytes = self.file.read_at(buffer, offset)?;
        // Each chunk is read once as a whole; smaller reads are lookups.
        let n_new = if buffer.len() >= CHUNK_BYTES { n_bytes as u64 } else { 0 };
        self.progress.advance(n_new);
        Ok(n_bytes)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_chunks_are_counted_and_small_reads_are_not() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 * CHUNK_BYTES as u64).unwrap();
        let progress = Progress::start("a.spool".to_owned(), Some(3 * CHUNK_BYTES as u64));
        let watched = Watched { file: &file, progress: &progress };
        watched.read_at(&mut [0; 8], 0).unwrap();
        assert_eq!(progress.bar.position(), 0);
        let mut chunk = vec![0; CHUNK_BYTES];
        for n in 0..3 {
            watched.read_at(&mut chunk, n * CHUNK_BYTES as u64).unwrap();
        }
        assert_eq!(progress.bar.position(), 3 * CHUNK_BYTES as u64);
        assert!(progress.bar.is_hidden(), "nothing is drawn within the first second");
    }
}
