//! Protobuf's wire format: variable-length integers, tagged fields, lengths.

/// Maximum length of a variable-length integer.
pub(crate) const VARINT_BYTES_MAX: usize = 10;

/// Wire types of fields.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;
const FIXED32: u32 = 5;

/// Returns the encoded length of a number.
#[inline]
pub(crate) const fn varint_len(number: u64) -> usize {
    // Seven bits per byte; zero takes one byte.
    (70 - (number | 1).leading_zeros() as usize) / 7
}

/// A few fields on the stack: one copy into the output instead of one per byte.
pub(crate) struct Small<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Small<N> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    /// Writes a field with a number.
    #[inline]
    pub(crate) fn number(&mut self, field: u32, number: u64) {
        self.varint(tag(field, VARINT));
        self.varint(number);
    }

    /// Writes the tag and length of a field with bytes.
    #[inline]
    pub(crate) fn bytes_head(&mut self, field: u32, len: usize) {
        self.varint(tag(field, BYTES));
        self.varint(len as u64);
    }
}

const fn tag(field: u32, wire_type: u32) -> u64 {
    (field << 3 | wire_type) as u64
}

/// Appends fields to a buffer.
pub(crate) trait Push {
    fn push_varint(&mut self, number: u64);
    /// Appends a field with a number; negative numbers are given as two's complement.
    fn push_number(&mut self, field: u32, number: u64);
    /// Appends a field with eight bytes.
    fn push_fixed64(&mut self, field: u32, number: u64);
    /// Appends a field with bytes, a text or a message.
    fn push_bytes(&mut self, field: u32, bytes: &[u8]);
    /// Starts a field of unknown length and returns the position for [`close_bytes`](Self::close_bytes).
    fn open_bytes(&mut self, field: u32) -> usize;
    /// Ends the field that was started at a position.
    fn close_bytes(&mut self, place: usize);
}

/// Maximum length of a field that is written before its length is known: four bytes of seven bits.
pub(crate) const OPENED_BYTES_MAX: usize = (1 << 28) - 1;

impl Push for Vec<u8> {
    #[inline]
    fn push_varint(&mut self, number: u64) {
        let mut small = Small::<VARINT_BYTES_MAX>::new();
        small.varint(number);
        self.extend_from_slice(small.as_slice());
    }

    #[inline]
    fn push_number(&mut self, field: u32, number: u64) {
        let mut small = Small::<16>::new();
        small.number(field, number);
        self.extend_from_slice(small.as_slice());
    }

    fn push_fixed64(&mut self, field: u32, number: u64) {
        self.push_varint(tag(field, FIXED64));
        self.extend_from_slice(&number.to_le_bytes());
    }

    #[inline]
    fn push_bytes(&mut self, field: u32, bytes: &[u8]) {
        let mut small = Small::<16>::new();
        small.bytes_head(field, bytes.len());
        self.extend_from_slice(small.as_slice());
        self.extend_from_slice(bytes);
    }

    fn open_bytes(&mut self, field: u32) -> usize {
        self.push_varint(tag(field, BYTES));
        self.extend_from_slice(&[0; 4]);
        self.len()
    }

    /// Writes the length in four bytes, however short it is: moving the content level by level would take quadratic
    /// time in the depth. It cannot exceed [`OPENED_BYTES_MAX`], since no event that is read is that long.
    fn close_bytes(&mut self, place: usize) {
        let len = (self.len() - place).min(OPENED_BYTES_MAX);
        for n in 0..4 {
            let more = if n < 3 { 0x80 } else { 0 };
            self[place - 4 + n] = (len >> (7 * n)) as u8 & 0x7f | more;
        }
    }
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Payload<'a> {
    Number(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

impl<'a> Payload<'a> {
    /// Returns the number, whatever its wire type.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Number(number) | Self::Fixed64(number) => number,
            Self::Fixed32(number) => u64::from(number),
            Self::Bytes(_) => 0,
        }
    }

    /// Returns the bytes; empty if the field is a number.
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// Returns a float of either width.
    pub(crate) fn float(self) -> f64 {
        match self {
            Self::Fixed64(bits) => f64::from_bits(bits),
            Self::Fixed32(bits) => f64::from(f32::from_bits(bits)),
            Self::Number(_) | Self::Bytes(_) => 0.0,
        }
    }

    /// Calls `take` with the numbers of a repeated field: a single one, or several packed into bytes.
    pub(crate) fn numbers(self, mut take: impl FnMut(u64)) {
        match self {
            Self::Bytes(mut bytes) => {
                while let Some((number, len)) = read_varint(bytes) {
                    take(number);
                    bytes = &bytes[len..];
                }
            }
            one => take(one.number()),
        }
    }

    /// Calls `take` with the numbers of a repeated field of eight bytes each.
    pub(crate) fn fixed_numbers(self, mut take: impl FnMut(u64)) {
        match self {
            Self::Bytes(bytes) => bytes.as_chunks().0.iter().for_each(|eight| take(u64::from_le_bytes(*eight))),
            one => take(one.number()),
        }
    }
}

/// The reason why a message could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Offset in the message.
    pub at: usize,
    /// The expected input.
    pub expected: &'static str,
}

/// Iterates over the fields of a message.
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    begin: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, begin: 0 }
    }

    /// Returns the offset of the last field, or of the one that could not be read.
    pub(crate) fn last_begin(&self) -> usize {
        self.begin
    }

    /// Returns the next field and its value; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(u32, Payload<'a>)>, Broken> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let begin = self.at;
        self.begin = begin;
        let tag = self.varint()?;
        let Some(field) = u32::try_from(tag >> 3).ok().filter(|&field| field != 0) else {
            return Err(Broken { at: begin, expected: "the number of a field" });
        };
        let payload = match tag as u32 & 7 {
            VARINT => Payload::Number(self.varint()?),
            FIXED64 => Payload::Fixed64(u64::from_le_bytes(self.fixed()?)),
            FIXED32 => Payload::Fixed32(u32::from_le_bytes(self.fixed()?)),
            BYTES => {
                let at = self.at;
                let len = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                let end = self.at.checked_add(len).filter(|&end| end <= self.bytes.len());
                let end = end.ok_or(Broken { at, expected: "a length within the message" })?;
                let bytes = &self.bytes[self.at..end];
                self.at = end;
                Payload::Bytes(bytes)
            }
            _ => return Err(Broken { at: begin, expected: "a valid wire type" }),
        };
        Ok(Some((field, payload)))
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Broken> {
        let (number, len) =
            read_varint(&self.bytes[self.at..]).ok_or(Broken { at: self.at, expected: "a whole number" })?;
        self.at += len;
        Ok(number)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
        let bytes = self.bytes[self.at..].first_chunk::<N>();
        let bytes = *bytes.ok_or(Broken { at: self.at, expected: "a number of fixed length" })?;
        self.at += N;
        Ok(bytes)
    }
}

/// Reads a number and its length; `None` if it is cut off or too long.
#[inline]
pub(crate) fn read_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0;
    for (n, &byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX) {
        number |= u64::from(byte & 0x7f) << (7 * n);
        if byte < 0x80 {
            return Some((number, n + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_of_unknown_length_are_read_back() {
        for len in [0, 1, 127, 128, 16_384, 3_000_000] {
            let mut out = Vec::new();
            let place = out.open_bytes(7);
            out.resize(out.len() + len, 5);
            out.close_bytes(place);
            let field = Fields::new(&out).next().unwrap().unwrap();
            assert_eq!(field, (7, Payload::Bytes(&vec![5; len])));
        }
    }

    #[test]
    fn invalid_messages_are_refused_at_the_right_offset() {
        for (bytes, at) in [
            (&[0x08][..], 1),
            (&[0x08, 0x80], 1),
            (&[0x0a, 5, 1], 1),
            (&[0x0b], 0),
            (&[0x00, 1], 0),
            (&[0x09, 1, 2], 1),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], 1),
        ] {
            assert_eq!(Fields::new(bytes).next().unwrap_err().at, at, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_read_back(number: u64, field in 1u32..1 << 29) {
            let mut out = Vec::new();
            out.push_varint(number);
            prop_assert_eq!(out.len(), varint_len(number));
            prop_assert_eq!(read_varint(&out), Some((number, out.len())));
            out.clear();
            out.push_number(field, number);
            out.push_fixed64(field, number);
            out.push_bytes(field, b"abc");
            let mut fields = Fields::new(&out);
            prop_assert_eq!(fields.next(), Ok(Some((field, Payload::Number(number)))));
            prop_assert_eq!(fields.next(), Ok(Some((field, Payload::Fixed64(number)))));
            prop_assert_eq!(fields.next(), Ok(Some((field, Payload::Bytes(b"abc")))));
            prop_assert_eq!(fields.next(), Ok(None));
        }
    }
}
