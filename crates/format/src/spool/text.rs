//! Decodes the arguments of records.

use super::layout::CHUNK_BYTES;
use super::record::{HEADER_BYTES, Record, RecordKind, TEXT_BYTES_MAX, Type, short_text_bytes};
use crate::ReadAt;
use ferrum_trace_model::Value;
use std::borrow::Cow;
use std::cell::Cell;

/// Bits of the offset of a text; the bits above are its stamp.
const PLACE_BITS: u32 = 40;

/// Returns the word that refers to a text record at `offset`. The same `stamp` is stored with the text, so that a
/// reader detects if the chunk was reused.
pub fn text_reference(offset: u64, stamp: u64) -> u64 {
    (offset / 8) | (stamp << PLACE_BITS)
}

/// Returns the bits of a stamp that are kept.
pub fn stamp_bits(stamp: u64) -> u64 {
    stamp & (u64::MAX >> PLACE_BITS)
}

/// The chunk that is being read, and its spool.
pub(crate) struct Texts<'a, R: ?Sized> {
    source: &'a R,
    chunk: u64,
    bytes: &'a [u8],
    n_lost: Cell<u64>,
}

impl<'a, R: ReadAt + ?Sized> Texts<'a, R> {
    /// Creates a reader for the texts of records in `bytes`, which are a chunk of `source`.
    pub(crate) fn of_chunk(source: &'a R, chunk: u64, bytes: &'a [u8]) -> Self {
        Self { source, chunk, bytes, n_lost: Cell::new(0) }
    }

    /// Creates a reader for the texts of records that are in no chunk.
    pub(crate) fn of_spool(source: &'a R) -> Self {
        Self::of_chunk(source, u64::MAX, &[])
    }

    /// Returns the number of requested texts that are missing in the spool: their chunk was overwritten, or they are in
    /// an earlier part.
    pub(crate) fn n_lost(&self) -> u64 {
        self.n_lost.get()
    }

    /// Returns the `n`th argument of a record.
    pub(crate) fn value(&self, record: &Record<'_>, n: usize) -> Value<'_> {
        let (kind, word) = record.arg(n);
        match kind {
            Some(Type::Signed) => Value::Signed(word as i64),
            Some(Type::Unsigned) => Value::Unsigned(word),
            Some(Type::Float) => Value::Float(f64::from_bits(word)),
            Some(Type::Bool) => Value::Bool(word != 0),
            Some(Type::ShortText) => {
                let text = String::from_utf8_lossy(short_text_bytes(&word.to_le_bytes())).into_owned();
                Value::Text(text.into())
            }
            Some(Type::TextAt) => match self.text(word) {
                Some(text) => Value::Text(text),
                None => {
                    self.n_lost.set(self.n_lost.get() + 1);
                    Value::Lost
                }
            },
            Some(Type::Lost) | None => Value::Lost,
        }
    }

    fn text(&self, reference: u64) -> Option<Cow<'_, str>> {
        let offset = (reference & ((1 << PLACE_BITS) - 1)) * 8;
        let stamp = reference >> PLACE_BITS;
        if offset / CHUNK_BYTES as u64 == self.chunk {
            let at = (offset % CHUNK_BYTES as u64) as usize;
            let text = stamped_text(self.bytes.get(at..)?, stamp)?;
            return Some(String::from_utf8_lossy(text));
        }
        let mut bytes = vec![0; HEADER_BYTES + 16 + TEXT_BYTES_MAX];
        let n_bytes = self.source.read_at(&mut bytes, offset).ok()?;
        let text = stamped_text(&bytes[..n_bytes], stamp)?;
        Some(String::from_utf8_lossy(text).into_owned().into())
    }
}

fn stamped_text(bytes: &[u8], stamp: u64) -> Option<&[u8]> {
    let record = Record::read(bytes).ok()?;
    (record.kind == RecordKind::Text && record.leading(0) == stamp).then(|| record.text())
}
