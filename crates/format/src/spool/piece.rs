//! The events of one piece of a chunk, written as Chrome trace events.

use super::begun::Begun;
use super::calibration::Cursor;
use super::diagnostic::Damage;
use super::dictionary::{Dictionary, Site, Thread};
use super::json_check::is_object;
use super::layout::CHUNK_BYTES;
use super::record::{HEADER_BYTES, Kind, Record, SITE_INLINE, TIME_BITS};
use super::source::{Piece, missing_bytes};
use super::text::Texts;
use crate::chrome::{
    Counterable, push_args_value, push_counter_value, push_decimal, push_micros, push_start_and_duration, push_text,
};
use crate::{Error, ReadAt};
use ferrum_trace_model::Value;
use ferrum_trace_model::vocab::device;
use std::ops::Range;

/// How much is held before it is emitted: more than what a worker's share of an ordinary spool makes.
const EMIT_BYTES: usize = 4 << 20;

/// Whose lanes a slice with times of its own shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneKey {
    /// What could not stay on a thread's own track.
    Thread(u32),
    /// A named track.
    Track(u32),
    /// A `tid` of the reference's interface.
    Pushed(u32),
}

/// A slice whose lane is yet to be found.
#[derive(Debug)]
pub struct Loose {
    pub key: LaneKey,
    /// Nanoseconds.
    pub interval: (u64, u64),
    /// Where in [`Written::texts`] its beginning is, up to the time.
    pub head: Range<usize>,
    /// Where its arguments are; empty if there are none.
    pub args: Range<usize>,
    /// The flow that arrives where it begins.
    pub flow: Option<u64>,
}

/// What became of some pieces.
#[derive(Debug, Default)]
pub struct Written {
    /// Events, each with a comma before it.
    pub events: Vec<u8>,
    pub n_events: u64,
    pub loose: Vec<Loose>,
    pub texts: Vec<u8>,
    /// Threads that have events in here.
    pub threads: Vec<u32>,
    pub damage: Damage,
}

/// Writes pieces one after the other.
pub struct PieceWriter<'a, R: ?Sized> {
    source: &'a R,
    dictionary: &'a Dictionary,
    clock: Cursor<'a>,
    /// If the spool is a ring: what begins in it.
    begun: Option<&'a Begun>,
    pub written: Written,
}

/// What holds for the records of a segment.
#[derive(Clone, Copy)]
struct Segment<'a> {
    thread_id: u32,
    thread: Option<&'a Thread>,
    base: u64,
}

/// A record and its times in nanoseconds.
struct Timed<'r> {
    record: Record<'r>,
    start: u64,
    end: u64,
}

impl<'a, R: ReadAt + ?Sized> PieceWriter<'a, R> {
    /// `events` is where to write: emptied, and used again to save the system the work of finding memory.
    pub fn new(source: &'a R, dictionary: &'a Dictionary, begun: Option<&'a Begun>, events: Vec<u8>) -> Self {
        Self {
            source,
            dictionary,
            clock: dictionary.calibration.cursor(),
            begun,
            written: Written { events, ..Written::default() },
        }
    }

    /// Writes the events of `piece`. The chunk is read from its beginning on, since what went before says which thread
    /// and base hold.
    ///
    /// What is written is emitted when it becomes much, so that a small spool that stands for a large file takes no more
    /// memory than another.
    pub fn write(
        &mut self,
        piece: Piece,
        bytes: &[u8],
        emit: &mut dyn FnMut(Written) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let whole = &bytes[..piece.to.min(bytes.len())];
        if whole.len() < piece.to {
            let end = piece.chunk * CHUNK_BYTES as u64 + whole.len() as u64;
            self.damage(end, missing_bytes(piece.to - whole.len()));
        }
        let texts = Texts { source: self.source, chunk: piece.chunk, bytes: whole };
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
                    self.damage(offset, format!("{}; the rest of the chunk was passed over", bad.0));
                    break;
                }
            };
            let is_new = at >= piece.from;
            at += record.size;
            match record.kind {
                Kind::Segment => segment = Some(self.segment(&record)),
                Kind::LongDuration => {
                    long_duration = record.leading(0);
                    continue;
                }
                Kind::Text => {}
                _ if !is_new => {}
                _ => match segment {
                    Some(segment) => self.event(&texts, segment, record, long_duration, offset),
                    None => self.damage(offset, "an event of no thread was passed over"),
                },
            }
            long_duration = 0;
            if self.written.events.len() + self.written.texts.len() > EMIT_BYTES {
                emit(std::mem::take(&mut self.written))?;
            }
        }
        Ok(())
    }

    /// Writes the record at the start of `bytes` if it is a span without arguments and nothing is wrong with it.
    #[inline(always)]
    fn plain_span(&mut self, bytes: &[u8], segment: Option<Segment<'a>>) -> bool {
        let Some((site, end, duration)) = Record::plain_span(bytes) else {
            return false;
        };
        let Some(Segment { thread_id, thread: Some(thread), base }) = segment else {
            return false;
        };
        let Some(site) = self.dictionary.site(site) else {
            return false;
        };
        let end = base.wrapping_add(end);
        let start = self.clock.nanos_since_start(end.saturating_sub(duration));
        let end = self.clock.nanos_since_start(end);
        self.note_thread(thread_id);
        self.written.n_events += 1;
        let out = &mut self.written.events;
        site.slice_head.push_to(out);
        push_start_and_duration(out, start, end - start);
        thread.track.end.push_to(out);
        true
    }

    #[inline(always)]
    fn note_thread(&mut self, thread_id: u32) {
        if self.written.threads.last() != Some(&thread_id) {
            self.written.threads.push(thread_id);
        }
    }

    fn segment(&self, record: &Record<'_>) -> Segment<'a> {
        Segment { thread_id: record.site, thread: self.dictionary.thread(record.site), base: record.leading(0) }
    }

    fn damage(&mut self, offset: u64, message: impl Into<String>) {
        self.written.damage.add(offset, message);
    }

    fn event(&mut self, texts: &Texts<'_, R>, segment: Segment<'a>, record: Record<'_>, long: u64, offset: u64) {
        let Some(thread) = segment.thread else {
            self.damage(offset, format!("an event of the unknown thread {} was passed over", segment.thread_id));
            return;
        };
        let timed = self.timed(segment, record, long);
        let inline_site;
        let site = if timed.record.site == SITE_INLINE {
            inline_site = inline_site_of(texts, &timed.record);
            &inline_site
        } else {
            match self.dictionary.site(timed.record.site) {
                Some(site) => site,
                None => {
                    self.damage(offset, format!("an event of the unknown site {} was passed over", timed.record.site));
                    return;
                }
            }
        };
        self.written.n_events += 1;
        if !matches!(timed.record.kind, Kind::Pushed | Kind::PushedShort) {
            self.note_thread(segment.thread_id);
        }
        match timed.record.kind {
            Kind::Span | Kind::FirstLap => self.slice(texts, site, thread, &timed),
            Kind::Escaped | Kind::TrackSpan | Kind::Measured | Kind::Pushed | Kind::PushedShort => {
                self.loose(texts, site, segment.thread_id, &timed);
            }
            Kind::Counter => self.counter(texts, site, thread, &timed),
            kind => match self.begun {
                Some(begun) => self.point_of_ring(begun, texts, site, thread, &timed),
                None => self.point(texts, site, thread, &timed, kind),
            },
        }
    }

    /// A point whose beginning may have been overwritten: what is asynchronous then begins where the ring does, and an arrow that
    /// comes from nowhere is left out.
    fn point_of_ring(&mut self, begun: &Begun, texts: &Texts<'_, R>, site: &Site, thread: &Thread, timed: &Timed<'_>) {
        let record = &timed.record;
        match record.kind {
            Kind::FlowStep | Kind::FlowEnd if !begun.has_flow(record.leading(0)) => self.written.n_events -= 1,
            Kind::AsyncEnd if !begun.has_async(site, record) => {
                let first = self.clock.nanos_since_start(begun.first_tick);
                let begin = Timed { record: record.without_args(), start: first, end: first };
                self.point(texts, site, thread, &begin, Kind::AsyncBegin);
                self.point(texts, site, thread, timed, record.kind);
            }
            kind => self.point(texts, site, thread, timed, kind),
        }
    }

    #[inline]
    fn timed<'r>(&mut self, segment: Segment<'_>, record: Record<'r>, long: u64) -> Timed<'r> {
        let duration = record.duration | (long << TIME_BITS);
        let end_ticks = segment.base.wrapping_add(record.end);
        let (start, end) = match record.kind {
            Kind::TrackSpan | Kind::Measured => {
                let (start, end) = (record.leading(1), record.leading(1).saturating_add(record.leading(2)));
                let origin = self.clock.start_nanos();
                (start.saturating_sub(origin), end.saturating_sub(origin))
            }
            Kind::Pushed | Kind::PushedShort => {
                let start = self.clock.nanos_since_start(end_ticks).saturating_sub(record.pushed_nanos());
                (start, start.saturating_add(record.pushed_nanos()))
            }
            kind => {
                let start = self.clock.nanos_since_start(end_ticks.saturating_sub(duration));
                let end = self.clock.nanos_since_start(end_ticks);
                // The slice around the first lap is written later and must not begin at the same nanosecond.
                let start = start + u64::from(kind == Kind::FirstLap && start < end);
                (start, end)
            }
        };
        Timed { record, start, end }
    }

    #[inline]
    fn slice(&mut self, texts: &Texts<'_, R>, site: &Site, thread: &Thread, timed: &Timed<'_>) {
        let out = &mut self.written.events;
        site.slice_head.push_to(out);
        push_start_and_duration(out, timed.start, timed.end - timed.start);
        out.extend_from_slice(&thread.track.tail);
        if timed.record.n_args() > 0 {
            push_args(out, texts, site, &timed.record);
        }
        out.push(b'}');
    }

    /// Instants, and the ends of asynchronous things and of flows.
    fn point(&mut self, texts: &Texts<'_, R>, site: &Site, thread: &Thread, timed: &Timed<'_>, kind: Kind) {
        let out = &mut self.written.events;
        let (letter, extra): (u8, &[u8]) = match kind {
            Kind::AsyncBegin => (b'b', b""),
            Kind::AsyncInstant => (b'n', b""),
            Kind::AsyncEnd => (b'e', b""),
            Kind::FlowStart => (b's', b""),
            Kind::FlowStep => (b't', b""),
            // Without it, viewers take the arrow to the next slice instead of the one around it.
            Kind::FlowEnd => (b'f', b",\"bp\":\"e\""),
            _ => (b'i', b",\"s\":\"t\""),
        };
        out.extend_from_slice(&site.head);
        out.push(letter);
        out.extend_from_slice(b"\",\"ts\":");
        push_micros(out, timed.end);
        out.extend_from_slice(&thread.track.tail);
        out.extend_from_slice(extra);
        match kind {
            // Ids are of this process only: the same one in two processes is two things.
            Kind::AsyncBegin | Kind::AsyncInstant | Kind::AsyncEnd => {
                let id = timed.record.leading(0);
                out.extend_from_slice(format!(",\"id2\":{{\"local\":\"{id:#x}\"}}").as_bytes());
            }
            Kind::FlowStart | Kind::FlowStep | Kind::FlowEnd => {
                let id = timed.record.leading(0);
                out.extend_from_slice(format!(",\"id\":\"{id:#x}\"").as_bytes());
            }
            _ => {}
        }
        if timed.record.n_args() > 0 {
            push_args(out, texts, site, &timed.record);
        }
        out.push(b'}');
    }

    /// A counter. Viewers refuse values that are no finite numbers, so one that has them becomes an instant as well.
    fn counter(&mut self, texts: &Texts<'_, R>, site: &Site, thread: &Thread, timed: &Timed<'_>) {
        let out = &mut self.written.events;
        let before = out.len();
        out.extend_from_slice(&site.head);
        out.extend_from_slice(b"C\",\"ts\":");
        push_micros(out, timed.end);
        out.extend_from_slice(&thread.track.tail);
        out.extend_from_slice(b",\"args\":{");
        let (mut n_numbers, mut n_others) = (0, 0);
        for n in 0..timed.record.n_args() {
            let undo = out.len();
            if n_numbers > 0 {
                out.push(b',');
            }
            push_key(out, site, n);
            match push_counter_value(out, &texts.value(&timed.record, n)) {
                Counterable::Written => n_numbers += 1,
                Counterable::NotANumber => {
                    out.truncate(undo);
                    n_others += 1;
                }
            }
        }
        out.extend_from_slice(b"}}");
        if n_numbers == 0 {
            out.truncate(before);
        }
        if n_numbers == 0 || n_others > 0 {
            self.point(texts, site, thread, timed, Kind::Counter);
        }
    }

    fn loose(&mut self, texts: &Texts<'_, R>, site: &Site, thread_id: u32, timed: &Timed<'_>) {
        let key = match timed.record.kind {
            Kind::Pushed | Kind::PushedShort => LaneKey::Pushed(timed.record.pushed_tid()),
            Kind::TrackSpan | Kind::Measured => LaneKey::Track(timed.record.leading(0) as u32),
            _ => LaneKey::Thread(thread_id),
        };
        let out = &mut self.written.texts;
        let head_start = out.len();
        site.slice_head.push_to(out);
        let args_start = out.len();
        match timed.record.kind {
            Kind::Pushed => push_json_args(out, texts, &timed.record),
            Kind::Measured => push_clock_error(out, timed.record.leading(4)),
            _ => push_args(out, texts, site, &timed.record),
        }
        let args_end = out.len();
        let begins = |id: &u64| *id != 0 && self.begun.is_none_or(|begun| begun.has_flow(*id));
        let flow = (timed.record.kind == Kind::Measured).then(|| timed.record.leading(3)).filter(begins);
        self.written.loose.push(Loose {
            key,
            interval: (timed.start, timed.end),
            head: head_start..args_start,
            args: args_start..args_end,
            flow,
        });
    }
}

fn inline_site_of<R: ReadAt + ?Sized>(texts: &Texts<'_, R>, record: &Record<'_>) -> Site {
    let text = |n| match (n < record.n_args()).then(|| texts.value(record, n)) {
        Some(Value::Text(text)) => text.into_owned(),
        _ => "(lost)".to_owned(),
    };
    Site::new(&text(0), &text(1), &["name", "category"])
}

/// The first two arguments of an inline site are its name and category, which stand in the head already.
fn first_arg(record: &Record<'_>) -> usize {
    if record.site == SITE_INLINE { 2 } else { 0 }
}

fn push_args<R: ReadAt + ?Sized>(out: &mut Vec<u8>, texts: &Texts<'_, R>, site: &Site, record: &Record<'_>) {
    let first = first_arg(record);
    if first >= record.n_args() {
        return;
    }
    out.extend_from_slice(b",\"args\":{");
    for n in first..record.n_args() {
        if n > first {
            out.push(b',');
        }
        push_key(out, site, n);
        push_args_value(out, &texts.value(record, n));
    }
    out.push(b'}');
}

fn push_clock_error(out: &mut Vec<u8>, nanos: u64) {
    out.extend_from_slice(b",\"args\":{");
    push_text(out, device::CLOCK_ERROR_NS);
    out.push(b':');
    push_decimal(out, nanos);
    out.push(b'}');
}

fn push_key(out: &mut Vec<u8>, site: &Site, n: usize) {
    match site.keys.get(n) {
        Some(key) => out.extend_from_slice(key),
        None => {
            out.extend_from_slice(b"\"arg");
            push_decimal(out, n as u64);
            out.extend_from_slice(b"\":");
        }
    }
}

/// The argument of a pushed event is the JSON text of all its arguments; if it was too long to keep, or is not
/// there, a text says so in its place.
fn push_json_args<R: ReadAt + ?Sized>(out: &mut Vec<u8>, texts: &Texts<'_, R>, record: &Record<'_>) {
    let first = first_arg(record);
    if first >= record.n_args() {
        return;
    }
    out.extend_from_slice(b",\"args\":");
    match texts.value(record, first) {
        // A spool may be damaged, and what is pasted into the file must not break it.
        Value::Text(json) if is_object(json.as_bytes()) => out.extend_from_slice(json.as_bytes()),
        Value::Text(note) => {
            out.extend_from_slice(b"{\"ferrum_trace\":");
            push_text(out, &note);
            out.push(b'}');
        }
        _ => out.extend_from_slice(b"{\"ferrum_trace\":\"(lost)\"}"),
    }
}
