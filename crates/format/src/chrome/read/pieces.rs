//! Cuts a stream of bytes into pieces that most likely begin with an event.
//!
//! Nothing depends on the guess being right: whoever puts the pieces together again sees whether one ended where the next
//! begins.

use memchr::memrchr;
use std::io::{self, Read};

/// How large a piece is, about.
pub const PIECE_BYTES: usize = 2 << 20;
/// How far back from the end of what was read the beginning of an event is looked for.
const SEARCH_BYTES: usize = 256 << 10;
/// Keys that events begin with.
const FIRST_KEYS: &[&[u8]] = &[b"ph", b"name", b"cat", b"pid", b"tid", b"ts", b"dur", b"args", b"id", b"s", b"tts"];

/// A part of a file.
#[derive(Debug)]
pub struct Piece {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where in the file they begin.
    pub offset: u64,
}

/// A stream of bytes, cut.
#[derive(Debug)]
pub struct Pieces<R> {
    input: R,
    /// How large a piece is, about.
    n_bytes: usize,
    /// What was read already and belongs to the next piece.
    carry: Vec<u8>,
    offset: u64,
    is_at_end: bool,
    /// Memory of pieces that are done with.
    spare: Vec<Vec<u8>>,
}

impl<R: Read> Pieces<R> {
    /// Begins to read, in pieces of about so many bytes.
    pub fn new(input: R, n_bytes: usize) -> Self {
        Self { input, n_bytes, carry: Vec::new(), offset: 0, is_at_end: false, spare: Vec::new() }
    }

    /// The next piece; `None` after the last.
    pub fn next_piece(&mut self) -> io::Result<Option<Piece>> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.append(&mut self.carry);
        // What was carried over may be most of a piece: half of each is new, so that all of a file takes linear time.
        let n_bytes = self.n_bytes.max(2 * bytes.len());
        while bytes.len() < n_bytes && !self.is_at_end {
            let n_wanted = n_bytes - bytes.len();
            bytes.reserve(n_wanted);
            self.is_at_end = self.input.by_ref().take(n_wanted as u64).read_to_end(&mut bytes)? == 0;
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        if !self.is_at_end
            && let Some(boundary) = last_event_start(&bytes)
        {
            self.carry.extend_from_slice(&bytes[boundary..]);
            bytes.truncate(boundary);
        }
        let piece = Piece { offset: self.offset, bytes };
        self.offset += piece.bytes.len() as u64;
        Ok(Some(piece))
    }

    /// Takes the memory of a piece that is done with.
    pub fn give_back(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < 8 && bytes.capacity() <= 2 * self.n_bytes {
            self.spare.push(bytes);
        }
    }
}

/// Where the last event that begins in `bytes` begins, most likely. Not at zero.
fn last_event_start(bytes: &[u8]) -> Option<usize> {
    let search_start = bytes.len().saturating_sub(SEARCH_BYTES);
    let mut end = bytes.len();
    while let Some(place) = memrchr(b'{', &bytes[search_start..end]) {
        let brace = search_start + place;
        if brace > 0 && is_after_event(&bytes[..brace]) && is_before_key(&bytes[brace + 1..]) {
            return Some(brace);
        }
        end = brace;
    }
    None
}

/// Whether `}` and a comma come right before.
fn is_after_event(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    before.strip_suffix(b",").is_some_and(|before| before.trim_ascii_end().ends_with(b"}"))
}

/// Whether a key of events follows. Inside of a text, its quote would have a backslash.
fn is_before_key(after: &[u8]) -> bool {
    let after = after.trim_ascii_start();
    let Some(key) = after.strip_prefix(b"\"") else {
        return false;
    };
    FIRST_KEYS.iter().any(|first| key.strip_prefix(*first).is_some_and(|rest| rest.starts_with(b"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_file_and_most_begin_with_an_event() {
        let event = r#"{"name":"a","args":{"b":[{"x":1},{"x":2}],"text":"},{\"ph\""}}"#;
        let file = format!("[{}]", vec![event; 100_000].join(",\n"));
        let mut pieces = Pieces::new(file.as_bytes(), PIECE_BYTES);
        let mut joined = Vec::new();
        while let Some(piece) = pieces.next_piece().unwrap() {
            assert_eq!(piece.offset, joined.len() as u64);
            assert!(piece.offset == 0 || piece.bytes.starts_with(b"{\"name\""));
            joined.extend_from_slice(&piece.bytes);
            pieces.give_back(piece.bytes);
        }
        assert!(joined == file.as_bytes());
    }

    #[test]
    fn what_has_no_events_is_cut_anywhere() {
        let file = vec![b'x'; 3 * PIECE_BYTES + 7];
        let mut pieces = Pieces::new(&file[..], PIECE_BYTES);
        let mut n_bytes = 0;
        while let Some(piece) = pieces.next_piece().unwrap() {
            assert!(piece.bytes.len() <= PIECE_BYTES);
            n_bytes += piece.bytes.len();
        }
        assert_eq!(n_bytes, file.len());
    }
}
