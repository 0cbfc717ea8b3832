//! Checks the file around the events: its begin and its end.

use super::findings::{Findings, excerpt};
use super::rules::document::{
    ARRAY_FORM, BOM, CUT_CONTAINER, CUT_EVENT, DAMAGE, EMPTY_ARRAY, LINES_FORM, MISSING_COMMA, NAN, NO_EVENTS,
    STRAY_COMMA, UNCLOSED_ARRAY, UNCLOSED_FILE,
};
use ferrum_trace_format::chrome::read::{BYTE_ORDER_MARK, DocumentShape, Loss};
use std::io::{self, ErrorKind, Read};

/// Number of bytes that are kept from the end of a file.
const TAIL_BYTES: usize = 64 << 10;

/// Reader that passes a file on, and keeps its first and last bytes.
pub(crate) struct Watch<R> {
    input: R,
    /// The first bytes, until a byte order mark is detected or excluded.
    head: Option<Vec<u8>>,
    /// The last bytes.
    tail: Vec<u8>,
    n_bytes: u64,
    /// Observations so far.
    pub seen: Seen,
}

/// Observations on a file apart from its events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// True if there was a byte order mark, which is not passed on.
    pub has_mark: bool,
    /// Message of the decompressor if the file ended too early.
    pub cut: Option<String>,
    /// The last bytes.
    pub tail: Vec<u8>,
    /// Number of bytes that were passed on.
    pub n_bytes: u64,
}

impl<R: Read> Watch<R> {
    /// Starts at the beginning of a file.
    pub(crate) fn new(input: R) -> Self {
        Self { input, head: Some(Vec::new()), tail: Vec::new(), n_bytes: 0, seen: Seen::default() }
    }

    /// Returns the observations, at the end.
    pub(crate) fn finish(mut self) -> Seen {
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
        Seen { tail: self.tail, n_bytes: self.n_bytes, ..self.seen }
    }

    fn read_input(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.input.read(bytes) {
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                // A compressed file that ends early still has the data before.
                Err(cause) if matches!(cause.kind(), ErrorKind::UnexpectedEof | ErrorKind::InvalidData) => {
                    if self.n_bytes == 0 {
                        return Err(cause);
                    }
                    self.seen.cut = Some(cause.to_string());
                    return Ok(0);
                }
                other => return other,
            }
        }
    }

    fn read_head(&mut self) -> io::Result<Vec<u8>> {
        let mut head = vec![0; BYTE_ORDER_MARK.len()];
        let mut n_read = 0;
        while n_read < head.len() {
            match self.read_input(&mut head[n_read..])? {
                0 => break,
                n => n_read += n,
            }
        }
        head.truncate(n_read);
        if head == BYTE_ORDER_MARK {
            self.seen.has_mark = true;
            head.clear();
        }
        head.reverse();
        Ok(head)
    }
}

impl<R: Read> Read for Watch<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if self.n_bytes == 0 && self.head.as_ref().is_some_and(Vec::is_empty) {
            self.head = Some(self.read_head()?);
        }
        let n_read = match self.head.as_mut().and_then(Vec::pop) {
            Some(byte) => {
                bytes[0] = byte;
                1
            }
            None => {
                self.head = None;
                self.read_input(bytes)?
            }
        };
        self.n_bytes += n_read as u64;
        self.tail.extend_from_slice(&bytes[n_read.saturating_sub(TAIL_BYTES)..n_read]);
        if self.tail.len() > 4 * TAIL_BYTES {
            self.tail.drain(..self.tail.len() - TAIL_BYTES);
        }
        Ok(n_read)
    }
}

/// Reports bytes that the reader skipped, under the matching rule.
pub(crate) fn check_loss(loss: &Loss, findings: &mut Findings) {
    let rule = if loss.reason.contains("NaN or Infinity") {
        &NAN
    } else if loss.reason.contains("another `,`") {
        &STRAY_COMMA
    } else if loss.reason.contains("between events, found none") {
        &MISSING_COMMA
    } else if loss.reason.contains("the file ends in the middle") {
        &CUT_EVENT
    } else {
        &DAMAGE
    };
    findings.note_place(rule, loss.offset, loss.reason.clone());
}

/// Checks the begin and the end of a file. `last_event_end` is the offset of the end of the last event.
pub(crate) fn check_document(
    seen: &Seen,
    form: DocumentShape,
    n_events: u64,
    last_event_end: Option<u64>,
    findings: &mut Findings,
) {
    if seen.has_mark {
        findings.note_place(&BOM, 0, "byte order mark");
    }
    if let Some(reason) = &seen.cut {
        findings.note_place(&CUT_CONTAINER, seen.n_bytes, reason.clone());
    }
    match form {
        DocumentShape::Array => findings.note_place(&ARRAY_FORM, 0, "["),
        DocumentShape::Lines => findings.note_place(&LINES_FORM, 0, "{"),
        DocumentShape::Object => {}
    }
    if n_events == 0 && form == DocumentShape::Array {
        findings.note_place(&EMPTY_ARRAY, 0, "[]");
    }
    if n_events == 0 {
        findings.note_place(&NO_EVENTS, 0, "no events");
    }
    if form != DocumentShape::Lines && seen.cut.is_none() {
        check_end(seen, form, last_event_end, findings);
    }
}

fn check_end(seen: &Seen, form: DocumentShape, last_event_end: Option<u64>, findings: &mut Findings) {
    let tail_begin = seen.n_bytes - seen.tail.len() as u64;
    // The bytes after the last event, if enough of the end is known.
    let after = last_event_end
        .and_then(|end| end.checked_sub(tail_begin))
        .and_then(|end| seen.tail.get(end as usize..))
        .map(<[u8]>::trim_ascii);
    let end = seen.n_bytes;
    if let Some(after) = after
        && after.strip_prefix(b",").is_some_and(|after| after.trim_ascii_start().starts_with(b"]"))
    {
        findings.note_place(&STRAY_COMMA, end - after.len() as u64, excerpt(after));
    }
    match form {
        DocumentShape::Object
            if !seen.tail.trim_ascii_end().ends_with(b"}") || after.is_some_and(|after| !after.contains(&b']')) =>
        {
            findings.note_place(&UNCLOSED_FILE, end, "the end of the file");
        }
        DocumentShape::Array if !seen.tail.trim_ascii_end().ends_with(b"]") => {
            findings.note_place(&UNCLOSED_ARRAY, end, "the end of the file");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_passed_on_without_the_byte_order_mark() {
        for (input, has_mark) in [(&b"\xef\xbb\xbf[]"[..], true), (b"[]", false), (b"", false), (b"\xef\xbb", false)] {
            let mut watch = Watch::new(input);
            let mut bytes = Vec::new();
            watch.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, input.strip_prefix(BYTE_ORDER_MARK).unwrap_or(input));
            let seen = watch.finish();
            assert_eq!((seen.has_mark, seen.tail, seen.n_bytes), (has_mark, bytes.clone(), bytes.len() as u64));
        }
    }

    #[test]
    fn only_the_end_of_a_large_file_is_kept() {
        let input: Vec<u8> = (0..10 * TAIL_BYTES).map(|n| (n % 251) as u8).collect();
        let mut watch = Watch::new(&input[..]);
        let mut bytes = Vec::new();
        watch.read_to_end(&mut bytes).unwrap();
        assert!(bytes == input);
        assert!(watch.finish().tail == input[input.len() - TAIL_BYTES..]);
    }
}
