//! What a form of the output decides: how things are spelled. What there is to spell, and in which order, is the same for all.

use super::dictionary::{Site, Thread};
use super::open_asyncs::UnclosedEnd;
use super::piece::Loose;
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

/// An event, with all that is known of it.
pub struct Event<'a, R: ?Sized> {
    pub texts: &'a Texts<'a, R>,
    pub record: Record<'a>,
    pub site: &'a Site,
    pub thread: &'a Thread,
    /// Nanoseconds.
    pub start: u64,
    /// Nanoseconds.
    pub end: u64,
}

impl<'a, R: ReadAt + ?Sized> Event<'a, R> {
    /// The first two arguments of an inline site are its name and category, which stand elsewhere already.
    pub fn first_arg(&self) -> usize {
        if self.record.site == SITE_INLINE { 2 } else { 0 }
    }

    /// The end of the arguments that are shown: the title of a row stands elsewhere.
    pub fn args_end(&self) -> usize {
        title_arg(self.site, &self.record).unwrap_or(self.record.n_args())
    }

    /// The name of the `n`th argument.
    pub fn key(&self, n: usize) -> Cow<'a, str> {
        self.site.keys.get(n).map_or_else(|| format!("arg{n}").into(), |key| Cow::Borrowed(key.as_str()))
    }

    /// The `n`th argument.
    pub fn value(&self, n: usize) -> Value<'_> {
        self.texts.value(&self.record, n)
    }
}

/// The values of a counter, in a file that has none of its name yet.
#[derive(Debug)]
pub struct CounterRow {
    /// A number of its own among all rows.
    pub uuid: u64,
    pub name: String,
}

/// Spells the events of some pieces; each worker has its own.
pub trait Speller {
    /// A slice without arguments, by far the most frequent event. The number is that of its site.
    fn plain_slice(&mut self, site_id: u32, site: &Site, thread: &Thread, start: u64, end: u64);
    /// A slice on the track of its thread.
    fn slice<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>);
    /// Instants, and the ends of asynchronous things and of flows. The kind may be another than that of the record.
    fn point<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>, kind: RecordKind);
    /// The begin or end of what is drawn around an asynchronous event, to give its row a title.
    fn row_edge<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>, kind: RecordKind, title: &str);
    /// Values of counters. One that is no finite number makes an instant of the event, too.
    fn counter<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>);
    /// The name and category of a slice whose lane is yet to be found.
    fn loose_head(&self, site: &Site, out: &mut Vec<u8>);
    /// How many bytes have been spelled and not been taken.
    fn n_bytes(&self) -> usize;
    /// What has been spelled, and the rows of counters in it.
    fn take(&mut self) -> (Vec<u8>, Vec<CounterRow>);
}

/// A row of the trace, by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub pid: u32,
    pub tid: u32,
    /// A number of its own among all rows.
    pub uuid: u64,
}

/// The process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessRow<'a> {
    pub pid: u32,
    pub name: &'a str,
    /// Which of the processes of one run it is, so that viewers sort them.
    pub rank: Option<u32>,
    /// Whether it had no other name before.
    pub is_new: bool,
}

/// A process that stands for the nth lane of all rows of the reference's interface.
#[derive(Clone, Copy, Debug)]
pub struct OverlapProcess<'a> {
    pub name: &'a str,
    pub uuid: u64,
    /// Whether it has no row yet.
    pub is_new: bool,
}

/// Numbers for rows of all kinds: small where there are many events.
pub mod uuid {
    /// The process.
    pub const PROCESS: u64 = 5;
    /// What the events of the reference's interface belong to, which knows no processes.
    pub const NO_PROCESS: u64 = 8 + 5;

    /// Process of slices of the original interface that are on a further lane, from 1 on.
    pub fn overlap_process(lane: u32) -> u64 {
        NO_PROCESS + 8 * u64::from(lane)
    }

    /// A thread.
    pub fn thread(row: u32) -> u64 {
        8 * u64::from(row) + 1
    }

    /// A named track.
    pub fn track(id: u32) -> u64 {
        8 * u64::from(id) + 2
    }

    /// A further lane of anything.
    pub fn lane(id: u32) -> u64 {
        8 * u64::from(id) + 3
    }

    /// A thread of the reference's interface.
    pub fn pushed(tid: u32) -> u64 {
        8 * u64::from(tid) + 4
    }

    /// A counter that the spool's definitions name.
    pub fn counter(id: u32) -> u64 {
        8 * u64::from(id) + 6
    }

    /// A counter that they do not name.
    pub fn other_counter(hash: u64) -> u64 {
        hash | 7
    }
}

/// What the end of a file says of the recording.
#[derive(Debug)]
pub struct About {
    pub pid: u32,
    /// What to say of events that were lost, if any were.
    pub lost: Option<String>,
    /// All that is known, as a JSON object.
    pub facts: Vec<u8>,
}

/// Category of what is said of the recording, and the name of its metadata event.
pub const ABOUT: &str = vocab::about::NAME;

/// Spells the parts of a file that are made one after the other.
pub trait FileSpelling {
    /// What workers use.
    type Speller: Speller;
    /// What every file begins with.
    const OPENING: &'static [u8];
    /// Whether slices of a lane must be in the order of their begins.
    const ORDERS_LOOSE: bool;

    /// For the next unit of pieces. `memory` is where to write: emptied, and used again to save the system the work of finding it.
    fn speller(memory: Vec<u8>) -> Self::Speller;
    /// What has to be written of some events: the first ones of a file may need a change.
    fn joined<'b>(&mut self, events: &'b [u8]) -> &'b [u8];
    /// The name of the process.
    fn process(&mut self, out: &mut Vec<u8>, process: ProcessRow<'_>);
    /// The name of a row, and where it wants to stand.
    fn row(&mut self, out: &mut Vec<u8>, row: Row, name: &str, sort: Option<i64>);
    /// A row of the reference's interface that holds slices which overlap others of the same number. It is in a process of its own, so
    /// that it can have that number. Called once a row.
    fn overlap_row(&mut self, out: &mut Vec<u8>, row: Row, process: OverlapProcess<'_>, name: &str);
    /// A row of the reference's interface, which has no name.
    fn nameless_row(&mut self, out: &mut Vec<u8>, row: Row);
    /// Rows of counters, new ones and old ones.
    fn counters(&mut self, out: &mut Vec<u8>, counters: Vec<CounterRow>);
    /// A slice on a lane, and the flow that arrives there.
    fn loose(&mut self, out: &mut Vec<u8>, row: Row, slice: &Loose, texts: &[u8]);
    /// The end of a file: missing ends of async events, slices that have not ended (outer ones first), and what there is to
    /// say about the recording.
    fn tail<R: ReadAt + ?Sized>(
        &self,
        ends: &[UnclosedEnd<'_>],
        open: &[Event<'_, R>],
        about: Option<&About>,
    ) -> Vec<u8>;
}

/// Before the arguments of an event.
pub const ARGS_KEY: &[u8] = b",\"args\":";

/// `,"args":{…}`, or nothing if there are none.
pub fn push_args<R: ReadAt + ?Sized>(out: &mut Vec<u8>, event: &Event<'_, R>) {
    if event.first_arg() >= event.args_end() {
        return;
    }
    out.extend_from_slice(ARGS_KEY);
    out.push(b'{');
    push_args_inside(out, event);
    out.push(b'}');
}

/// `,"args":{…,"unclosed":true}`
pub fn push_unclosed_args<R: ReadAt + ?Sized>(out: &mut Vec<u8>, event: &Event<'_, R>) {
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

/// `"key":`
pub fn push_key(out: &mut Vec<u8>, site: &Site, n: usize) {
    match site.spelled_keys.get(n) {
        Some(key) => out.extend_from_slice(key),
        None => {
            out.extend_from_slice(b"\"arg");
            push_decimal(out, n as u64);
            out.extend_from_slice(b"\":");
        }
    }
}

/// The same for a slice whose lane is yet to be found.
pub fn push_loose_args<R: ReadAt + ?Sized>(out: &mut Vec<u8>, event: &Event<'_, R>) {
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

/// The argument of a pushed event is the JSON text of all its arguments; if it was too long to keep, or is not
/// there, a text says so in its place.
fn push_json_args<R: ReadAt + ?Sized>(out: &mut Vec<u8>, event: &Event<'_, R>) {
    let first = event.first_arg();
    if first >= event.record.n_args() {
        return;
    }
    out.extend_from_slice(ARGS_KEY);
    match event.value(first) {
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
