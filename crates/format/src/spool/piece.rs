//! Finds the events of one piece of a chunk and computes their times.

use super::begins_present::BeginsPresent;
use super::calibration::Cursor;
use super::chunk_names::ChunkNames;
use super::diagnostic::{Damage, events_max};
use super::dictionary::{Dictionary, Site, Thread};
use super::encoding::{CounterRow, Event, EventEncoder, push_loose_args};
use super::layout::CHUNK_BYTES;
use super::open_asyncs::AsyncPoint;
use super::progress::{Piece, missing_bytes};
use super::record::{HEADER_BYTES, Record, RecordKind, SITE_INLINE, TIME_BITS};
use super::row_title::title_of;
use super::text::Texts;
use crate::pack::Checksum;
use crate::{Error, ReadAt};
use ferrum_trace_model::Value;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Size at which the output is emitted: more than a worker's share of an ordinary spool.
const EMIT_BYTES: usize = 4 << 20;

/// The track whose lanes a slice with explicit times uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneKey {
    /// A thread, for slices that cannot be on its own track.
    Thread(u32),
    /// A named track.
    Track(u32),
    /// A `tid` of the original engine's interface.
    Pushed(u32),
}

/// A slice that has not been assigned to a lane.
#[derive(Debug)]
pub(crate) struct LooseSlice {
    pub key: LaneKey,
    /// Begin and end in nanoseconds.
    pub interval: (u64, u64),
    /// Range of its start, up to the time, in [`PieceOutput::texts`].
    pub head: Range<usize>,
    /// Range of its arguments; empty if there are none.
    pub args: Range<usize>,
    /// The flow that ends at its begin.
    pub flow: Option<u64>,
}

/// The output for some pieces.
#[derive(Debug, Default)]
pub(crate) struct PieceOutput {
    /// Encoded events, later compressed.
    pub events: Vec<u8>,
    /// Checksum of the events before compression.
    pub checksum: Checksum,
    pub n_events: u64,
    pub loose: Vec<LooseSlice>,
    pub texts: Vec<u8>,
    /// Threads with events in this output.
    pub threads: Vec<u32>,
    /// Counters with values in this output.
    pub counters: Vec<CounterRow>,
    /// Begins and ends of async events.
    pub async_points: Vec<AsyncPoint>,
    /// Time of the last event of a thread, in nanoseconds.
    pub last: u64,
    /// The last span of each piece: its thread, and its begin in ticks.
    pub last_spans: Vec<(u32, u64)>,
    /// Number of argument texts that are missing in the spool.
    pub n_lost_texts: u64,
    pub damage: Damage,
}

/// Writes pieces one after another.
pub(crate) struct PieceWriter<'a, R: ?Sized, S> {
    source: &'a R,
    dictionary: &'a Dictionary,
    clock: Cursor<'a>,
    /// The begins in the spool, if it is a ring or a part of a rotating recording.
    begins: Option<&'a BeginsPresent>,
    chunk_names: ChunkNames<'a, R>,
    encoder: S,
    written: PieceOutput,
    /// The last span so far: its thread, and its begin in ticks.
    last_span: (u32, u64),
}

/// The thread and time base of the records in a segment.
#[derive(Clone, Copy)]
struct SegmentContext<'a> {
    thread_id: u32,
    thread: Option<&'a Thread>,
    base: u64,
}

/// A site of the dictionary, or one that was made for some events.
enum EventSite<'a> {
    Defined(&'a Site),
    Made(Arc<Site>),
}

impl Deref for EventSite<'_> {
    type Target = Site;

    fn deref(&self) -> &Site {
        match self {
            Self::Defined(site) => site,
            Self::Made(site) => site,
        }
    }
}

impl<'a, R: ReadAt + ?Sized, S: EventEncoder> PieceWriter<'a, R, S> {
    pub(crate) fn new(
        source: &'a R,
        dictionary: &'a Dictionary,
        begins: Option<&'a BeginsPresent>,
        encoder: S,
    ) -> Self {
        let clock = dictionary.calibration.cursor();
        let chunk_names = ChunkNames::new(source);
        Self {
            source,
            dictionary,
            clock,
            begins,
            chunk_names,
            encoder,
            written: PieceOutput::default(),
            last_span: (0, 0),
        }
    }

    /// Returns the output that has not been emitted.
    pub(crate) fn take(&mut self) -> PieceOutput {
        let (events, counters) = self.encoder.take();
        PieceOutput { events, counters, ..std::mem::take(&mut self.written) }
    }

    /// Writes the events of `piece`. The chunk is read from its start, since earlier records determine the thread and
    /// the time base.
    ///
    /// The output is emitted whenever it becomes large, so that a small spool with a large output does not need more
    /// memory.
    pub(crate) fn write(
        &mut self,
        piece: Piece,
        bytes: &[u8],
        emit: &mut dyn FnMut(PieceOutput) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let whole = &bytes[..piece.to.min(bytes.len())];
        if whole.len() < piece.to {
            let end = piece.chunk * CHUNK_BYTES as u64 + whole.len() as u64;
            let n_missing = piece.to - whole.len();
            self.written.damage.add_missing(end, events_max(n_missing), missing_bytes(n_missing));
        }
        let texts = Texts::of_chunk(self.source, piece.chunk, whole);
        let mut at = 8 * super::layout::chunk::HEADER_WORDS;
        let mut segment = None;
        let mut long_duration = 0;
        while at < whole.len() {
            if at >= piece.from && long_duration == 0 && self.plain_span(&whole[at..], segment) {
                at += HEADER_BYTES;
                continue;
            }
            let offset = piece.chunk * CHUNK_BYTES as u64 + at as u64;
            let record = match Record::read(&whole[at..]) {
                Ok(record) => record,
                Err(bad) => {
                    let n_missing = events_max(whole.len() - at);
                    let message = format!("{}; the rest of the chunk was skipped: up to {n_missing} events", bad.0);
                    self.written.damage.add_missing(offset, n_missing, message);
                    break;
                }
            };
            let is_new = at >= piece.from;
            at += record.size;
            match record.kind {
                RecordKind::Segment => segment = Some(self.segment(&record)),
                RecordKind::LongDuration => {
                    long_duration = record.leading(0);
                    continue;
                }
                RecordKind::Text | RecordKind::Definition => {}
                _ if !is_new => {}
                _ => match segment {
                    Some(segment) => self.event(&texts, segment, record, long_duration, offset),
                    None => self.damage(offset, "an event without a thread was skipped"),
                },
            }
            long_duration = 0;
            if self.encoder.n_bytes() + self.written.texts.len() > EMIT_BYTES {
                emit(self.take())?;
            }
        }
        self.written.n_lost_texts += texts.n_lost();
        self.written.last_spans.push(std::mem::take(&mut self.last_span));
        Ok(())
    }

    /// Writes the record at the start of `bytes` if it is a valid span without arguments. Returns false for all others.
    #[inline(always)]
    fn plain_span(&mut self, bytes: &[u8], segment: Option<SegmentContext<'a>>) -> bool {
        let Some((site, end, duration)) = Record::plain_span(bytes) else {
            return false;
        };
        let Some(SegmentContext { thread_id, thread: Some(thread), base }) = segment else {
            return false;
        };
        let Some(site) = self.dictionary.site(site) else {
            return false;
        };
        let end = base.wrapping_add(end);
        let start = end.saturating_sub(duration);
        self.last_span = (thread_id, start);
        let start = self.clock.nanos_since_start(start);
        let end = self.clock.nanos_since_start(end);
        self.note_thread(thread_id);
        self.written.n_events += 1;
        self.written.last = self.written.last.max(end);
        self.encoder.plain_slice(site, thread, start, end);
        true
    }

    #[inline(always)]
    fn note_thread(&mut self, thread_id: u32) {
        if self.written.threads.last() != Some(&thread_id) {
            self.written.threads.push(thread_id);
        }
    }

    fn segment(&self, record: &Record<'_>) -> SegmentContext<'a> {
        let thread_id = record.thread();
        SegmentContext { thread_id, thread: self.dictionary.thread(thread_id), base: record.leading(0) }
    }

    /// Reports an event that was skipped.
    fn damage(&mut self, offset: u64, message: impl Into<String>) {
        self.written.damage.add_missing(offset, 1, message);
    }

    fn event(&mut self, texts: &Texts<'_, R>, segment: SegmentContext<'a>, record: Record<'_>, long: u64, offset: u64) {
        let Some(thread) = segment.thread else {
            self.damage(offset, format!("an event of the unknown thread {} was skipped", segment.thread_id));
            return;
        };
        let (start, end) = self.times(segment, &record, long);
        let Some(site) = self.site_of(texts, segment, &record, long) else {
            self.damage(offset, format!("an event of the unknown site {} was skipped", record.site));
            return;
        };
        self.written.n_events += 1;
        if !matches!(record.kind, RecordKind::Pushed | RecordKind::PushedShort) {
            self.note_thread(segment.thread_id);
        }
        // The other kinds have explicit times, from any clock.
        if !matches!(
            record.kind,
            RecordKind::TrackSpan | RecordKind::Measured | RecordKind::Pushed | RecordKind::PushedShort
        ) {
            self.written.last = self.written.last.max(end);
        }
        if matches!(record.kind, RecordKind::Span | RecordKind::Escaped) {
            self.last_span = (segment.thread_id, start_ticks(segment, &record, long));
        }
        let event = Event { texts, record, site: &site, thread, start, end };
        match record.kind {
            RecordKind::Span | RecordKind::FirstLap => self.encoder.slice(&event),
            RecordKind::Escaped
            | RecordKind::TrackSpan
            | RecordKind::Measured
            | RecordKind::Pushed
            | RecordKind::PushedShort => {
                self.loose(segment.thread_id, &event);
            }
            RecordKind::Counter => self.encoder.counter(&event),
            _ => self.point(segment.thread_id, &event),
        }
    }

    /// Returns the site of an event: a defined one, one that the record itself has, or one that a chunk defines.
    fn site_of(
        &mut self,
        texts: &Texts<'_, R>,
        segment: SegmentContext<'a>,
        record: &Record<'_>,
        long: u64,
    ) -> Option<EventSite<'a>> {
        if record.site == SITE_INLINE {
            return Some(EventSite::Made(Arc::new(inline_site_of(texts, record))));
        }
        if let Some(site) = self.dictionary.site(record.site) {
            return Some(EventSite::Defined(site));
        }
        // Times that the program gives are of any clock; the record was written at its end.
        let is_span = matches!(record.kind, RecordKind::Span | RecordKind::FirstLap | RecordKind::Escaped);
        let end = segment.base.wrapping_add(record.end);
        let start = if is_span { start_ticks(segment, record, long) } else { end };
        if let Some(site) = self.chunk_names.find(self.dictionary, record.site, segment.thread_id, start) {
            return Some(EventSite::Made(site));
        }
        let site = self.dictionary.overwritten_name(record.site)?;
        self.written.n_lost_texts += 1;
        Some(EventSite::Defined(site))
    }

    /// Writes a point. If its begin was overwritten or is in another part, an async event gets a begin at the start of
    /// the spool, and a flow is omitted.
    fn point(&mut self, thread_id: u32, event: &Event<'_, R>) {
        let record = &event.record;
        match (record.kind, self.begins) {
            (RecordKind::FlowStep | RecordKind::FlowEnd, Some(begins)) if !begins.has_flow(record.leading(0)) => {
                self.written.n_events -= 1;
            }
            (RecordKind::AsyncEnd, Some(begins)) if !begins.has_async(event.site, record) => {
                let first = self.clock.nanos_since_start(begins.first_tick);
                let begin = Event { record: record.without_args(), start: first, end: first, ..*event };
                let title = title_of(event);
                self.async_point(&begin, RecordKind::AsyncBegin, title.as_deref());
                self.async_point(event, RecordKind::AsyncEnd, title.as_deref());
            }
            (kind @ (RecordKind::AsyncBegin | RecordKind::AsyncEnd), _) => {
                let title = title_of(event);
                self.written.async_points.extend(AsyncPoint::of(
                    event.site,
                    record,
                    thread_id,
                    event.end,
                    title.as_deref(),
                ));
                self.async_point(event, kind, title.as_deref());
            }
            (kind, _) => self.encoder.point(event, kind),
        }
    }

    /// Writes the begin or end of an async event, inside the event that gives its row a title.
    fn async_point(&mut self, event: &Event<'_, R>, kind: RecordKind, title: Option<&str>) {
        let is_begin = kind == RecordKind::AsyncBegin;
        if let Some(title) = title.filter(|_| is_begin) {
            self.encoder.row_title_point(event, kind, title);
        }
        self.encoder.point(event, kind);
        if let Some(title) = title.filter(|_| !is_begin) {
            self.encoder.row_title_point(event, kind, title);
        }
    }

    /// Returns begin and end in nanoseconds.
    #[inline]
    fn times(&mut self, segment: SegmentContext<'_>, record: &Record<'_>, long: u64) -> (u64, u64) {
        let end_ticks = segment.base.wrapping_add(record.end);
        match record.kind {
            RecordKind::TrackSpan | RecordKind::Measured => {
                let (start, end) = (record.leading(1), record.leading(1).saturating_add(record.leading(2)));
                let origin = self.clock.start_nanos();
                (start.saturating_sub(origin), end.saturating_sub(origin))
            }
            RecordKind::Pushed | RecordKind::PushedShort => {
                let start = self.clock.nanos_since_start(end_ticks).saturating_sub(record.pushed_nanos());
                (start, start.saturating_add(record.pushed_nanos()))
            }
            kind => {
                let start = self.clock.nanos_since_start(start_ticks(segment, record, long));
                let end = self.clock.nanos_since_start(end_ticks);
                // The slice around the first lap is written later and must not begin at the same nanosecond.
                let start = start + u64::from(kind == RecordKind::FirstLap && start < end);
                (start, end)
            }
        }
    }

    fn loose(&mut self, thread_id: u32, event: &Event<'_, R>) {
        let record = &event.record;
        let key = match record.kind {
            RecordKind::Pushed | RecordKind::PushedShort => LaneKey::Pushed(record.pushed_tid()),
            RecordKind::TrackSpan | RecordKind::Measured => LaneKey::Track(record.leading(0) as u32),
            _ => LaneKey::Thread(thread_id),
        };
        let out = &mut self.written.texts;
        let head_start = out.len();
        self.encoder.loose_head(event.site, out);
        let args_start = out.len();
        push_loose_args(out, event);
        let args_end = out.len();
        let begins_here = |id: &u64| *id != 0 && self.begins.is_none_or(|begins| begins.has_flow(*id));
        let flow = (record.kind == RecordKind::Measured).then(|| record.leading(3)).filter(begins_here);
        self.written.loose.push(LooseSlice {
            key,
            interval: (event.start, event.end),
            head: head_start..args_start,
            args: args_start..args_end,
            flow,
        });
    }
}

/// Returns the begin of a thread's record in ticks.
fn start_ticks(segment: SegmentContext<'_>, record: &Record<'_>, long: u64) -> u64 {
    let duration = record.duration | (long << TIME_BITS);
    segment.base.wrapping_add(record.end).saturating_sub(duration)
}

/// Returns the site of a record that has its name and category as arguments.
pub(crate) fn inline_site_of<R: ReadAt + ?Sized>(texts: &Texts<'_, R>, record: &Record<'_>) -> Site {
    let text = |n| match (n < record.n_args()).then(|| texts.value(record, n)) {
        Some(Value::Text(text)) => text.into_owned(),
        _ => "(lost)".to_owned(),
    };
    Site::new(&text(0), &text(1), &["name", "category"])
}
