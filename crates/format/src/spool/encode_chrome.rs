//! Encodes Chrome trace events as a JSON array.

use super::dictionary::{Site, Thread, track_tail};
use super::encoding::{
    ABOUT, ARGS_KEY, About, CounterRow, Event, EventEncoder, FileEncoder, OverlapProcess, ProcessRow, Row, push_args,
    push_key, push_unclosed_args,
};
use super::open_asyncs::AddedEnd;
use super::piece::LooseSlice;
use super::record::{FLOW, RecordKind};
use crate::ReadAt;
use crate::chrome::{
    ARGS_STRIPPED, METADATA_CATEGORY, push_counter_value, push_decimal, push_micros, push_start_and_duration, push_text,
};
use ferrum_trace_model::vocab::about::RANK_LABEL;
use ferrum_trace_model::vocab::{ROW_OF, UNCLOSED};

/// The file. Every event but the first is preceded by a comma.
///
/// If `WHOLE` is true, times are whole microseconds and every event has `dur`, for readers that require this.
#[derive(Debug, Default)]
pub(crate) struct ChromeFile<const WHOLE: bool> {
    has_begun: bool,
}

impl<const WHOLE: bool> FileEncoder for ChromeFile<WHOLE> {
    type EventEncoder = ChromeEventEncoder<WHOLE>;
    const OPENING: &'static [u8] = b"[";
    const ORDERS_LOOSE: bool = false;

    fn event_encoder(memory: Vec<u8>) -> ChromeEventEncoder<WHOLE> {
        ChromeEventEncoder { out: memory }
    }

    fn joined<'b>(&mut self, events: &'b [u8]) -> &'b [u8] {
        match events {
            [_comma, rest @ ..] if !self.has_begun => {
                self.has_begun = true;
                rest
            }
            events => events,
        }
    }

    fn process(&mut self, out: &mut Vec<u8>, process: ProcessRow<'_>) {
        let ProcessRow { pid, name, rank, is_new } = process;
        if let Some(rank) = rank.filter(|_| is_new) {
            push_rank::<WHOLE>(out, pid, rank);
        }
        push_metadata::<WHOLE>(out, "process_name", pid, pid);
        push_name_args(out, name);
    }

    fn row(&mut self, out: &mut Vec<u8>, row: Row, name: &str, sort: Option<i64>) {
        push_metadata::<WHOLE>(out, "thread_name", row.pid, row.tid);
        push_name_args(out, name);
        if let Some(sort) = sort {
            push_metadata::<WHOLE>(out, "thread_sort_index", row.pid, row.tid);
            out.extend_from_slice(format!(",\"args\":{{\"sort_index\":{sort}}}}}").as_bytes());
        }
    }

    fn overlap_row(&mut self, out: &mut Vec<u8>, row: Row, process: OverlapProcess<'_>, name: &str) {
        if process.is_new {
            push_metadata::<WHOLE>(out, "process_name", row.pid, row.tid);
            push_name_args(out, process.name);
        }
        self.row(out, row, name, None);
    }

    fn nameless_row(&mut self, _out: &mut Vec<u8>, _row: Row) {}

    fn counters(&mut self, _out: &mut Vec<u8>, _counters: Vec<CounterRow>) {}

    fn loose(&mut self, out: &mut Vec<u8>, row: Row, slice: &LooseSlice, texts: &[u8]) {
        let (start, end) = slice.interval;
        let tail = track_tail(row.pid, row.tid);
        out.extend_from_slice(&texts[slice.head.clone()]);
        push_times::<WHOLE>(out, start, end);
        out.extend_from_slice(&tail);
        out.extend_from_slice(&texts[slice.args.clone()]);
        out.push(b'}');
        if let Some(flow) = slice.flow {
            push_arrival::<WHOLE>(out, flow, start, &tail);
        }
    }

    fn tail<R: ReadAt + ?Sized>(&self, ends: &[AddedEnd<'_>], open: &[Event<'_, R>], about: Option<&About>) -> Vec<u8> {
        let mut tail = Vec::new();
        for end in ends {
            push_end::<WHOLE>(&mut tail, end);
        }
        for slice in open {
            push_slice_head::<WHOLE, R>(&mut tail, slice);
            push_unclosed_args(&mut tail, slice);
            tail.push(b'}');
        }
        if let Some(about) = about {
            push_about::<WHOLE>(&mut tail, about);
        }
        if !self.has_begun && !tail.is_empty() {
            tail.remove(0);
        }
        tail.extend_from_slice(b"\n]\n");
        tail
    }
}

/// Writes a slice up to its arguments.
#[inline]
fn push_slice_head<const WHOLE: bool, R: ?Sized>(out: &mut Vec<u8>, event: &Event<'_, R>) {
    event.site.slice_head.push_to(out);
    push_times::<WHOLE>(out, event.start, event.end);
    out.extend_from_slice(&event.thread.track.tail);
}

/// Writes the times of a slice. Begin and end are each rounded to whole microseconds, so that slices nest or are apart
/// as before.
#[inline(always)]
fn push_times<const WHOLE: bool>(out: &mut Vec<u8>, start: u64, end: u64) {
    if WHOLE {
        let (start, end) = (whole_micros(start), whole_micros(end));
        push_decimal(out, start);
        out.extend_from_slice(b",\"dur\":");
        push_decimal(out, end - start);
    } else {
        push_start_and_duration(out, start, end - start);
    }
}

/// Writes the time of a point.
fn push_time<const WHOLE: bool>(out: &mut Vec<u8>, nanos: u64) {
    if WHOLE {
        push_decimal(out, whole_micros(nanos));
        out.extend_from_slice(b",\"dur\":0");
    } else {
        push_micros(out, nanos);
    }
}

fn whole_micros(nanos: u64) -> u64 {
    nanos / 1000 + u64::from(nanos % 1000 >= 500)
}

fn push_end<const WHOLE: bool>(out: &mut Vec<u8>, end: &AddedEnd<'_>) {
    out.extend_from_slice(end.site.head());
    out.extend_from_slice(b"e\",\"ts\":");
    push_time::<WHOLE>(out, end.time);
    out.extend_from_slice(&end.thread.track.tail);
    push_local_id(out, end.id);
    out.extend_from_slice(format!(",\"args\":{{\"{UNCLOSED}\":true}}}}").as_bytes());
    if let Some(title) = end.title {
        push_row_title_point(out, end.site, title, b'e', end.time);
        out.extend_from_slice(&end.thread.track.tail);
        push_local_id(out, end.id);
        push_row_of(out, end.site);
        out.extend_from_slice(format!(",\"{UNCLOSED}\":true}}}}").as_bytes());
    }
}

/// Writes the event that gives a row its title, up to its thread.
fn push_row_title_point(out: &mut Vec<u8>, site: &Site, title: &str, phase: u8, time: u64) {
    out.extend_from_slice(b",\n{\"name\":");
    push_text(out, title);
    out.extend_from_slice(b",\"cat\":");
    push_text(out, &site.category);
    out.extend_from_slice(b",\"ph\":\"");
    out.push(phase);
    out.extend_from_slice(b"\",\"ts\":");
    push_micros(out, time);
}

/// Writes `,"args":{"row_of":"…"`
fn push_row_of(out: &mut Vec<u8>, site: &Site) {
    out.extend_from_slice(format!(",\"args\":{{\"{ROW_OF}\":").as_bytes());
    push_text(out, &site.name);
}

/// Writes an id that is local to the process: the same id in two processes stands for two async events.
fn push_local_id(out: &mut Vec<u8>, id: u64) {
    out.extend_from_slice(format!(",\"id2\":{{\"local\":\"{id:#x}\"}}").as_bytes());
}

fn push_about<const WHOLE: bool>(out: &mut Vec<u8>, about: &About) {
    if let Some(lost) = &about.lost {
        out.extend_from_slice(b",\n{\"name\":");
        push_text(out, lost);
        out.extend_from_slice(format!(",\"cat\":\"{ABOUT}\",\"ph\":\"i\",\"s\":\"p\",\"ts\":").as_bytes());
        push_time::<WHOLE>(out, 0);
        out.extend_from_slice(&track_tail(about.pid, about.pid));
        out.push(b'}');
    }
    push_metadata::<WHOLE>(out, ABOUT, about.pid, about.pid);
    out.extend_from_slice(format!(",\"{ARGS_STRIPPED}\":true").as_bytes());
    out.extend_from_slice(ARGS_KEY);
    out.extend_from_slice(&about.facts);
    out.push(b'}');
}

/// Writes the end of a flow, on the lane of the slice where it ends.
fn push_arrival<const WHOLE: bool>(out: &mut Vec<u8>, flow: u64, at: u64, tail: &[u8]) {
    out.extend_from_slice(format!(",\n{{\"name\":\"{FLOW}\",\"cat\":\"{FLOW}\",\"ph\":\"f\",\"ts\":").as_bytes());
    push_time::<WHOLE>(out, at);
    out.extend_from_slice(tail);
    out.extend_from_slice(format!(",\"bp\":\"e\",\"id\":\"{flow:#x}\"}}").as_bytes());
}

/// Writes a metadata event up to its arguments.
fn push_metadata<const WHOLE: bool>(out: &mut Vec<u8>, name: &str, pid: u32, tid: u32) {
    out.extend_from_slice(b",\n{\"name\":");
    push_text(out, name);
    out.extend_from_slice(b",\"cat\":\"");
    out.extend_from_slice(METADATA_CATEGORY.as_bytes());
    out.extend_from_slice(b"\",\"ph\":\"M\",\"ts\":");
    push_time::<WHOLE>(out, 0);
    out.extend_from_slice(b",\"pid\":");
    push_decimal(out, u64::from(pid));
    out.extend_from_slice(b",\"tid\":");
    push_decimal(out, u64::from(tid));
}

/// Writes the rank as the sort index of the process.
fn push_rank<const WHOLE: bool>(out: &mut Vec<u8>, pid: u32, rank: u32) {
    push_metadata::<WHOLE>(out, "process_labels", pid, pid);
    out.extend_from_slice(format!(",\"args\":{{\"labels\":\"{RANK_LABEL}{rank}\"}}}}").as_bytes());
    push_metadata::<WHOLE>(out, "process_sort_index", pid, pid);
    out.extend_from_slice(format!(",\"args\":{{\"sort_index\":{rank}}}}}").as_bytes());
}

fn push_name_args(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"args\":{\"name\":");
    push_text(out, name);
    out.extend_from_slice(b"}}");
}

/// Encodes events, each with a comma before it.
#[derive(Debug)]
pub(crate) struct ChromeEventEncoder<const WHOLE: bool> {
    out: Vec<u8>,
}

impl<const WHOLE: bool> EventEncoder for ChromeEventEncoder<WHOLE> {
    #[inline(always)]
    fn plain_slice(&mut self, site: &Site, thread: &Thread, start: u64, end: u64) {
        let out = &mut self.out;
        site.slice_head.push_to(out);
        push_times::<WHOLE>(out, start, end);
        thread.track.end.push_to(out);
    }

    #[inline]
    fn slice<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>) {
        let out = &mut self.out;
        push_slice_head::<WHOLE, R>(out, event);
        if event.record.n_args() > 0 {
            push_args(out, event);
        }
        out.push(b'}');
    }

    fn point<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>, kind: RecordKind) {
        let out = &mut self.out;
        let (letter, extra): (u8, &[u8]) = match kind {
            RecordKind::AsyncBegin => (b'b', b""),
            RecordKind::AsyncInstant => (b'n', b""),
            RecordKind::AsyncEnd => (b'e', b""),
            RecordKind::FlowStart => (b's', b""),
            RecordKind::FlowStep => (b't', b""),
            // Without `bp`, viewers bind the flow to the next slice instead of the one around it.
            RecordKind::FlowEnd => (b'f', b",\"bp\":\"e\""),
            _ => (b'i', b",\"s\":\"t\""),
        };
        out.extend_from_slice(event.site.head());
        out.push(letter);
        out.extend_from_slice(b"\",\"ts\":");
        push_time::<WHOLE>(out, event.end);
        out.extend_from_slice(&event.thread.track.tail);
        out.extend_from_slice(extra);
        match kind {
            RecordKind::AsyncBegin | RecordKind::AsyncInstant | RecordKind::AsyncEnd => {
                push_local_id(out, event.record.leading(0))
            }
            RecordKind::FlowStart | RecordKind::FlowStep | RecordKind::FlowEnd => {
                let id = event.record.leading(0);
                out.extend_from_slice(format!(",\"id\":\"{id:#x}\"").as_bytes());
            }
            _ => {}
        }
        if event.record.n_args() > 0 {
            push_args(out, event);
        }
        out.push(b'}');
    }

    fn row_title_point<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>, kind: RecordKind, title: &str) {
        let out = &mut self.out;
        let phase = if kind == RecordKind::AsyncBegin { b'b' } else { b'e' };
        push_row_title_point(out, event.site, title, phase, event.end);
        out.extend_from_slice(&event.thread.track.tail);
        push_local_id(out, event.record.leading(0));
        push_row_of(out, event.site);
        out.extend_from_slice(b"}}");
    }

    /// Writes the finite values of a counter; viewers refuse a file with others.
    fn counter<R: ReadAt + ?Sized>(&mut self, event: &Event<'_, R>) {
        let out = &mut self.out;
        let before = out.len();
        out.extend_from_slice(event.site.head());
        out.extend_from_slice(b"C\",\"ts\":");
        push_time::<WHOLE>(out, event.end);
        out.extend_from_slice(&event.thread.track.tail);
        out.extend_from_slice(b",\"args\":{");
        let (mut n_numbers, mut n_others) = (0, 0);
        for n in event.first_arg()..event.record.n_args() {
            let undo = out.len();
            if n_numbers > 0 {
                out.push(b',');
            }
            push_key(out, event.site, n);
            if push_counter_value(out, &event.value(n)) {
                n_numbers += 1;
            } else {
                out.truncate(undo);
                n_others += 1;
            }
        }
        out.extend_from_slice(b"}}");
        if n_numbers == 0 {
            out.truncate(before);
        }
        if n_numbers == 0 || n_others > 0 {
            self.point(event, RecordKind::Counter);
        }
    }

    fn loose_head(&self, site: &Site, out: &mut Vec<u8>) {
        site.slice_head.push_to(out);
    }

    #[inline(always)]
    fn n_bytes(&self) -> usize {
        self.out.len()
    }

    fn take(&mut self) -> (Vec<u8>, Vec<CounterRow>) {
        (std::mem::take(&mut self.out), Vec::new())
    }
}
