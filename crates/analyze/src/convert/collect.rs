//! Reads the events of a file into records for the sorter.

use super::error::Error;
use super::hash::hash;
use super::pairing;
use super::record::{Binding, EventKind, NEVER, Record};
use super::slice_survey::SliceSurvey;
use super::summary::Left;
use crate::check::events::flow_number;
use crate::kineto;
use crate::rewrite::fields::Fields;
use ferrum_trace_format::chrome::read::{
    Event, EventSink, Loss, Losses, RowFinder, Scalar, Text, for_each, for_each_event_in_field, with_valid_numbers,
};
use ferrum_trace_format::spill_sort::{BUDGET_BYTES, SpillSort};
use ferrum_trace_model::vocab::about;
use ferrum_trace_model::{ProcessId, Recordings, Strings, TrackId, Tracks};
use std::borrow::Cow;
use std::io::{self, Read};

/// Memory budget for begins and ends until they are paired.
const EDGES_BUDGET_BYTES: usize = 32 << 20;

/// Time by which begins of flows are sorted earlier in [`Wanted::Events`]: the clock of a device that a flow leads to
/// may be off by that much.
const CLOCK_ERROR_MAX_NS: i64 = 10_000_000;
/// Maximum number of bytes of fields around the events that are kept.
const FIELDS_BYTES_MAX: usize = 16 << 20;

/// Parts of a file that a writer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Slices of threads, one track after the other, without arguments.
    SlicesByTrack,
    /// Slices of threads, by time, with arguments; and begins and ends of flows, the ends before the slices that begin
    /// at their time.
    Slices,
    /// Everything, by time.
    Everything,
    /// Everything, by time, each event in the spelling of the file (the arguments of a record are its whole event),
    /// metadata first. Begins of flows come early; the end of their record is their time.
    Events,
}

/// Records of a file before they are sorted.
#[derive(Debug)]
pub(super) struct Collected {
    /// Records, with their sort keys.
    pub items: SpillSort,
    /// Texts of `tracks`.
    pub strings: Strings,
    /// Processes and threads.
    pub tracks: Tracks,
    /// The earliest time.
    pub first: Option<i64>,
    /// Number of events.
    pub n_events: u64,
    /// The other fields of the object around the events: keys and values as JSON. Filled for [`Wanted::Events`].
    pub fields: Fields,
    /// Metadata events that readers of torch's traces do not know, as JSON. Filled for [`Wanted::Events`].
    pub aside: Vec<Vec<u8>>,
    /// True if any slice has a category of torch's profiler.
    pub is_kineto: bool,
    /// Properties of the slices. Filled for [`Wanted::Slices`].
    pub survey: SliceSurvey,
    /// Events that were left out.
    pub left: Left,
    /// Losses of the reader.
    pub losses: Losses,
    /// Metadata that the recorder wrote about the recordings.
    pub recordings: Recordings,
}

/// Reads a file.
///
/// # Errors
///
/// Returns an error if the file cannot be read or is not a trace, or if a temporary file cannot be written.
pub(super) fn collect(input: impl Read, wanted: Wanted) -> Result<Collected, Error> {
    let mut collector = Collector {
        wanted,
        collected: Collected {
            items: SpillSort::new(BUDGET_BYTES),
            strings: Strings::default(),
            tracks: Tracks::default(),
            first: None,
            n_events: 0,
            fields: Fields::within(FIELDS_BYTES_MAX),
            aside: Vec::new(),
            is_kineto: false,
            survey: SliceSurvey::default(),
            left: Left::default(),
            losses: Losses::default(),
            recordings: Recordings::default(),
        },
        edges: SpillSort::new(EDGES_BUDGET_BYTES),
        rows: RowFinder::default(),
        aside_bytes_left: FIELDS_BYTES_MAX,
        scratch: Vec::new(),
        error: None,
    };
    let recordings = for_each(input, &mut collector)?.recordings;
    if let Some(error) = collector.error {
        return Err(Error::Spill(error));
    }
    let Collector { mut collected, edges, mut scratch, .. } = collector;
    collected.recordings = recordings;
    let all = &mut collected;
    let unpaired = pairing::pair(edges, |time, order, slice| push(all, &mut scratch, wanted, time, order, slice));
    let unpaired = unpaired.map_err(Error::Spill)?;
    collected.left.unclosed = unpaired.begins;
    collected.left.unopened = unpaired.ends;
    Ok(collected)
}

fn push(
    collected: &mut Collected,
    scratch: &mut Vec<u8>,
    wanted: Wanted,
    time: i64,
    order: u64,
    record: &Record<'_>,
) -> io::Result<()> {
    let major = match wanted {
        Wanted::SlicesByTrack => u64::from(record.row),
        Wanted::Slices | Wanted::Everything | Wanted::Events => 0,
    };
    scratch.clear();
    record.push_to(scratch);
    if wanted == Wanted::Slices && record.kind == EventKind::Slice {
        collected.survey.add(record);
    }
    let kind = match (wanted, record.kind) {
        // An end that may bind to the slice around it comes after the slices that begin at its time.
        (Wanted::Everything, EventKind::FlowEndAtNext) => EventKind::FlowEnd,
        (Wanted::Slices, EventKind::FlowEnd) => EventKind::FlowEndAtNext,
        (_, kind) => kind,
    };
    collected.items.push(Record { kind, ..*record }.key(major, time, order), scratch)
}

struct Collector {
    wanted: Wanted,
    collected: Collected,
    /// Begins and ends, by time.
    edges: SpillSort,
    rows: RowFinder,
    /// Remaining bytes for [`Collected::aside`].
    aside_bytes_left: usize,
    scratch: Vec<u8>,
    /// Error of the sorter. No more events are accepted after it.
    error: Option<io::Error>,
}

/// Destination of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Items,
    Edges,
}

impl EventSink for Collector {
    fn event(&mut self, event: &Event<'_>) {
        let order = self.collected.n_events;
        self.collected.n_events += 1;
        if self.error.is_some() {
            return;
        }
        if let Err(error) = with_valid_numbers(event, |event| self.sound_event(event, order)) {
            self.error = Some(error);
        }
    }

    fn loss(&mut self, loss: Loss) {
        self.collected.losses.push(loss);
    }

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        if !for_each_event_in_field(key, value, |event| self.event(event)) && self.wanted == Wanted::Events {
            self.collected.fields.push(key, value);
        }
    }
}

impl Collector {
    fn sound_event(&mut self, event: &Event<'_>, order: u64) -> io::Result<()> {
        if event.phase == b'M' {
            return self.metadata(event, order);
        }
        let Some(time) = event.start.nanos() else {
            self.leave_out(event);
            return Ok(());
        };
        self.take(event, time, order)
    }

    fn take(&mut self, event: &Event<'_>, time: i64, order: u64) -> io::Result<()> {
        match event.phase {
            b'X' => self.complete(event, time, order),
            b'B' => self.slice(event, time, NEVER, order, To::Edges),
            b'E' => {
                let row = self.track(event).0;
                let args = if self.wanted == Wanted::SlicesByTrack { None } else { event.args };
                self.add(
                    To::Edges,
                    time,
                    order,
                    &Record { args: args.unwrap_or_default(), ..empty(EventKind::End, row, time) },
                )
            }
            b's' | b'f' if self.wanted == Wanted::Slices => {
                self.leave_out(event);
                self.flow(event, time, order)
            }
            _ if matches!(self.wanted, Wanted::Slices | Wanted::SlicesByTrack) => {
                self.leave_out(event);
                Ok(())
            }
            b's' | b't' | b'f' => self.flow(event, time, order),
            _ if self.wanted == Wanted::Events => self.as_it_is(event, time, order),
            b'i' | b'I' | b'R' => self.instant(event, time, order),
            b'C' => self.counter(event, time, order),
            b'b' | b'n' | b'e' | b'S' | b'T' | b'p' | b'F' => self.asynchronous(event, time, order),
            _ => {
                self.leave_out(event);
                Ok(())
            }
        }
    }

    fn complete(&mut self, event: &Event<'_>, time: i64, order: u64) -> io::Result<()> {
        let duration = event.duration.nanos().filter(|&duration| duration >= 0);
        match duration.and_then(|duration| time.checked_add(duration)) {
            Some(end) => self.slice(event, time, end, order, To::Items),
            None if self.wanted == Wanted::Events => self.as_it_is(event, time, order),
            None => {
                self.leave_out(event);
                Ok(())
            }
        }
    }

    fn slice(&mut self, event: &Event<'_>, time: i64, end: i64, order: u64, to: To) -> io::Result<()> {
        let row = self.track(event).0;
        let (name, category) = (text(event.name), text(event.category));
        self.collected.is_kineto |= kineto::is_category(&category);
        let bind_id = event.bind_id.filter(|_| event.flow_in || event.flow_out);
        let record = Record {
            group: bind_id.map_or(0, |id| hash(&("bind_id", id.decode()))),
            binding: Binding { is_in: event.flow_in && bind_id.is_some(), is_out: event.flow_out && bind_id.is_some() },
            name: &name,
            category: &category,
            args: self.args(event),
            ..empty(EventKind::Slice, row, end)
        };
        self.add(to, time, order, &record)
    }

    fn instant(&mut self, event: &Event<'_>, time: i64, order: u64) -> io::Result<()> {
        let scope = text(event.instant_scope);
        let (kind, row) = match &*scope {
            "g" => (EventKind::GlobalInstant, 0),
            "p" => (EventKind::ProcessInstant, self.process(event).0),
            _ => (EventKind::Instant, self.track(event).0),
        };
        let (name, category) = (text(event.name), text(event.category));
        let args = self.args(event);
        let record = Record { name: &name, category: &category, args, ..empty(kind, row, time) };
        self.add(To::Items, time, order, &record)
    }

    fn counter(&mut self, event: &Event<'_>, time: i64, order: u64) -> io::Result<()> {
        let row = self.process(event).0;
        let (name, id) = (text(event.name), text(event.id));
        let record = Record { name: &name, id: &id, args: self.args(event), ..empty(EventKind::Counter, row, time) };
        self.add(To::Items, time, order, &record)
    }

    fn flow(&mut self, event: &Event<'_>, time: i64, order: u64) -> io::Result<()> {
        let row = self.track(event).0;
        let (name, category) = (text(event.name), text(event.category));
        let kind = match event.phase {
            b's' => EventKind::FlowBegin,
            b't' => EventKind::FlowStep,
            _ if event.binding_point.is_some_and(|point| point.plain() == Some(b"e")) => EventKind::FlowEnd,
            _ => EventKind::FlowEndAtNext,
        };
        let number = event.id.and_then(flow_number).map_or(String::new(), |number| number.to_string());
        let record = Record {
            group: hash(&(&*category, &*name, async_id(event))),
            name: &name,
            category: &category,
            id: &number,
            args: self.args(event),
            ..empty(kind, row, time)
        };
        let is_early = self.wanted == Wanted::Events && kind == EventKind::FlowBegin;
        let time = if is_early { time.saturating_sub(CLOCK_ERROR_MAX_NS) } else { time };
        self.add(To::Items, time, order, &record)
    }

    fn asynchronous(&mut self, event: &Event<'_>, time: i64, order: u64) -> io::Result<()> {
        let row = self.track(event).0;
        let (name, category) = (text(event.name), text(event.category));
        let id = event.async_id().map(|(id, _)| id).unwrap_or_default();
        let (kind, to) = match event.phase {
            b'b' | b'S' => (EventKind::AsyncSlice, To::Edges),
            b'e' | b'F' => (EventKind::End, To::Edges),
            _ => (EventKind::AsyncInstant, To::Items),
        };
        let record = Record {
            group: hash(&(&*category, async_id(event))),
            name: &name,
            category: &category,
            // Events without an id belong together.
            id: if id.is_empty() { "(none)" } else { &id },
            args: self.args(event),
            ..empty(kind, row, if to == To::Edges { NEVER } else { time })
        };
        self.add(to, time, order, &record)
    }

    fn add(&mut self, to: To, time: i64, order: u64, record: &Record<'_>) -> io::Result<()> {
        let first = &mut self.collected.first;
        *first = Some(first.map_or(time, |first| first.min(time)));
        match to {
            To::Items => push(&mut self.collected, &mut self.scratch, self.wanted, time, order, record),
            To::Edges => {
                self.scratch.clear();
                record.push_to(&mut self.scratch);
                // By time and position in the file only: events at the same time keep the order of the file.
                let [_, time, ..] = record.key(0, time, order);
                self.edges.push([0, time, 0, order], &self.scratch)
            }
        }
    }

    fn args<'a>(&self, event: &Event<'a>) -> &'a [u8] {
        match self.wanted {
            Wanted::SlicesByTrack => &[],
            Wanted::Slices | Wanted::Everything => event.args.unwrap_or_default(),
            Wanted::Events => event.json,
        }
    }

    fn leave_out(&mut self, event: &Event<'_>) {
        let phase = if event.phase.is_ascii() { event.phase } else { 0 };
        self.collected.left.phases[usize::from(phase)] += 1;
    }

    fn track(&mut self, event: &Event<'_>) -> TrackId {
        self.rows.track(event, &mut self.collected.strings, &mut self.collected.tracks)
    }

    fn process(&mut self, event: &Event<'_>) -> ProcessId {
        self.rows.process(event, &mut self.collected.strings, &mut self.collected.tracks)
    }

    /// Adds an event unchanged, regardless of its phase.
    fn as_it_is(&mut self, event: &Event<'_>, time: i64, order: u64) -> io::Result<()> {
        let row = self.track(event).0;
        let (name, category) = (text(event.name), text(event.category));
        let record =
            Record { name: &name, category: &category, args: event.json, ..empty(EventKind::Instant, row, time) };
        self.add(To::Items, time, order, &record)
    }

    fn metadata(&mut self, event: &Event<'_>, order: u64) -> io::Result<()> {
        let is_known = self.rows.describe(event, &mut self.collected.strings, &mut self.collected.tracks);
        if self.wanted == Wanted::Everything && text(event.name) == about::NAME {
            let row = self.process(event).0;
            let args = event.args.unwrap_or_default();
            let record = Record { name: about::NAME, args, ..empty(EventKind::Metadata, row, i64::MIN) };
            return push(&mut self.collected, &mut self.scratch, self.wanted, i64::MIN, order, &record);
        }
        if self.wanted != Wanted::Events {
            if !is_known {
                self.leave_out(event);
            }
            return Ok(());
        }
        let row = self.track(event).0;
        let name = text(event.name);
        if !kineto::is_metadata(&name, event.args.unwrap_or_default()) && self.put_aside(event) {
            return Ok(());
        }
        let record = Record { name: &name, args: event.json, ..empty(EventKind::Metadata, row, i64::MIN) };
        push(&mut self.collected, &mut self.scratch, self.wanted, i64::MIN, order, &record)
    }

    /// Stores a metadata event separately from the others. Returns false if there is no room.
    fn put_aside(&mut self, event: &Event<'_>) -> bool {
        let Some(bytes_left) = self.aside_bytes_left.checked_sub(event.json.len()) else {
            return false;
        };
        self.aside_bytes_left = bytes_left;
        self.collected.aside.push(event.json.to_vec());
        true
    }
}

fn text<'a>(scalar: Option<Scalar<'a>>) -> Cow<'a, str> {
    scalar.map(|scalar| scalar.decode()).unwrap_or_default()
}

/// Returns the id that joins the begin and end of an async operation. An id that is local to its process is prefixed
/// with the process.
fn async_id<'a>(event: &Event<'a>) -> Cow<'a, str> {
    let scope = text(event.id_scope);
    let id = match event.async_id() {
        None => Cow::default(),
        Some((id, false)) => id,
        Some((id, true)) => format!("{}/{id}", text(event.pid)).into(),
    };
    if scope.is_empty() { id } else { format!("{scope}/{id}").into() }
}

fn empty(kind: EventKind, row: u32, end: i64) -> Record<'static> {
    Record {
        kind,
        row,
        end,
        group: 0,
        binding: Binding::default(),
        name: "",
        category: "",
        id: "",
        args: &[],
        end_args: &[],
    }
}
