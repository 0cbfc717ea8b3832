//! measureme, the recorder of `rustc -Z self-profile`: fixed-size events into one buffer behind a mutex.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, RwLock};

use measureme::{EventId, EventIdBuilder, PageTag, Profiler, RawEvent, StringId};

use super::{Contender, Outcome, Readable, Work, body};

pub(crate) static MEASUREME: Measureme = Measureme;

/// Interval events with ids allocated once, as rustc does.
pub(crate) struct Measureme;

struct Session {
    profiler: Profiler,
    kind: StringId,
    label: StringId,
}

static SESSION: RwLock<Option<Arc<Session>>> = RwLock::new(None);

impl Contender for Measureme {
    fn name(&self) -> &'static str {
        "measureme"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["measureme"]
    }

    fn batch(&self) -> u64 {
        500_000
    }

    fn output(&self) -> &'static str {
        "binary"
    }

    fn start(&self, dir: &Path, _work: Work) -> Outcome {
        let profiler = Profiler::new(dir.join("spans"))?;
        let kind = profiler.alloc_string("norm");
        let label = profiler.alloc_string("rms_norm");
        *SESSION.write().expect("unpoisoned") = Some(Arc::new(Session { profiler, kind, label }));
        Ok(())
    }

    fn record(&self, work: Work) {
        let session = SESSION.read().expect("unpoisoned").clone().expect("started");
        let thread = thread_number();
        if work.args {
            record_with_args(&session, thread, work.spans);
        } else {
            record_plain(&session, thread, work.spans);
        }
    }

    fn finish(&self, _dir: &Path) -> Outcome {
        // The profiler writes its last pages on drop, and this is the last reference.
        drop(SESSION.write().expect("unpoisoned").take());
        Ok(())
    }

    fn readable(&self, dir: &Path) -> Outcome<Readable> {
        let bytes = std::fs::read(dir.join("spans.mm_profdata"))?;
        Ok(Readable::Spans(event_bytes(&bytes).saturating_sub(STREAM_HEADER) / size_of::<RawEvent>() as u64))
    }
}

/// Magic and version before the pages, and again at the start of the event stream.
const FILE_HEADER: usize = 8;
const STREAM_HEADER: u64 = 8;

fn record_plain(session: &Session, thread: u32, spans: u64) {
    let id = EventId::from_label(session.label);
    for _ in 0..spans {
        let _timing = session.profiler.start_recording_interval_event(session.kind, id, thread);
        body();
    }
}

/// Its arguments are strings in its string table: the label and two formatted numbers, new for each span.
fn record_with_args(session: &Session, thread: u32, spans: u64) {
    let builder = EventIdBuilder::new(&session.profiler);
    for idx in 0..spans {
        let layer = session.profiler.alloc_string(idx.to_string().as_str());
        let tokens = session.profiler.alloc_string((idx + 1).to_string().as_str());
        let id = builder.from_label_and_args(session.label, &[layer, tokens]);
        let _timing = session.profiler.start_recording_interval_event(session.kind, id, thread);
        body();
    }
}

/// Bytes of the event stream: pages of a tag, a little-endian `u32` length and the content, possibly truncated by a
/// kill.
fn event_bytes(file: &[u8]) -> u64 {
    let mut rest = file.get(FILE_HEADER..).unwrap_or_default();
    let mut total = 0;
    while let Some((tag, tail)) = rest.split_first() {
        let Some((len, tail)) = tail.split_first_chunk::<4>() else {
            break;
        };
        let len = (u32::from_le_bytes(*len) as usize).min(tail.len());
        if *tag == PageTag::Events as u8 {
            total += len as u64;
        }
        rest = &tail[len..];
    }
    total
}

fn thread_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local!(static NUMBER: Cell<u32> = const { Cell::new(0) });
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}
