//! Builds a spool around arbitrary bytes.
//!
//! Chunks are large and their headers are checked first, so a fuzzer that has to invent them gets no further. Here the
//! input only fills the content that the headers announce:
//!
//! ```text
//! input   │ file header : 8 bytes │ section │ section │ …
//! section │ tag : 1 │ length : 2 │ bytes               a chunk each; the first goes to chunk 0, as definitions
//! ```

use ferrum_trace_format::spool::Definition;
use ferrum_trace_format::spool::layout::{
    CHUNK_BYTES, DEFINITIONS_MAGIC, EVENTS_MAGIC, FILE_MAGIC, VERSION, chunk, file,
};
use ferrum_trace_format::spool::record::{RecordKind, first_word, second_word};

/// Bits of a section's tag.
const DEFINITIONS: u8 = 1;
const CLOSED: u8 = 2;
const DAMAGED: u8 = 4;
const WITHOUT_SEGMENT: u8 = 8;

/// The thread and the site that every spool here defines, so that records can refer to them.
const THREAD: u32 = 1;
const SITE: u32 = 2;

/// Spools with more chunks are no more useful.
const CHUNKS_MAX: usize = 12;

/// Builds a spool with valid headers from the input, except those that the input damages.
pub fn framed(input: &[u8]) -> Vec<u8> {
    let (header, mut rest) = input.split_at(input.len().min(8));
    let (_, first) = next_section(&mut rest);
    let mut spool = first_chunk(header, first);
    while !rest.is_empty() && spool.len() < CHUNKS_MAX * CHUNK_BYTES {
        spool.resize(spool.len().next_multiple_of(CHUNK_BYTES), 0);
        let (tag, bytes) = next_section(&mut rest);
        spool.extend(further_chunk(tag, bytes));
    }
    spool
}

fn next_section<'a>(rest: &mut &'a [u8]) -> (u8, &'a [u8]) {
    let Some((&[tag, low, high], after)) = rest.split_first_chunk() else {
        return (0, std::mem::take(rest));
    };
    let len = usize::from(u16::from_le_bytes([low, high]));
    let (section, after) = after.split_at(len.min(after.len()));
    *rest = after;
    (tag, section)
}

fn first_chunk(header: &[u8], definitions: &[u8]) -> Vec<u8> {
    let byte = |at: usize| u64::from(header.get(at).copied().unwrap_or_default());
    let mut words = [0; file::HEADER_WORDS];
    words[chunk::MAGIC] = FILE_MAGIC;
    words[file::VERSION] = VERSION | ((CHUNK_BYTES as u64) << 32);
    words[file::PID] = byte(0);
    words[file::CLOCK] = byte(1);
    words[file::FINISHED] = byte(2);
    words[file::DROPPED] = byte(3);
    words[file::STOP_REASON] = byte(4);
    words[chunk::STATE] = byte(5);
    words[file::CHUNKS_USED] = byte(6);
    words[file::RING] = byte(7) & 1;
    filled(&mut words, &[&known_definitions(), definitions].concat())
}

fn known_definitions() -> Vec<u8> {
    let thread = Definition::Thread { id: THREAD, os_id: 7, dropped: 0, name: "worker".into() };
    let site = Definition::Site {
        id: SITE,
        name: "step".into(),
        category: "".into(),
        keys: vec!["batch".into(), "phase".into()],
    };
    [thread.to_bytes(), site.to_bytes()].concat()
}

fn further_chunk(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut words = [0; chunk::HEADER_WORDS];
    words[chunk::STATE] = u64::from(tag & CLOSED != 0);
    if tag & DEFINITIONS != 0 {
        words[chunk::MAGIC] = DEFINITIONS_MAGIC;
    } else {
        words[chunk::MAGIC] = EVENTS_MAGIC;
    }
    let segment = [first_word(THREAD, 0), second_word(RecordKind::Segment, 0, 0, 0), 0];
    let mut body = Vec::new();
    if tag & (DEFINITIONS | WITHOUT_SEGMENT) == 0 {
        body.extend(segment.iter().flat_map(|word| word.to_le_bytes()));
    }
    body.extend_from_slice(bytes);
    let mut filled = filled(&mut words, &body);
    if tag & DAMAGED != 0 {
        // The length, or another field that the input's last bytes select.
        let (at, value) = (usize::from(tag >> 4), bytes.last().copied().unwrap_or_default());
        filled[at] ^= value;
    }
    filled
}

/// Header and body, with the length of both.
fn filled(header: &mut [u64], body: &[u8]) -> Vec<u8> {
    let n_header = 8 * header.len();
    let n_body = body.len().min(CHUNK_BYTES - n_header) / 8 * 8;
    header[chunk::LEN] = (n_header + n_body) as u64;
    let header = header.iter().flat_map(|word| word.to_le_bytes());
    header.chain(body[..n_body].iter().copied()).collect()
}
