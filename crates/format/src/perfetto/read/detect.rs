//! Detects Perfetto traces.

use crate::perfetto::field::{packet, trace};
use crate::perfetto::wire::{Fields, Payload, read_varint};

/// Returns true if the first bytes of a file look like a Perfetto trace: a packet whose fields are valid and that has
/// at least one known field. A few hundred bytes are enough.
pub fn is_pftrace(first_bytes: &[u8]) -> bool {
    if first_bytes.first() != Some(&((trace::PACKET << 3 | 2) as u8)) {
        return false;
    }
    let Some((len, n_bytes)) = read_varint(&first_bytes[1..]) else {
        return false;
    };
    let rest = &first_bytes[1 + n_bytes..];
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    match rest.get(..len) {
        Some(whole) => len > 0 && has_packet_fields(whole, true),
        None => has_packet_fields(rest, false),
    }
}

fn has_packet_fields(bytes: &[u8], is_whole: bool) -> bool {
    let mut fields = Fields::new(bytes);
    let mut is_known = false;
    loop {
        match fields.next() {
            Ok(Some((field, payload))) => match is_right(field, payload) {
                Some(true) => is_known = true,
                Some(false) => return false,
                None => {}
            },
            Ok(None) => return is_known,
            // The last field is cut off by the end of the buffer; its tag is still checked.
            Err(_) => return !is_whole && (is_known || has_right_tag(&bytes[fields.last_begin()..])),
        }
    }
}

/// Returns true if a known field of a packet has the right type; `None` for an unknown field.
fn is_right(field: u32, payload: Payload<'_>) -> Option<bool> {
    let is_number = matches!(payload, Payload::Number(_));
    let is_bytes = matches!(payload, Payload::Bytes(_));
    match field {
        packet::TIMESTAMP | packet::TRUSTED_SEQUENCE_ID | packet::SEQUENCE_FLAGS => Some(is_number),
        packet::TRUSTED_UID | packet::TRUSTED_PID | packet::TIMESTAMP_CLOCK_ID => Some(is_number),
        packet::INCREMENTAL_STATE_CLEARED | packet::PREVIOUS_PACKET_DROPPED => Some(is_number),
        packet::CLOCK_SNAPSHOT | packet::TRACK_EVENT | packet::INTERNED_DATA | packet::DEFAULTS => Some(is_bytes),
        packet::TRACK_DESCRIPTOR | packet::COMPRESSED_PACKETS | packet::ZSTD_COMPRESSED_PACKETS => Some(is_bytes),
        packet::PROCESS_TREE | packet::TRACE_CONFIG | packet::SYNCHRONIZATION_MARKER => Some(is_bytes),
        packet::SYSTEM_INFO | packet::TRACE_UUID | packet::FTRACE_EVENTS => Some(is_bytes),
        1..2000 => None,
        _ => Some(false),
    }
}

fn has_right_tag(bytes: &[u8]) -> bool {
    let Some((tag, _)) = read_varint(bytes) else {
        return false;
    };
    let field = u32::try_from(tag >> 3).unwrap_or(0);
    tag & 7 == 2 && is_right(field, Payload::Bytes(&[])) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfetto::write::Encoder;

    #[test]
    fn traces_are_detected_by_their_first_bytes_and_other_files_are_not() {
        let encoder = Encoder::new(1_700_000_000_000_000_000);
        assert!(is_pftrace(encoder.bytes()));
        assert!(is_pftrace(&encoder.bytes()[..12]));
        // A packet that starts with a long message.
        assert!(is_pftrace(&[0x0a, 0x90, 0x4e, 0x0a, 0x8d, 0x4e, 1, 2, 3]));
        for other in [
            &b""[..],
            b"\n",
            b"\n[{\"ph\":\"X\"}]",
            b"\n  {\"traceEvents\":[]}                              ",
            b"\n\n\n\n\n\n\n\n\n\n\n\n",
            b"{\"traceEvents\":[]}",
            b"\x1f\x8b\x08",
            b"\x0a\x00\x0a\x00",
            b"\x0a\x02\x08",
            b"\x0a\x03abc",
        ] {
            assert!(!is_pftrace(other), "{other:?}");
        }
    }
}
