//! Perfetto traces.

use super::flows::Flows;
use super::intake::{Collected, Wanted, collect};
use super::lanes::{LaneId, Owner};
use super::numbering::{Numbering, usable};
use super::record::{Kind, Record};
use super::timeline::{Stage, play};
use super::{Error, Summary, hash};
use ferrum_trace_format::chrome::read::for_each_member;
use ferrum_trace_format::perfetto::write::{Encoder, FlowPhase, Process, Thread, Track};
use ferrum_trace_model::{ProcessId, Strings, TrackId, Tracks, Value};
use hashbrown::HashMap;
use std::io::{Read, Write};

/// Set in the numbers of arrows that are bound to slices: trace_processor counts those of points in time from 1 on by itself, and
/// takes the same number for the same arrow.
const BOUND_FLOW: u64 = 1 << 63;

/// How many bytes are handed over at once.
const HANDED_OVER_BYTES: usize = 1 << 18;

/// Converts everything that has a place in a Perfetto trace.
pub fn convert(input: impl Read, output: &mut dyn Write) -> Result<Summary, Error> {
    let collected = collect(input, Wanted::Everything)?;
    let Collected { items, strings, tracks, first, n_events, left, losses, .. } = collected;
    let shift_ns = first.map_or(0, |first| first.min(0).saturating_neg());
    let first_time = shifted(first.unwrap_or(0), shift_ns);
    let mut scene = Scene {
        encoder: Encoder::new(first_time),
        output,
        uuids: Uuids::new(&tracks),
        numbering: Numbering::of(&tracks, &strings),
        tracks: &tracks,
        strings: &strings,
        shift_ns,
        lanes: Vec::new(),
        counters: HashMap::new(),
        flows: Flows::default(),
        global_track: None,
        summary: Summary { n_events, shift_ns, left, losses, ..Summary::default() },
    };
    scene.describe_tracks();
    play(items, &mut scene)?;
    scene.encoder.drain(scene.output).map_err(Error::Write)?;
    Ok(scene.summary)
}

/// A time that is not negative.
fn shifted(time: i64, shift_ns: i64) -> u64 {
    (i128::from(time) + i128::from(shift_ns)).clamp(0, i128::from(i64::MAX)) as u64
}

/// Numbers of tracks: processes first, then threads, then all others as they come.
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

struct Scene<'a> {
    encoder: Encoder,
    output: &'a mut dyn Write,
    uuids: Uuids,
    numbering: Numbering,
    tracks: &'a Tracks,
    strings: &'a Strings,
    shift_ns: i64,
    /// The track of each lane, and whether it is a further one of a thread.
    lanes: Vec<(u64, bool)>,
    /// Tracks of counters, by the hash of process, name and key.
    counters: HashMap<u64, u64>,
    flows: Flows,
    /// Where points are that belong to no process.
    global_track: Option<u64>,
    summary: Summary,
}

impl Scene<'_> {
    fn describe_tracks(&mut self) {
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
        }
    }

    /// A further lane of a thread is a thread too: the ends of arrows find slices on threads only.
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

    /// Arrows that are bound to the slice itself.
    fn push_bound_flow(&mut self, record: &Record<'_>) {
        let binding = record.binding;
        if record.kind != Kind::Slice || (!binding.is_in && !binding.is_out) {
            return;
        }
        let flow = match self.flows.get(record.group) {
            Some(flow) => flow,
            None if binding.is_out => self.flows.begin(record.group),
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
            Kind::FlowBegin => FlowPhase::Begin,
            Kind::FlowStep => FlowPhase::Step,
            _ => FlowPhase::End,
        };
        let binds_to_next = record.kind == Kind::FlowEndAtNext;
        let uuid = match lane {
            Some(lane) => Some(self.lanes[lane as usize].0),
            None => binds_to_next.then(|| self.uuids.thread(TrackId(record.row))),
        };
        let flow = match (uuid, phase) {
            (None, _) => None,
            (Some(_), FlowPhase::Begin) => Some(self.flows.begin(record.group)),
            (Some(_), FlowPhase::Step | FlowPhase::End) => self.flows.get(record.group),
        };
        let (Some(uuid), Some(flow)) = (uuid, flow) else {
            self.summary.left.unbound_flow_points += 1;
            return;
        };
        self.push_args(record);
        let (name, category) = (self.encoder.name(record.name), category(&mut self.encoder, record));
        self.encoder.flow_point(shifted(time, self.shift_ns), uuid, name, category, phase, flow, !binds_to_next);
        self.summary.n_flow_points += 1;
    }

    /// One value for each key.
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

impl Stage for Scene<'_> {
    fn lane(&mut self, lane: LaneId, owner: Owner, nth: u32, name: &str) -> Result<(), Error> {
        debug_assert_eq!(lane as usize, self.lanes.len());
        let uuid = match owner {
            Owner::Track(track) if nth == 0 => self.uuids.thread(track),
            Owner::Track(track) => {
                let uuid = self.uuids.another();
                self.describe_lane(uuid, track, nth);
                uuid
            }
            Owner::Async(process, _) => {
                let uuid = self.uuids.another();
                self.encoder.track(uuid, &Track { parent: self.uuids.process(process), name, ..Track::default() });
                uuid
            }
        };
        self.lanes.push((uuid, matches!(owner, Owner::Track(_)) && nth > 0));
        Ok(())
    }

    fn begin(&mut self, lane: LaneId, time: i64, slice: &Record<'_>) -> Result<(), Error> {
        let (uuid, is_moved) = self.lanes[lane as usize];
        self.push_args(slice);
        if slice.kind == Kind::AsyncSlice {
            self.encoder.push_arg("id", &Value::Text(slice.id.into()));
        }
        self.push_bound_flow(slice);
        let (name, category) = (self.encoder.name(slice.name), category(&mut self.encoder, slice));
        self.encoder.begin(shifted(time, self.shift_ns), uuid, name, category);
        self.summary.n_slices += 1;
        self.summary.n_moved += u64::from(is_moved);
        self.hand_over()
    }

    fn end(&mut self, lane: LaneId, time: i64) -> Result<(), Error> {
        self.encoder.end(self.time(time), self.lanes[lane as usize].0);
        Ok(())
    }

    fn point(&mut self, lane: Option<LaneId>, time: i64, point: &Record<'_>) -> Result<(), Error> {
        match point.kind {
            Kind::Instant => self.instant(self.uuids.thread(TrackId(point.row)), time, point),
            Kind::ProcessInstant => self.instant(self.uuids.process(ProcessId(point.row)), time, point),
            Kind::GlobalInstant => {
                let uuid = self.global_track();
                self.instant(uuid, time, point);
            }
            Kind::AsyncInstant => {
                if let Some(lane) = lane {
                    self.instant(self.lanes[lane as usize].0, time, point);
                }
            }
            Kind::Counter => self.counter(time, point),
            Kind::FlowBegin | Kind::FlowStep | Kind::FlowEnd | Kind::FlowEndAtNext => {
                self.flow_point(lane, time, point);
            }
            Kind::Slice | Kind::AsyncSlice | Kind::Metadata | Kind::End => {}
        }
        self.hand_over()
    }
}

fn category<'a>(encoder: &mut Encoder, record: &Record<'a>) -> Option<ferrum_trace_format::perfetto::write::Word<'a>> {
    (!record.category.is_empty()).then(|| encoder.category(record.category))
}

/// The number that a counter's value is.
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

/// The name in the file. What has none is called by its id where its number is not that.
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
