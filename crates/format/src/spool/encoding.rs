//! The interface of the output encodings. Content and order of the events are the same for all of them.

use super::dictionary::{Site, Thread};
use super::open_asyncs::AddedEnd;
use super::piece::LooseSlice;
use super::record::{Record, RecordKind, SITE_INLINE};
use super::row_title::title_arg;
use super::text::Texts;
use crate::ReadAt;
use crate::chrome::{push_args_value, push_decimal, push_text};
use ferrum_trace_model::Value;
use ferrum_trace_model::vocab;
use ferrum_trace_model::vocab::device;
use std::borrow::Cow;

use super::json_check::is_object;

/// An event with its definitions and times.
pub(crate) struct Event<'a, R: ?Sized> {
    pub texts: &'a Texts<'a, R>,
    pub record: Record<'a>,
    pub site: &'a Site,
    pub thread: &'a Thread,
    /// Begin in nanoseconds.
    pub start: u64,
    /// End in nanoseconds.
    pub end: u64,
}

impl<'a, R: ReadAt + ?Sized> Event<'a, R> {
    /// Returns the index of the first argument to write: those of an inline site start with name and category.
    pub(crate) fn first_arg(&self) -> usize {
        if self.record.site == SITE_INLINE { 2 } else { 0 }
    }

    /// Returns the end of the arguments to write: the title of a row is written elsewhere.
    pub(crate) fn args_end(&self) -> usize {
        title_arg(self.site, &self.record).unwrap_or(self.record.n_args())
    }

    /// Returns the name of the `n`th argument.
    pub(crate) fn key(&self, n: usize) -> Cow<'a, str> {
        self.site.keys.get(n).map_or_else(|| format!("arg{n}").into(), |key| Cow::Borrowed(key.as_str()))
    }

    /// Returns the value of the `n`th argument.
    pub(crate) fn value(&self, n: usize) -> Value<'_> {
        self.texts.value(&self.record, n)
    }
}

/// A counter series that is new in the file.
#[derive(Debug)]
pub(crate) struct CounterRow {
    /// Unique number among all rows.
    pub uuid: u64,
    pub name: String,
}

/// Encodes the events of some pieces; each worker has its own.
pub(crate) trait EventEncoder {
    /// Writes a slice without arguments, by far the most frequent event.
    fn plain_slice(&mut self, site: &Site, thread: &Thread, start: u64, end: u64);
    /// Writes a slice on the track of its thread.
    fn slice<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>);
    /// Writes an instant, or a point of an async event or a flow. `kind` may differ from the kind of the record.
    fn point<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>, kind: RecordKind);
    /// Writes the begin or end of the event around an async event that gives its row a title.
    fn row_title_point<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>, kind: RecordKind, title: &str);
    /// Writes values of counters. A value that is not a finite number is written as an instant.
    fn counter<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>);
    /// Writes the name and category of a slice that has not been assigned to a lane.
    fn loose_head(&self, site: &Site, out: &mut Vec<u8>);
    /// Returns the size of the output that has not been taken.
    fn n_bytes(&self) -> usize;
    /// Returns the output and the counter series in it.
    fn take(&mut self) -> (Vec<u8>, Vec<CounterRow>);
}

/// A row of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub pid: u32,
    pub tid: u32,
    /// Unique number among all rows.
    pub uuid: u64,
}

/// The process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessRow<'a> {
    pub pid: u32,
    pub name: &'a str,
    /// The rank of the process in its run, by which viewers sort processes.
    pub rank: Option<u32>,
    /// True if the process has no name in the file yet.
    pub is_new: bool,
}

/// A process for the n-th lane of all rows of the original engine's interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverlapProcess<'a> {
    pub name: &'a str,
    pub uuid: u64,
    /// True if the process has no row yet.
    pub is_new: bool,
}

/// Unique numbers of rows: small where there are many events.
pub(crate) mod uuid {
    /// The process.
    pub(crate) const PROCESS: u64 = 5;
    /// The process of the events of the original engine's interface, which has no processes.
    pub(crate) const NO_PROCESS: u64 = 8 + 5;

    /// A process for slices of the original engine's interface on a further lane, from 1 on.
    pub(crate) fn overlap_process(lane: u32) -> u64 {
        NO_PROCESS + 8 * u64::from(lane)
    }

    /// A thread.
    pub(crate) fn thread(row: u32) -> u64 {
        8 * u64::from(row) + 1
    }

    /// A named track.
    pub(crate) fn track(id: u32) -> u64 {
        8 * u64::from(id) + 2
    }

    /// A further lane of any track.
    pub(crate) fn lane(id: u32) -> u64 {
        8 * u64::from(id) + 3
    }

    /// A thread of the original engine's interface.
    pub(crate) fn pushed(tid: u32) -> u64 {
        8 * u64::from(tid) + 4
    }

    /// A counter series that the spool defines.
    pub(crate) fn counter(id: u32) -> u64 {
        8 * u64::from(id) + 6
    }

    /// A counter series that the spool does not define.
    pub(crate) fn other_counter(hash: u64) -> u64 {
        hash | 7
    }
}

/// Statements about the recording at the end of a file.
#[derive(Debug)]
pub(crate) struct About {
    pub pid: u32,
    /// A message about lost events, if there are any.
    pub lost: Option<String>,
    /// All facts, as a JSON object.
    pub facts: Vec<u8>,
}

/// Name and category of the metadata event about the recording.
pub(crate) const ABOUT: &str = vocab::about::NAME;

/// Encodes the parts of a file that are written in order.
pub(crate) trait FileEncoder {
    /// The encoder for workers.
    type EventEncoder: EventEncoder;
    /// The start of every file.
    const OPENING: &'static [u8];
    /// True if the slices of a lane must be in the order of their begins.
    const ORDERS_LOOSE: bool;

    /// Creates an encoder for the next unit of pieces. `memory` is an empty buffer for reuse.
    fn event_encoder(memory: Vec<u8>) -> Self::EventEncoder;
    /// Returns the bytes to write for some events: the first events of a file may need a change.
    fn joined<'b>(&mut self, events: &'b [u8]) -> &'b [u8];
    /// Writes the name of the process.
    fn process(&mut self, out: &mut Vec<u8>, process: ProcessRow<'_>);
    /// Writes the name and sort index of a row.
    fn row(&mut self, out: &mut Vec<u8>, row: Row, name: &str, sort: Option<i64>);
    /// Writes a row of the original engine's interface with slices that overlap others of the same `tid`. It is in a
    /// separate process, so that it can have the same number. Called once per row.
    fn overlap_row(&mut self, out: &mut Vec<u8>, row: Row, process: OverlapProcess<'_>, name: &str);
    /// Writes a row of the original engine's interface, which has no name.
    fn nameless_row(&mut self, out: &mut Vec<u8>, row: Row);
    /// Writes the new ones of these counter series.
    fn counters(&mut self, out: &mut Vec<u8>, counters: Vec<CounterRow>);
    /// Writes a slice on a lane, and the flow that ends there.
    fn loose(&mut self, out: &mut Vec<u8>, row: Row, slice: &LooseSlice, texts: &[u8]);
    /// Returns the end of a file: missing ends of async events, open spans as slices (outer ones first), and the
    /// statements about the recording.
    fn tail<R: ReadAt + ?Sized>(&self, ends: &[AddedEnd<'_>], open: &[Event<'_, R>], about: Option<&About>) -> Vec<u8>;
}

/// The text before the arguments of an event.
pub(crate) const ARGS_KEY: &[u8] = b",\"args\":";

/// Writes `,"args":{…}`, or nothing if there are none.
pub(crate) fn push_args<R: ReadAt + ?Sized>(out: &mut Vec<u8>, event: &Event<'_, R>) {
    if event.first_arg() >= event.args_end() {
        return;
    }
    out.extend_from_slice(ARGS_KEY);
    out.push(b'{');
    push_args_inside(out, event);
    out.push(b'}');
}

/// Writes `,"args":{…,"unclosed":true}`
pub(crate) fn push_unclosed_args<R: ReadAt + ?Sized>(out: &mut Vec<u8>, event: &Event<'_, R>) {
    out.extend_from_slice(ARGS_KEY);
    out.push(b'{');
    push_args_inside(out, event);
    if event.first_arg() < event.args_end() {
        out.push(b',');
    }
    push_text(out, vocab::UNCLOSED);
    out.extend_from_slice(b":true}");
}

fn push_args_inside<R: ReadAt + ?Sized>(out: &mut Vec<u8>, event: &Event<'_, R>) {
    let first = event.first_arg();
    for n in first..event.args_end() {
        if n > first {
            out.push(b',');
        }
        push_key(out, event.site, n);
        push_args_value(out, &event.value(n));
    }
}

/// Writes `"key":`
pub(crate) fn push_key(out: &mut Vec<u8>, site: &Site, n: usize) {
    match site.encoded_keys.get(n) {
        Some(key) => out.extend_from_slice(key),
        None => {
            out.extend_from_slice(b"\"arg");
            push_decimal(out, n as u64);
            out.extend_from_slice(b"\":");
        }
    }
}

/// Writes the arguments of a slice that has not been assigned to a lane.
pub(crate) fn push_loose_args<R: ReadAt + ?Sized>(out: &mut Vec<u8>, event: &Event<'_, R>) {
    match event.record.kind {
        RecordKind::Pushed => push_json_args(out, event),
        RecordKind::Measured => push_clock_error(out, event.record.leading(4)),
        _ => push_args(out, event),
    }
}

fn push_clock_error(out: &mut Vec<u8>, nanos: u64) {
    out.extend_from_slice(ARGS_KEY);
    out.push(b'{');
    push_text(out, device::CLOCK_ERROR_NS);
    out.push(b':');
    push_decimal(out, nanos);
    out.push(b'}');
}

/// Writes the argument of a pushed event, which is the JSON text of all its arguments; if it was too long to keep, or
/// is missing, a text states that.
fn push_json_args<R: ReadAt + ?Sized>(out: &mut Vec<u8>, event: &Event<'_, R>) {
    let first = event.first_arg();
    if first >= event.record.n_args() {
        return;
    }
    out.extend_from_slice(ARGS_KEY);
    match event.value(first) {
        // A spool may be damaged, and its content must not break the file.
        Value::Text(json) if is_object(json.as_bytes()) => out.extend_from_slice(json.as_bytes()),
        Value::Text(note) => {
            out.extend_from_slice(b"{\"ferrum_trace\":");
            push_text(out, &note);
            out.push(b'}');
        }
        _ => out.extend_from_slice(b"{\"ferrum_trace\":\"(lost)\"}"),
    }
}
