//! Cuts a stream of bytes into pieces that most likely start with an event.
//!
//! A wrong guess is harmless: when the pieces are joined, the reader checks that each one starts where the previous one
//! ended.

use memchr::memrchr;
use std::io::{self, Read};

/// Approximate size of a piece.
pub(crate) const PIECE_BYTES: usize = 2 << 20;
/// Maximum distance from the end of the buffer at which the start of an event is searched.
const SEARCH_BYTES: usize = 256 << 10;
/// Keys with which events start.
const FIRST_KEYS: &[&[u8]] = &[b"ph", b"name", b"cat", b"pid", b"tid", b"ts", b"dur", b"args", b"id", b"s", b"tts"];

/// A piece of a file.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Offset in the file.
    pub offset: u64,
}

/// Cuts a stream into pieces.
#[derive(Debug)]
pub(crate) struct Pieces<R> {
    input: R,
    /// Approximate size of a piece.
    n_bytes: usize,
    /// Bytes already read that belong to the next piece.
    carry: Vec<u8>,
    offset: u64,
    is_at_end: bool,
    /// Buffers of finished pieces, for reuse.
    spare: Vec<Vec<u8>>,
}

impl<R: Read> Pieces<R> {
    /// Creates a reader of pieces with about `n_bytes` each.
    pub(crate) fn new(input: R, n_bytes: usize) -> Self {
        Self { input, n_bytes, carry: Vec::new(), offset: 0, is_at_end: false, spare: Vec::new() }
    }

    /// Returns the next piece; `None` after the last.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Piece>> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.append(&mut self.carry);
        // The carried bytes may be most of a piece. At least half of each piece is new, so reading the file takes
        // linear time.
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

    /// Takes back the buffer of a finished piece.
    pub(crate) fn give_back(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < 8 && bytes.capacity() <= 2 * self.n_bytes {
            self.spare.push(bytes);
        }
    }
}

/// Returns the most likely start of the last event in `bytes`, other than offset zero.
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

/// Returns true if `before` ends in `}` and a comma.
fn is_after_event(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    before.strip_suffix(b",").is_some_and(|before| before.trim_ascii_end().ends_with(b"}"))
}

/// Returns true if `after` starts with a typical first key. Inside a text, its quote would be escaped.
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
    fn joined_pieces_are_the_file_and_most_start_with_an_event() {
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
    fn a_file_without_events_is_cut_anywhere() {
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
