//! Counts the events of a phase in a Chrome trace file, without parsing it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use memchr::memmem;

use crate::contenders::Outcome;

/// Number of events of `phase` in the file, which may be truncated; 0 if there is no file.
///
/// Counts the text `"ph":"X"`, which is in none of the bench's names or arguments.
pub(crate) fn json_events(path: &Path, phase: &str) -> Outcome<u64> {
    if !path.exists() {
        return Ok(0);
    }
    let needle = format!("\"ph\":\"{phase}\"");
    count(File::open(path)?, needle.as_bytes())
}

/// Reads in pieces that overlap by one byte less than the needle, so that none is missed or counted twice.
fn count(mut source: impl Read, needle: &[u8]) -> Outcome<u64> {
    let finder = memmem::Finder::new(needle);
    let mut window = vec![0; 1 << 20];
    let (mut kept, mut found) = (0, 0);
    loop {
        let read = source.read(&mut window[kept..])?;
        if read == 0 {
            return Ok(found);
        }
        let filled = kept + read;
        found += finder.find_iter(&window[..filled]).count() as u64;
        kept = filled.min(needle.len() - 1);
        window.copy_within(filled - kept..filled, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one byte per call, so that every needle straddles two reads.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Ok(0);
            };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn an_event_that_straddles_two_reads_is_counted_once() {
        let text = br#"[{"ph":"X"},{"ph":"X"},{"ph":"i"}]"#;
        assert_eq!(count(Drip(text), br#""ph":"X""#).unwrap(), 2);
    }
}
