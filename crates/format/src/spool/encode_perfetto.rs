//! Encodes Perfetto packets.
//!
//! A slice is a begin directly followed by an end: trace_processor sorts packets by time, and packets of the same time
//! keep the order of the file. Records are in the order of their ends, and an inner slice begins later than the one
//! around it, so this order is correct.

use super::dictionary::{Site, Thread, counter_hash};
use super::encoding::{
    ABOUT, ARGS_KEY, About, CounterRow, Event, EventEncoder, FileEncoder, OverlapProcess, ProcessRow, Row, uuid,
};
use super::open_asyncs::AddedEnd;
use super::piece::LooseSlice;
use super::record::{FLOW, RecordKind};
use crate::ReadAt;
use crate::chrome::METADATA_CATEGORY;
use crate::perfetto::write::{AsyncPhase, Encoder, FlowPhase, Process, Sequence, Thread as ThreadRow, Track, Word};
use ferrum_trace_model::Value;
use ferrum_trace_model::vocab::about::RANK_LABEL;
use ferrum_trace_model::vocab::{ROW_OF, UNCLOSED};
use std::collections::HashSet;

/// Process id of events without a process: viewers give zero a special meaning.
const NO_PID: u32 = 1 << 30;
/// First thread id of threads whose number cannot be used.
const NO_TIDS: u32 = 1 << 30 | 1 << 29;
const NO_TIDS_MASK: u32 = (1 << 28) - 1;

/// The file.
#[derive(Debug)]
pub(crate) struct PerfettoFile {
    encoder: Encoder,
    process: Option<ProcessName>,
    /// Rows without names, and counters, that are already described.
    described: HashSet<u64>,
}

#[derive(Debug)]
struct ProcessName {
    pid: u32,
    name: String,
    rank: Option<u32>,
    orders_children: bool,
}

impl Default for PerfettoFile {
    fn default() -> Self {
        let encoder = Encoder::on_sequence(Sequence::Lanes, Vec::new());
        Self { encoder, process: None, described: HashSet::new() }
    }
}

/// Returns the thread id for a `tid` of the original engine's interface: the same number unless it is zero or exceeds
/// the 31 bits of viewers.
fn usable_tid(tid: u32) -> u32 {
    if (1..=i32::MAX as u32).contains(&tid) { tid } else { NO_TIDS + (tid & NO_TIDS_MASK) }
}

impl FileEncoder for PerfettoFile {
    type EventEncoder = PerfettoEventEncoder;
    const OPENING: &'static [u8] = &[];
    const ORDERS_LOOSE: bool = true;

    fn event_encoder(memory: Vec<u8>) -> PerfettoEventEncoder {
        PerfettoEventEncoder {
            encoder: Encoder::on_sequence(Sequence::Events, memory),
            sites: Vec::new(),
            counters: Vec::new(),
            noted: HashSet::new(),
        }
    }

    fn joined<'b>(&mut self, events: &'b [u8]) -> &'b [u8] {
        events
    }

    fn process(&mut self, out: &mut Vec<u8>, process: ProcessRow<'_>) {
        let ProcessRow { pid, name, rank, .. } = process;
        let orders_children = self.process.as_ref().is_some_and(|process| process.orders_children);
        let process = self.process.insert(ProcessName { pid, name: name.to_owned(), rank, orders_children });
        describe_process(&mut self.encoder, process);
        self.encoder.move_to(out);
    }

    fn row(&mut self, out: &mut Vec<u8>, row: Row, name: &str, sort: Option<i64>) {
        if let Some(process) = self.process.as_mut().filter(|process| sort.is_some() && !process.orders_children) {
            process.orders_children = true;
            describe_process(&mut self.encoder, process);
        }
        let thread = ThreadRow {
            process_track: uuid::PROCESS,
            pid: signed(row.pid),
            tid: i64::from(row.tid),
            name,
            sort_index: sort.map(|sort| sort.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32),
        };
        self.encoder.thread(row.uuid, &thread);
        self.encoder.move_to(out);
    }

    fn overlap_row(&mut self, out: &mut Vec<u8>, row: Row, process: OverlapProcess<'_>, name: &str) {
        let pid = signed(row.pid);
        if process.is_new {
            self.encoder.process(process.uuid, &Process { pid, name: process.name, ..Process::default() });
        }
        let tid = i64::from(usable_tid(row.tid));
        self.encoder.thread(row.uuid, &ThreadRow { process_track: process.uuid, pid, tid, name, sort_index: None });
        self.encoder.move_to(out);
    }

    fn nameless_row(&mut self, out: &mut Vec<u8>, row: Row) {
        if self.described.insert(uuid::NO_PROCESS) {
            let process = Process { pid: signed(NO_PID), name: "process 0", ..Process::default() };
            self.encoder.process(uuid::NO_PROCESS, &process);
        }
        if self.described.insert(row.uuid) {
            let tid = usable_tid(row.tid);
            let name = if tid == row.tid { String::new() } else { format!("thread {}", row.tid) };
            let thread = ThreadRow {
                process_track: uuid::NO_PROCESS,
                pid: signed(NO_PID),
                tid: i64::from(tid),
                name: &name,
                sort_index: None,
            };
            self.encoder.thread(row.uuid, &thread);
        }
        self.encoder.move_to(out);
    }

    fn counters(&mut self, out: &mut Vec<u8>, counters: Vec<CounterRow>) {
        for counter in counters {
            if self.described.insert(counter.uuid) {
                let track = Track { parent: uuid::PROCESS, name: &counter.name, rank: None, is_counter: true };
                self.encoder.track(counter.uuid, &track);
            }
        }
        self.encoder.move_to(out);
    }

    fn loose(&mut self, out: &mut Vec<u8>, row: Row, slice: &LooseSlice, texts: &[u8]) {
        let (start, end) = slice.interval;
        let head = &texts[slice.head.clone()];
        let (name, category) = loose_words(head);
        let encoder = &mut self.encoder;
        if let Some(args) = texts[slice.args.clone()].strip_prefix(ARGS_KEY) {
            encoder.push_json_args(args);
        }
        let (name, category) = (encoder.name(name), Some(encoder.category(category)));
        encoder.begin(start, row.uuid, name, category);
        // A flow to a slice without a duration must come before its end.
        if start < end {
            encoder.end(end, row.uuid);
        }
        if let Some(flow) = slice.flow {
            let (name, category) = (encoder.name(FLOW), Some(encoder.category(FLOW)));
            encoder.flow_point(start, row.uuid, name, category, FlowPhase::End, flow, true);
        }
        if start >= end {
            encoder.end(end, row.uuid);
        }
        encoder.move_to(out);
    }

    fn tail<R: ReadAt + ?Sized>(&self, ends: &[AddedEnd<'_>], open: &[Event<'_, R>], about: Option<&About>) -> Vec<u8> {
        let mut encoder = Encoder::on_sequence(Sequence::Tail, Vec::new());
        for &AddedEnd { site, thread, id, time, title } in ends {
            let (name, category) = (encoder.name(&site.name), Some(encoder.category(&site.category)));
            encoder.push_arg(UNCLOSED, &Value::Bool(true));
            encoder.async_point(time, uuid::thread(thread.row), name, category, AsyncPhase::End, id);
            if let Some(title) = title {
                encoder.push_arg(ROW_OF, &Value::Text((&*site.name).into()));
                encoder.push_arg(UNCLOSED, &Value::Bool(true));
                let title = Word::Inline(title);
                encoder.async_point(time, uuid::thread(thread.row), title, category, AsyncPhase::End, id);
            }
        }
        push_open_slices(&mut encoder, open);
        if let Some(about) = about {
            if self.process.is_none() {
                let process = Process { pid: signed(about.pid), ..Process::default() };
                encoder.process(uuid::PROCESS, &process);
            }
            if let Some(lost) = &about.lost {
                let (name, category) = (encoder.name(lost), Some(encoder.category(ABOUT)));
                encoder.instant(0, uuid::PROCESS, name, category);
            }
            encoder.push_json_args(&about.facts);
            let (name, category) = (encoder.name(ABOUT), Some(encoder.category(METADATA_CATEGORY)));
            encoder.instant(0, uuid::PROCESS, name, category);
        }
        encoder.bytes().to_vec()
    }
}

/// Writes open spans, which all have the same end: begins from the outside in, then ends from the inside out.
fn push_open_slices<R: ReadAt + ?Sized>(encoder: &mut Encoder, open: &[Event<'_, R>]) {
    for slice in open {
        for n in slice.first_arg()..slice.record.n_args() {
            encoder.push_arg(&slice.key(n), &finite_or_text(slice.value(n)));
        }
        encoder.push_arg(UNCLOSED, &Value::Bool(true));
        let (name, category) = (encoder.name(&slice.site.name), Some(encoder.category(&slice.site.category)));
        encoder.begin(slice.start, uuid::thread(slice.thread.row), name, category);
    }
    for slice in open.iter().rev() {
        encoder.end(slice.end, uuid::thread(slice.thread.row));
    }
}

fn describe_process(encoder: &mut Encoder, process: &ProcessName) {
    let described = Process {
        pid: signed(process.pid),
        name: &process.name,
        label: &process.rank.map_or_else(String::new, |rank| format!("{RANK_LABEL}{rank}")),
        sort_index: process.rank.map(|rank| i32::try_from(rank).unwrap_or(i32::MAX)),
        orders_children: process.orders_children,
    };
    encoder.process(uuid::PROCESS, &described);
}

/// Converts a process id, which has at most 31 bits.
fn signed(number: u32) -> i32 {
    number as i32
}

/// Writes the length of a name, the name and the category.
fn push_loose_words(out: &mut Vec<u8>, name: &str, category: &str) {
    out.extend_from_slice(&(name.len() as u32).to_le_bytes());
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(category.as_bytes());
}

fn loose_words(head: &[u8]) -> (&str, &str) {
    let Some((len, texts)) = head.split_first_chunk::<4>() else {
        return ("", "");
    };
    let (name, category) = texts.split_at_checked(u32::from_le_bytes(*len) as usize).unwrap_or((texts, &[]));
    (std::str::from_utf8(name).unwrap_or_default(), std::str::from_utf8(category).unwrap_or_default())
}

/// Encodes packets of events. Each unit has its own definitions, so that units are independent.
#[derive(Debug)]
pub(crate) struct PerfettoEventEncoder {
    encoder: Encoder,
    /// Interned texts of sites, by [`Site::index`].
    sites: Vec<SiteWords>,
    counters: Vec<CounterRow>,
    /// The uuids of all counters so far.
    noted: HashSet<u64>,
}

/// The interned texts of a site; zero where not yet known.
#[derive(Clone, Debug, Default)]
struct SiteWords {
    name: u64,
    category: u64,
    keys: Vec<u64>,
}

impl PerfettoEventEncoder {
    /// Returns name and category of a site for any event of this unit.
    #[inline]
    fn words<'s>(&mut self, site: &'s Site) -> (Word<'s>, Option<Word<'s>>) {
        match self.sites.get(site.index as usize) {
            Some(words) if words.name != 0 => (Word::Interned(words.name), Some(Word::Interned(words.category))),
            _ => self.new_words(site),
        }
    }

    #[cold]
    fn new_words<'s>(&mut self, site: &'s Site) -> (Word<'s>, Option<Word<'s>>) {
        let (name, category) = (self.encoder.name(&site.name), self.encoder.category(&site.category));
        if let (Word::Interned(name), Word::Interned(category), true) = (name, category, site.index > 0) {
            let keys = site.keys.iter().map(|key| match self.encoder.key(key) {
                Word::Interned(id) => id,
                Word::Inline(_) => 0,
            });
            let keys = keys.collect();
            let index = site.index as usize;
            if self.sites.len() <= index {
                self.sites.resize_with(index + 1, SiteWords::default);
            }
            self.sites[index] = SiteWords { name, category, keys };
        }
        (name, Some(category))
    }

    /// Returns name and category of an event, which may carry its own name.
    fn event_words<'s, R: ReadAt + ?Sized>(&mut self, event: &Event<'s, R>) -> (Word<'s>, Option<Word<'s>>) {
        if event.first_arg() > 0 {
            return (self.encoder.name(&event.site.name), Some(self.encoder.category(&event.site.category)));
        }
        self.words(event.site)
    }

    /// Writes the arguments of an event, after its name and category.
    fn push_args<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>) {
        let Self { encoder, sites, .. } = self;
        let keys = sites.get(event.site.index as usize).map_or(&[][..], |words| &words.keys);
        for n in event.first_arg()..event.args_end() {
            let value = finite_or_text(event.value(n));
            match keys.get(n) {
                Some(&key) if key != 0 => encoder.push_known_arg(key, &value),
                _ => encoder.push_arg(&event.key(n), &value),
            }
        }
    }

    /// Returns the track of a counter series.
    fn counter_row<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>, n: usize) -> u64 {
        let key = event.key(n);
        let uuid = match event.site.counters.get(n) {
            Some(&number) => uuid::counter(number),
            None => uuid::other_counter(counter_hash(&event.site.name, &key)),
        };
        if self.noted.insert(uuid) {
            let name = &event.site.name;
            let name = if key == "value" || *key == **name { name.to_string() } else { format!("{name} {key}") };
            self.counters.push(CounterRow { uuid, name });
        }
        uuid
    }
}

impl EventEncoder for PerfettoEventEncoder {
    #[inline(always)]
    fn plain_slice(&mut self, site: &Site, thread: &Thread, start: u64, end: u64) {
        let (name, category) = self.words(site);
        let track = uuid::thread(thread.row);
        self.encoder.begin(start, track, name, category);
        self.encoder.end(end, track);
    }

    fn slice<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>) {
        let (name, category) = self.event_words(event);
        self.push_args(event);
        let track = uuid::thread(event.thread.row);
        self.encoder.begin(event.start, track, name, category);
        self.encoder.end(event.end, track);
    }

    fn point<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>, kind: RecordKind) {
        let (name, category) = self.event_words(event);
        self.push_args(event);
        let (time, track) = (event.end, uuid::thread(event.thread.row));
        let encoder = &mut self.encoder;
        let mut flow = |phase| {
            let id = event.record.leading(0);
            encoder.flow_point(time, track, name, category, phase, id, phase == FlowPhase::End);
        };
        match kind {
            RecordKind::FlowStart => return flow(FlowPhase::Begin),
            RecordKind::FlowStep => return flow(FlowPhase::Step),
            RecordKind::FlowEnd => return flow(FlowPhase::End),
            _ => {}
        }
        let mut point = |phase| encoder.async_point(time, track, name, category, phase, event.record.leading(0));
        match kind {
            RecordKind::AsyncBegin => point(AsyncPhase::Begin),
            RecordKind::AsyncInstant => point(AsyncPhase::Instant),
            RecordKind::AsyncEnd => point(AsyncPhase::End),
            _ => encoder.instant(time, track, name, category),
        }
    }

    fn row_title_point<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>, kind: RecordKind, title: &str) {
        let encoder = &mut self.encoder;
        encoder.push_arg(ROW_OF, &Value::Text((&*event.site.name).into()));
        let phase = if kind == RecordKind::AsyncBegin { AsyncPhase::Begin } else { AsyncPhase::End };
        let category = Some(encoder.category(&event.site.category));
        let (track, id) = (uuid::thread(event.thread.row), event.record.leading(0));
        encoder.async_point(event.end, track, Word::Inline(title), category, phase, id);
    }

    fn counter<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>) {
        let (mut n_numbers, mut n_others) = (0, 0);
        for n in event.first_arg()..event.record.n_args() {
            let number = match event.value(n) {
                Value::Signed(number) => Number::Whole(number),
                Value::Unsigned(number) => i64::try_from(number).map_or(Number::Float(number as f64), Number::Whole),
                Value::Bool(truth) => Number::Whole(i64::from(truth)),
                Value::Float(number) if number.is_finite() => Number::Float(number),
                Value::Float(_) | Value::Text(_) | Value::Lost => {
                    n_others += 1;
                    continue;
                }
            };
            n_numbers += 1;
            let track = self.counter_row(event, n);
            match number {
                Number::Whole(number) => self.encoder.int_counter(event.end, track, number),
                Number::Float(number) => self.encoder.counter(event.end, track, number),
            }
        }
        if n_numbers == 0 || n_others > 0 {
            self.point(event, RecordKind::Counter);
        }
    }

    fn loose_head(&self, site: &Site, out: &mut Vec<u8>) {
        push_loose_words(out, &site.name, &site.category);
    }

    #[inline(always)]
    fn n_bytes(&self) -> usize {
        self.encoder.bytes().len()
    }

    fn take(&mut self) -> (Vec<u8>, Vec<CounterRow>) {
        let mut events = Vec::new();
        self.encoder.move_to(&mut events);
        (events, std::mem::take(&mut self.counters))
    }
}

/// The value of a counter.
enum Number {
    Whole(i64),
    Float(f64),
}

/// Converts numbers that JSON does not allow to texts, as in JSON output.
fn finite_or_text(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Float(number) if number.is_nan() => Value::Text("NaN".into()),
        Value::Float(number) if number == f64::INFINITY => Value::Text("Infinity".into()),
        Value::Float(number) if number == f64::NEG_INFINITY => Value::Text("-Infinity".into()),
        value => value,
    }
}
