//! Writer of Perfetto traces.

use super::async_ids::{self, AsyncIds};
use super::collect::{Collected, Wanted, collect};
use super::error::Error;
use super::flows::Flows;
use super::hash::hash;
use super::ordered_lanes::{LaneId, Owner};
use super::output_numbers::{OutputNumbers, usable};
use super::record::{EventKind, Record};
use super::summary::Summary;
use super::timeline::{TimelineSink, replay};
use super::waiting_flows::WaitingFlows;
use crate::check::slices::DEPTH_MAX;
use ferrum_trace_format::chrome::METADATA_CATEGORY;
use ferrum_trace_format::chrome::read::for_each_member;
use ferrum_trace_format::perfetto::write::{AsyncPhase, Encoder, FlowPhase, Process, Thread, Track, Word};
use ferrum_trace_model::{ProcessId, Strings, TrackId, Tracks, Value};
use hashbrown::HashMap;
use std::io::{Read, Write};

/// Bit of the numbers of flows that are bound to slices. trace_processor numbers the flows of points from 1 on, and
/// takes equal numbers for the same flow.
const BOUND_FLOW: u64 = 1 << 62;

/// Number of bytes that are written at once.
const HANDED_OVER_BYTES: usize = 1 << 18;

/// Converts everything that a Perfetto trace can represent.
pub(super) fn convert(input: impl Read, output: &mut dyn Write) -> Result<Summary, Error> {
    let collected = collect(input, Wanted::Everything)?;
    let Collected { items, strings, tracks, first, n_events, left, losses, recordings, .. } = collected;
    let shift_ns = first.map_or(0, |first| first.min(0).saturating_neg());
    let first_time = shifted(first.unwrap_or(0), shift_ns);
    let mut sink = PerfettoSink {
        encoder: Encoder::new(first_time),
        output,
        uuids: Uuids::new(&tracks),
        numbering: OutputNumbers::of(&tracks, &strings),
        tracks: &tracks,
        strings: &strings,
        shift_ns,
        first_time,
        lanes: Vec::new(),
        counters: HashMap::new(),
        async_ids: AsyncIds::default(),
        flows: Flows::default(),
        waiting: WaitingFlows::default(),
        global_track: None,
        summary: Summary { n_events, shift_ns, left, losses, recordings, ..Summary::default() },
    };
    sink.describe_tracks()?;
    replay(items, &mut sink)?;
    sink.summary.left.unbound_flow_points += sink.waiting.len();
    sink.encoder.drain(sink.output).map_err(Error::Write)?;
    Ok(sink.summary)
}

/// Returns a time that is not negative.
fn shifted(time: i64, shift_ns: i64) -> u64 {
    (i128::from(time) + i128::from(shift_ns)).clamp(0, i128::from(i64::MAX)) as u64
}

/// Ids of tracks: processes first, then threads, then all others in the order of their creation.
struct Uuids {
    n_processes: u64,
    next: u64,
}

impl Uuids {
    fn new(tracks: &Tracks) -> Self {
        let n_processes = tracks.processes().len() as u64;
        Self { n_processes, next: 1 + n_processes + tracks.len() as u64 }
    }

    fn process(&self, id: ProcessId) -> u64 {
        1 + u64::from(id.0)
    }

    fn thread(&self, id: TrackId) -> u64 {
        1 + self.n_processes + u64::from(id.0)
    }

    fn another(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

/// Lane of slices that nest.
struct Lane {
    /// Track of a thread; zero for async slices, which are on the tracks that they began on.
    uuid: u64,
    /// True if it is an extra lane of a thread.
    is_moved: bool,
    /// Open async slices, outermost first.
    open: Vec<Open>,
}

/// Open async slice: the data that its end needs.
struct Open {
    uuid: u64,
    name: KeptWord,
    category: Option<KeptWord>,
}

/// Name or category that is kept for later events.
enum KeptWord {
    Interned(u64),
    Spelled(Box<str>),
}

impl KeptWord {
    fn of(word: Word<'_>) -> Self {
        match word {
            Word::Interned(id) => Self::Interned(id),
            Word::Inline(text) => Self::Spelled(text.into()),
        }
    }

    fn word(&self) -> Word<'_> {
        match self {
            Self::Interned(id) => Word::Interned(*id),
            Self::Spelled(text) => Word::Inline(text),
        }
    }
}

struct PerfettoSink<'a> {
    encoder: Encoder,
    output: &'a mut dyn Write,
    uuids: Uuids,
    numbering: OutputNumbers,
    tracks: &'a Tracks,
    strings: &'a Strings,
    shift_ns: i64,
    first_time: u64,
    lanes: Vec<Lane>,
    /// Tracks of counters, by the hash of process, name and key.
    counters: HashMap<u64, u64>,
    /// Ids of async slices, by lane.
    async_ids: AsyncIds,
    flows: Flows,
    /// Ends of flows that bind to the slice that begins next.
    waiting: WaitingFlows,
    /// Track of instants that belong to no process.
    global_track: Option<u64>,
    summary: Summary,
}

impl PerfettoSink<'_> {
    fn describe_tracks(&mut self) -> Result<(), Error> {
        let (tracks, strings) = (self.tracks, self.strings);
        let mut orders_children = vec![false; tracks.processes().len()];
        for (_, track) in tracks.iter() {
            orders_children[track.process.index()] |= track.sort_index.is_some();
        }
        for (id, process) in tracks.processes() {
            let name = name_of(process.name, process.pid, strings, "process");
            let process = Process {
                pid: self.numbering.pid(id),
                name: &name,
                label: process.labels.map_or("", |label| strings.get(label)),
                sort_index: rank(process.sort_index),
                orders_children: orders_children[id.index()],
            };
            self.encoder.process(self.uuids.process(id), &process);
            self.hand_over()?;
        }
        for (id, track) in tracks.iter() {
            let name = name_of(track.name, track.tid, strings, "thread");
            let thread = Thread {
                process_track: self.uuids.process(track.process),
                pid: self.numbering.pid(track.process),
                tid: i64::from(self.numbering.tid(id)),
                name: &name,
                sort_index: rank(track.sort_index),
            };
            self.encoder.thread(self.uuids.thread(id), &thread);
            self.hand_over()?;
        }
        Ok(())
    }

    /// Describes an extra lane of a thread as a thread: ends of flows only find slices on threads.
    fn describe_lane(&mut self, uuid: u64, track: TrackId, nth: u32) {
        let it = self.tracks.get(track);
        let label = match name_of(it.name, it.tid, self.strings, "thread") {
            name if name.is_empty() => self.tracks.label(track, self.strings),
            name => name,
        };
        let thread = Thread {
            process_track: self.uuids.process(it.process),
            pid: self.numbering.pid(it.process),
            tid: i64::from(self.numbering.another_tid()),
            name: &format!("{label} ({})", nth + 1),
            sort_index: rank(it.sort_index),
        };
        self.encoder.thread(uuid, &thread);
    }

    fn time(&self, time: i64) -> u64 {
        shifted(time, self.shift_ns)
    }

    fn push_args(&mut self, record: &Record<'_>) {
        for args in [record.args, record.end_args] {
            if !args.is_empty() && args != b"null" {
                self.encoder.push_json_args(args);
            }
        }
    }

    /// Writes flows that are bound to the slice itself (`bind_id`).
    fn push_bound_flow(&mut self, record: &Record<'_>) {
        let binding = record.binding;
        if record.kind != EventKind::Slice || (!binding.is_in && !binding.is_out) {
            return;
        }
        let flow = match self.flows.get(record.group) {
            Some(flow) => flow,
            None if binding.is_out => self.flows.begin(record.group, 0, None),
            None => {
                self.summary.left.unbound_flow_points += 1;
                return;
            }
        };
        self.summary.n_flow_points += 1;
        let flow = flow | BOUND_FLOW;
        if binding.is_out {
            self.encoder.push_flow(flow);
        } else {
            self.encoder.push_terminating_flow(flow);
        }
    }

    fn instant(&mut self, uuid: u64, time: i64, record: &Record<'_>) {
        self.push_args(record);
        let (name, category) = (self.encoder.name(record.name), category(&mut self.encoder, record));
        self.encoder.instant(shifted(time, self.shift_ns), uuid, name, category);
        self.summary.n_instants += 1;
    }

    fn begin_slice(&mut self, lane: LaneId, time: i64, slice: &Record<'_>) {
        let Lane { uuid, is_moved, .. } = self.lanes[lane as usize];
        if !is_moved {
            self.end_waiting_flows(uuid, TrackId(slice.row));
        }
        self.push_args(slice);
        self.push_bound_flow(slice);
        let (name, category) = (self.encoder.name(slice.name), category(&mut self.encoder, slice));
        self.encoder.begin(shifted(time, self.shift_ns), uuid, name, category);
        self.summary.n_moved += u64::from(is_moved);
    }

    fn begin_async(&mut self, lane: LaneId, time: i64, slice: &Record<'_>) {
        let open = self.async_point(lane, time, slice, AsyncPhase::Begin);
        self.lanes[lane as usize].open.push(open);
    }

    fn async_instant(&mut self, lane: LaneId, time: i64, point: &Record<'_>) {
        self.async_point(lane, time, point, AsyncPhase::Instant);
        if self.lanes[lane as usize].open.is_empty() {
            self.async_ids.release(lane);
        }
        self.summary.n_instants += 1;
    }

    /// Writes an async event with its id, so that it is distinguished from the slices of its thread.
    fn async_point(&mut self, lane: LaneId, time: i64, record: &Record<'_>, phase: AsyncPhase) -> Open {
        let track = TrackId(record.row);
        let uuid = self.uuids.thread(track);
        self.push_args(record);
        let id = self.async_ids.take(lane, self.process_of(track), record.category, record.id);
        self.push_async_id(id, record);
        let (name, category) = (self.encoder.name(record.name), category(&mut self.encoder, record));
        self.encoder.async_point(shifted(time, self.shift_ns), uuid, name, category, phase, id);
        Open { uuid, name: KeptWord::of(name), category: category.map(KeptWord::of) }
    }

    fn end_async(&mut self, lane: LaneId, time: u64, id: u64) {
        let open = &mut self.lanes[lane as usize].open;
        if let Some(Open { uuid, name, category }) = open.pop() {
            let (name, category) = (name.word(), category.as_ref().map(KeptWord::word));
            self.encoder.async_point(time, uuid, name, category, AsyncPhase::End, id);
        }
        if open.is_empty() {
            self.async_ids.release(lane);
        }
    }

    /// Adds the id of the file as an argument if it is another one, unless there is an argument of that name.
    fn push_async_id(&mut self, id: u64, record: &Record<'_>) {
        let mut is_told = async_ids::number(record.id) == Some(id);
        for args in [record.args, record.end_args] {
            for_each_member(args, |key, _| is_told |= key.raw == b"id");
        }
        if !is_told {
            self.encoder.push_arg("id", &Value::Text(record.id.into()));
        }
    }

    /// Writes the recorder's metadata, as a recorded `.pftrace` has them.
    fn about(&mut self, record: &Record<'_>) {
        self.push_args(record);
        let (name, category) = (self.encoder.name(record.name), Some(self.encoder.category(METADATA_CATEGORY)));
        self.encoder.instant(self.first_time, self.uuids.process(ProcessId(record.row)), name, category);
    }

    fn global_track(&mut self) -> u64 {
        let Self { uuids, encoder, .. } = self;
        *self.global_track.get_or_insert_with(|| {
            let uuid = uuids.another();
            encoder.track(uuid, &Track { name: "global", ..Track::default() });
            uuid
        })
    }

    fn flow_point(&mut self, lane: Option<LaneId>, time: i64, record: &Record<'_>) {
        let phase = match record.kind {
            EventKind::FlowBegin => FlowPhase::Begin,
            EventKind::FlowStep => FlowPhase::Step,
            _ => FlowPhase::End,
        };
        let binds_to_next = record.kind == EventKind::FlowEndAtNext;
        let uuid = match lane {
            Some(lane) => Some(self.lanes[lane as usize].uuid),
            None => binds_to_next.then(|| self.uuids.thread(TrackId(record.row))),
        };
        let flow = match (uuid, phase) {
            (None, _) => None,
            (Some(_), FlowPhase::Begin) => {
                let scope = hash(&(record.category, record.name));
                Some(self.flows.begin(record.group, scope, record.id.parse().ok()))
            }
            (Some(_), FlowPhase::Step | FlowPhase::End) => self.flows.get(record.group),
        };
        let (Some(uuid), Some(flow)) = (uuid, flow) else {
            self.summary.left.unbound_flow_points += 1;
            return;
        };
        if binds_to_next {
            self.summary.left.unbound_flow_points += u64::from(!self.waiting.keep(time, flow, record));
            return;
        }
        self.write_flow_point(time, uuid, phase, flow, record);
    }

    fn write_flow_point(&mut self, time: i64, uuid: u64, phase: FlowPhase, flow: u64, record: &Record<'_>) {
        self.push_args(record);
        let (name, category) = (self.encoder.name(record.name), category(&mut self.encoder, record));
        let is_around = record.kind != EventKind::FlowEndAtNext;
        self.encoder.flow_point(shifted(time, self.shift_ns), uuid, name, category, phase, flow, is_around);
        self.summary.n_flow_points += 1;
    }

    /// Writes the ends of flows that bind to a slice that begins now.
    fn end_waiting_flows(&mut self, uuid: u64, track: TrackId) {
        for waiting in self.waiting.take(track) {
            if let Some(record) = waiting.record() {
                self.write_flow_point(waiting.time, uuid, FlowPhase::End, waiting.flow, &record);
            }
        }
    }

    /// Writes one value for each key.
    fn counter(&mut self, time: i64, record: &Record<'_>) {
        let time = self.time(time);
        for_each_member(record.args, |key, value| {
            let value = value.decode();
            let (key, number) = (key.decode(), number(&value));
            let Some(number) = number else {
                self.summary.left.odd_counter_values += 1;
                return;
            };
            let uuid = self.counter_track(record, &key);
            match number {
                Value::Signed(number) => self.encoder.int_counter(time, uuid, number),
                Value::Float(number) => self.encoder.counter(time, uuid, number),
                _ => {}
            }
            self.summary.n_counter_values += 1;
        });
    }

    fn counter_track(&mut self, record: &Record<'_>, key: &str) -> u64 {
        let Self { counters, uuids, encoder, .. } = self;
        *counters.entry(hash(&(record.row, record.name, record.id, key))).or_insert_with(|| {
            let uuid = uuids.another();
            let parent = uuids.process(ProcessId(record.row));
            let mut name = record.name.to_owned();
            if !record.id.is_empty() {
                name += &format!("[{}]", record.id);
            }
            if key != "value" && key != record.name {
                name = format!("{name} {key}");
            }
            encoder.track(uuid, &Track { parent, name: &name, rank: None, is_counter: true });
            uuid
        })
    }

    fn hand_over(&mut self) -> Result<(), Error> {
        if self.encoder.bytes().len() < HANDED_OVER_BYTES {
            return Ok(());
        }
        self.encoder.drain(self.output).map_err(Error::Write)
    }
}

impl TimelineSink for PerfettoSink<'_> {
    const DEPTH_MAX: usize = DEPTH_MAX;
    const BINDS_TO_ENCLOSING: bool = true;

    fn lane(&mut self, lane: LaneId, owner: Owner, nth: u32) -> Result<(), Error> {
        debug_assert_eq!(lane as usize, self.lanes.len());
        let uuid = match owner {
            Owner::Track(track) if nth == 0 => self.uuids.thread(track),
            Owner::Track(track) => {
                let uuid = self.uuids.another();
                self.describe_lane(uuid, track, nth);
                uuid
            }
            Owner::Async(..) => 0,
        };
        let is_moved = matches!(owner, Owner::Track(_)) && nth > 0;
        self.lanes.push(Lane { uuid, is_moved, open: Vec::new() });
        Ok(())
    }

    fn process_of(&self, track: TrackId) -> ProcessId {
        self.tracks.get(track).process
    }

    fn begin(&mut self, lane: LaneId, time: i64, slice: &Record<'_>) -> Result<(), Error> {
        if slice.kind == EventKind::AsyncSlice {
            self.begin_async(lane, time, slice);
        } else {
            self.begin_slice(lane, time, slice);
        }
        self.summary.n_slices += 1;
        self.hand_over()
    }

    fn end(&mut self, lane: LaneId, time: i64) -> Result<(), Error> {
        let time = self.time(time);
        match self.async_ids.get(lane) {
            None => self.encoder.end(time, self.lanes[lane as usize].uuid),
            Some(id) => self.end_async(lane, time, id),
        }
        Ok(())
    }

    fn point(&mut self, lane: Option<LaneId>, time: i64, point: &Record<'_>) -> Result<(), Error> {
        match point.kind {
            EventKind::Instant => self.instant(self.uuids.thread(TrackId(point.row)), time, point),
            EventKind::ProcessInstant => self.instant(self.uuids.process(ProcessId(point.row)), time, point),
            EventKind::GlobalInstant => {
                let uuid = self.global_track();
                self.instant(uuid, time, point);
            }
            EventKind::AsyncInstant => {
                if let Some(lane) = lane {
                    self.async_instant(lane, time, point);
                }
            }
            EventKind::Counter => self.counter(time, point),
            EventKind::FlowBegin | EventKind::FlowStep | EventKind::FlowEnd | EventKind::FlowEndAtNext => {
                self.flow_point(lane, time, point);
            }
            EventKind::Metadata => self.about(point),
            EventKind::Slice | EventKind::AsyncSlice | EventKind::End => {}
        }
        self.hand_over()
    }
}

fn category<'a>(encoder: &mut Encoder, record: &Record<'a>) -> Option<Word<'a>> {
    (!record.category.is_empty()).then(|| encoder.category(record.category))
}

/// Parses the value of a counter.
fn number(value: &str) -> Option<Value<'static>> {
    match value {
        "true" => Some(Value::Signed(1)),
        "false" => Some(Value::Signed(0)),
        _ => match value.parse::<i64>() {
            Ok(number) => Some(Value::Signed(number)),
            Err(_) => value.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::Float),
        },
    }
}

fn rank(sort_index: Option<i64>) -> Option<i32> {
    sort_index.map(|index| index.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
}

/// Returns the name in the file, or a name made from the id if there is none and the number differs from the id.
fn name_of(
    name: Option<ferrum_trace_model::StringId>,
    id: Option<ferrum_trace_model::StringId>,
    strings: &Strings,
    what: &str,
) -> String {
    match (name.map(|name| strings.get(name)), id.map(|id| strings.get(id))) {
        (Some(name), _) if !name.is_empty() => name.to_owned(),
        (_, Some(id)) if usable(id).is_some() => String::new(),
        (_, Some(id)) => format!("{what} {id}"),
        (_, None) => format!("no {what}"),
    }
}
