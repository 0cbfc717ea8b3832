//! Splits a stream of bytes into packets.

use super::PACKET_BYTES_MAX;
use super::summary::Summary;
use crate::Error;
use crate::perfetto::field::{packet, trace};
use crate::perfetto::wire::{Fields, Payload, VARINT_BYTES_MAX, read_varint};
use std::io::Read;

/// Size of one read.
const CHUNK_BYTES: usize = 1 << 18;

/// The packets of a stream.
pub(crate) struct Packets<R> {
    input: R,
    /// The bytes read; those before `at` are finished.
    buffer: Vec<u8>,
    at: usize,
    /// Offset of the buffer in the file.
    base: u64,
    is_ended: bool,
}

/// Position of a packet in the buffer.
struct Found {
    start: usize,
    len: usize,
}

/// The next item of the stream.
enum Next {
    Packet(Found),
    /// A skipped packet, or a field of the trace other than a packet.
    Skipped,
    /// Bytes that are not a packet.
    Damage(&'static str),
    End,
}

impl<R: Read> Packets<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), at: 0, base: 0, is_ended: false }
    }

    /// Returns the next packet and its offset in the file. Damage is reported and skipped.
    pub(crate) fn next(&mut self, summary: &mut Summary) -> Result<Option<(u64, &[u8])>, Error> {
        loop {
            match self.step(summary)? {
                Next::Packet(Found { start, len }) => {
                    self.at = start + len;
                    return Ok(Some((self.base + start as u64, &self.buffer[start..start + len])));
                }
                Next::Skipped => {}
                Next::Damage(reason) => self.skip_damage(reason, summary)?,
                Next::End => return Ok(None),
            }
        }
    }

    fn step(&mut self, summary: &mut Summary) -> Result<Next, Error> {
        self.fill(2 * VARINT_BYTES_MAX)?;
        let rest = &self.buffer[self.at..];
        if rest.is_empty() {
            return Ok(Next::End);
        }
        let Some((tag, tag_len)) = read_varint(rest) else {
            return Ok(Next::Damage("expected a packet, found an invalid field number"));
        };
        if tag != u64::from(trace::PACKET << 3 | 2) {
            return Ok(Next::Damage("expected a packet, found another field"));
        }
        let Some((len, len_len)) = read_varint(&rest[tag_len..]) else {
            return Ok(Next::Damage("expected the length of a packet, found an invalid number"));
        };
        let head = tag_len + len_len;
        match usize::try_from(len) {
            Ok(len) if len <= PACKET_BYTES_MAX => self.whole(head, len),
            _ => self.skip_large(head, len, summary),
        }
    }

    fn whole(&mut self, head: usize, len: usize) -> Result<Next, Error> {
        self.fill(head + len)?;
        if self.buffer.len() - self.at < head + len {
            return Ok(Next::Damage("the file ends in the middle of a packet"));
        }
        Ok(Next::Packet(Found { start: self.at + head, len }))
    }

    /// Skips a packet above the maximum size, or one with a damaged length.
    fn skip_large(&mut self, head: usize, len: u64, summary: &mut Summary) -> Result<Next, Error> {
        let offset = self.base + self.at as u64;
        let mut missing = len.saturating_add(head as u64);
        while missing > 0 {
            self.fill(1)?;
            let n_here = (self.buffer.len() - self.at).min(usize::try_from(missing).unwrap_or(usize::MAX));
            if n_here == 0 {
                break;
            }
            self.at += n_here;
            missing -= n_here as u64;
        }
        let n_bytes = self.base + self.at as u64 - offset;
        summary.add_loss(offset, n_bytes, "a packet longer than 64 MiB");
        Ok(Next::Skipped)
    }

    /// Searches for the next position that could be a packet and is followed by another one.
    fn skip_damage(&mut self, reason: &str, summary: &mut Summary) -> Result<(), Error> {
        let offset = self.base + self.at as u64;
        self.at += 1;
        loop {
            self.fill(CHUNK_BYTES)?;
            let rest = &self.buffer[self.at..];
            if rest.is_empty() {
                break;
            }
            match find_packet(rest, self.is_ended) {
                Some(place) => {
                    self.at += place;
                    break;
                }
                // A packet may start in the last bytes and become visible with more input.
                None if self.is_ended => self.at = self.buffer.len(),
                None => self.at += rest.len().saturating_sub(SEEN_BYTES).max(1),
            }
        }
        summary.add_loss(offset, self.base + self.at as u64 - offset, reason);
        Ok(())
    }

    /// Reads until the buffer has `n_wanted` bytes, or to the end.
    fn fill(&mut self, n_wanted: usize) -> Result<(), Error> {
        while self.buffer.len() - self.at < n_wanted && !self.is_ended {
            self.buffer.drain(..self.at);
            self.base += self.at as u64;
            self.at = 0;
            let n_more = CHUNK_BYTES.max(n_wanted - self.buffer.len()).min(1 << 22);
            let before = self.buffer.len();
            let taken = self.input.by_ref().take(n_more as u64).read_to_end(&mut self.buffer);
            let n_read = taken.map_err(|cause| Error::io("cannot read", cause))?;
            self.is_ended = n_read == 0;
            debug_assert_eq!(self.buffer.len(), before + n_read);
        }
        Ok(())
    }
}

/// Maximum size of a packet found after damage, including the head of the next one.
const SEEN_BYTES: usize = 1 << 12;

/// Limit for repeated reading per searched byte. Beyond it, bytes are not read again, so that no input takes hours.
const TRIES_PER_BYTE: usize = 16;

/// Finds two consecutive packets, of which the first is complete and not empty.
fn find_packet(bytes: &[u8], is_end: bool) -> Option<usize> {
    let (mut n_tried, mut n_passed) = (0, 0);
    for place in memchr::memchr_iter(PACKET_TAG, bytes) {
        let Some(body) = body_at(bytes, place, is_end).filter(|_| place >= n_passed) else {
            continue;
        };
        if is_message(body) {
            return Some(place);
        }
        n_tried += body.len();
        if n_tried > TRIES_PER_BYTE * bytes.len() {
            n_passed = place + body.len();
        }
    }
    None
}

/// Returns the content of the packet at a position, if another packet follows it.
fn body_at(bytes: &[u8], place: usize, is_end: bool) -> Option<&[u8]> {
    let rest = bytes.get(place + 1..)?;
    let (len, n_bytes) = read_varint(rest)?;
    let len = usize::try_from(len).ok().filter(|&len| len > 1 && len < SEEN_BYTES)?;
    let body = rest.get(n_bytes..)?.get(..len)?;
    let is_followed = rest.get(n_bytes + len).map_or(is_end, |&next| next == PACKET_TAG);
    is_followed.then_some(body)
}

const PACKET_TAG: u8 = (trace::PACKET << 3 | 2) as u8;

/// Returns true if the bytes are complete fields, with the field that all packets of track events have.
fn is_message(bytes: &[u8]) -> bool {
    let mut fields = Fields::new(bytes);
    let mut has_sequence = false;
    loop {
        match fields.next() {
            Ok(Some((packet::TRUSTED_SEQUENCE_ID, Payload::Number(_)))) => has_sequence = true,
            Ok(Some(_)) => {}
            Ok(None) => return has_sequence,
            Err(_) => return false,
        }
    }
}
