//! sparkles: variable-length delta records in a thread-local buffer, passed to a sender thread that writes the file.

use std::path::Path;
use std::sync::Mutex;

use sparkles::FinalizeGuard;
use sparkles::config::SparklesConfig;
use sparkles::sender::file_sender::FileSenderConfig;
use sparkles_macro::range_event_start;

use super::{Contender, Outcome, Readable, Work, body};

pub(crate) static SPARKLES: Sparkles = Sparkles;

/// File output only, without its own self-tracing events.
pub(crate) struct Sparkles;

static GUARD: Mutex<Option<FinalizeGuard>> = Mutex::new(None);

impl Contender for Sparkles {
    fn name(&self) -> &'static str {
        "sparkles"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["sparkles"]
    }

    fn takes_args(&self) -> bool {
        false
    }

    fn output(&self) -> &'static str {
        "binary"
    }

    fn start(&self, dir: &Path, _work: Work) -> Outcome {
        let file = FileSenderConfig::SingleFile(dir.join("spans.sprk"));
        let guard = sparkles::init(SparklesConfig::default().with_file_sender(file));
        *GUARD.lock().expect("unpoisoned") = Some(guard);
        Ok(())
    }

    fn record(&self, work: Work) {
        for _ in 0..work.spans {
            let _range = range_event_start!("rms_norm");
            body();
        }
    }

    fn finish(&self, _dir: &Path) -> Outcome {
        drop(GUARD.lock().expect("unpoisoned").take());
        Ok(())
    }

    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        let bytes = std::fs::read(dir.join("spans.sprk"))?;
        Ok(Readable::Spans(packets(&bytes).flat_map(buffers).map(own_ranges).sum()))
    }
}

/// The payloads of the file: each packet is a kind (32 bytes), a length (big-endian `u32`) and that many bytes. Kinds
/// other than trace data contain no valid buffers and count as zero.
fn packets(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (_kind, tail) = rest.split_at_checked(32)?;
        let (len, tail) = tail.split_first_chunk::<4>()?;
        let (payload, tail) = tail.split_at_checked(u32::from_be_bytes(*len) as usize)?;
        rest = tail;
        Some(payload)
    })
}

/// The event buffers of one payload: header length, header, buffer length, buffer; lengths are big-endian `u64`.
fn buffers(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (_header, tail) = sized(rest)?;
        let (buffer, tail) = sized(tail)?;
        rest = tail;
        Some(buffer)
    })
}

fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, tail) = bytes.split_first_chunk::<8>()?;
    tail.split_at_checked(usize::try_from(u64::from_be_bytes(*len)).ok()?)
}

/// Number of our ranges that begin in one buffer. A record is the id of its name, a byte whose two high bits say
/// instant (00), range start (10) or range end (11) and whose low bits are the length of the time delta, a range number
/// unless instant, and the delta. sparkles records a range of its own at each flush, with any features; ours has the
/// thread's first name.
fn own_ranges(buffer: &[u8]) -> u64 {
    let (mut at, mut begun) = (0, 0);
    while let Some([id, kind]) = buffer.get(at..at + 2) {
        let is_range = kind & 0x80 != 0;
        begun += u64::from(*id == 0 && kind & 0xC0 == 0x80);
        at += 2 + usize::from(is_range) + usize::from(kind & 0x0F);
    }
    begun
}
