//! Counts the slices of a Perfetto trace, with a minimal protobuf reader.

use std::path::Path;

use crate::contenders::Outcome;

/// Number of slices begun in the file, which may be truncated; 0 if there is no file.
pub(crate) fn slices(path: &Path) -> Outcome<u64> {
    if !path.exists() {
        return Ok(0);
    }
    let bytes = std::fs::read(path)?;
    let packets = fields(&bytes).filter_map(|field| field.message(TRACE_PACKET));
    let events = packets.flat_map(fields).filter_map(|field| field.message(TRACK_EVENT));
    let begun = events.filter(|event| fields(event).any(|field| field.is_number(EVENT_TYPE, SLICE_BEGIN)));
    Ok(begun.count() as u64)
}

/// `Trace.packet`
const TRACE_PACKET: u64 = 1;
/// `TracePacket.track_event`
const TRACK_EVENT: u64 = 11;
/// `TrackEvent.type`
const EVENT_TYPE: u64 = 9;
/// `TrackEvent.Type.TYPE_SLICE_BEGIN`
const SLICE_BEGIN: u64 = 1;

enum Payload<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

struct Field<'a> {
    tag: u64,
    payload: Payload<'a>,
}

impl<'a> Field<'a> {
    fn message(&self, tag: u64) -> Option<&'a [u8]> {
        match self.payload {
            Payload::Bytes(bytes) if self.tag == tag => Some(bytes),
            _ => None,
        }
    }

    fn is_number(&self, tag: u64, number: u64) -> bool {
        self.tag == tag && matches!(self.payload, Payload::Number(found) if found == number)
    }
}

/// The fields of one message, up to the first malformed one.
fn fields(mut rest: &[u8]) -> impl Iterator<Item = Field<'_>> {
    std::iter::from_fn(move || {
        let (key, tail) = varint(rest)?;
        let (payload, tail) = match key & 7 {
            0 => varint(tail).map(|(number, tail)| (Payload::Number(number), tail))?,
            1 => tail.split_at_checked(8).map(|(bytes, tail)| (Payload::Bytes(bytes), tail))?,
            2 => {
                let (len, tail) = varint(tail)?;
                tail.split_at_checked(usize::try_from(len).ok()?).map(|(bytes, tail)| (Payload::Bytes(bytes), tail))?
            }
            5 => tail.split_at_checked(4).map(|(bytes, tail)| (Payload::Bytes(bytes), tail))?,
            _ => return None,
        };
        rest = tail;
        Some(Field { tag: key >> 3, payload })
    })
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (idx, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * idx);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[idx + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_begins_of_slices_in_complete_packets_are_counted() {
        let begin = [0x0A, 4, 0x5A, 2, 0x48, 1];
        let end = [0x0A, 4, 0x5A, 2, 0x48, 2];
        let cut = [0x0A, 4, 0x5A];
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), [&begin[..], &end, &begin, &cut].concat()).unwrap();
        assert_eq!(slices(path.path()).unwrap(), 2);
    }
}
