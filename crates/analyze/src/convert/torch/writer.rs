//! Writes the events of a trace, in time order.

use super::super::error::Error;
use super::super::flows::Remembered;
use super::super::ordered_lanes::{LaneId, Owner};
use super::super::record::{EventKind, NEVER, Record};
use super::super::summary::Summary;
use super::super::timeline::TimelineSink;
use super::pending_slices::{Launch, PendingSlice, PendingTrack};
use super::rows::{Row, Rows, Stream};
use super::spelling::Spelling;
use super::step_mark::StepFacts;
use super::times::Times;
use crate::check::texts::mend_texts;
use crate::figures::gpu;
use crate::kineto;
use crate::rewrite::document::Document;
use crate::rewrite::edit::{Edits, join_objects};
use crate::rewrite::json::text;
use ferrum_trace_format::chrome::read::{Scalar, for_each_member};
use ferrum_trace_model::vocab::{Op, device_track, layer, step};
use ferrum_trace_model::{ProcessId, TrackId};
use hashbrown::HashMap;

/// Minimum number of open flows that are kept.
const FLOWS_KEPT: usize = 1 << 19;
/// First number that joins a call to its kernel. Numbers of drivers are below.
const FIRST_CORRELATION: u64 = 1 << 31;
/// Sort index that torch gives to the processes of devices, so that they come last.
const DEVICE_SORT_INDEX: u32 = 5_000_000;

/// Begin of a flow.
#[derive(Clone, Copy, Debug)]
struct Begin {
    launch: Launch,
    /// True if the flow has another point.
    is_used: bool,
    /// True if it is written already. The begin of a flow that ends on a device becomes a call instead.
    is_written: bool,
}

/// The two latest begins of the flows of a group. Begins come early, so a point may belong to the previous one.
#[derive(Clone, Copy, Debug)]
struct Begun {
    latest: Begin,
    before: Option<Begin>,
}

impl Begun {
    /// Returns the begin of the flow that has a point at this time.
    fn of_point(&mut self, time: i64) -> &mut Begin {
        match &mut self.before {
            Some(before) if self.latest.launch.time > time => before,
            _ => &mut self.latest,
        }
    }
}

/// Output track of a lane of a stream.
struct StreamRow {
    row: Row,
    stream: Stream,
    pending: PendingTrack,
    is_moved: bool,
}

/// Writer of the events.
pub(super) struct TorchWriter<'w> {
    document: Document<'w>,
    rows: Rows,
    times: Times,
    is_kineto: bool,
    /// By lane; `None` for lanes of hosts, which are written where they are.
    lanes: Vec<Option<StreamRow>>,
    begun: Remembered<Begun>,
    /// Launches of flows that end at the slice that begins next on a track.
    next_launch: HashMap<TrackId, Launch>,
    next_correlation: u64,
    /// Tracks for calls that were not recorded, by process.
    unrecorded: HashMap<ProcessId, Row>,
    n_steps: u64,
    /// Track of the latest step.
    step_row: Option<Row>,
    last: i64,
    summary: Summary,
}

impl<'w> TorchWriter<'w> {
    /// Creates a writer.
    pub(super) fn new(document: Document<'w>, rows: Rows, times: Times, is_kineto: bool, summary: Summary) -> Self {
        Self {
            document,
            rows,
            times,
            is_kineto,
            lanes: Vec::new(),
            begun: Remembered::new(FLOWS_KEPT),
            next_launch: HashMap::new(),
            next_correlation: FIRST_CORRELATION,
            unrecorded: HashMap::new(),
            n_steps: 0,
            step_row: None,
            last: i64::MIN,
            summary,
        }
    }

    /// Names the processes that represent devices.
    pub(super) fn describe_devices(&mut self) {
        for (n, device) in (0..).zip(self.rows.devices.clone()) {
            let name = text(&format!("{}{}", device_track::PREFIX, device.number));
            let pid = device.pid.to_string();
            self.metadata("process_name", pid.as_bytes(), b"0", "name", &name);
            self.metadata("process_labels", pid.as_bytes(), b"0", "labels", &name);
            let index = (DEVICE_SORT_INDEX + n).to_string();
            self.metadata("process_sort_index", pid.as_bytes(), b"0", "sort_index", index.as_bytes());
        }
    }

    /// Closes the file.
    pub(super) fn finish(mut self) -> Result<Summary, Error> {
        if let Some(row) = self.step_row.take() {
            // HTA drops the last step, and kernels that were launched from then on.
            let end = self.last.saturating_add(1000);
            let mut edits = self.new_event("X", &row, end);
            edits.set("name", text(&format!("{}{}", kineto::STEP_PREFIX, self.n_steps)));
            edits.set("cat", text(kineto::ANNOTATION));
            edits.set("dur", "0");
            edits.add_arg("end", "true");
            self.write_new(edits);
        }
        self.summary.left.fields += self.document.n_fields_lost;
        self.document.finish().map_err(Error::Write)?;
        Ok(self.summary)
    }

    fn metadata(&mut self, kind: &str, pid: &[u8], tid: &[u8], key: &'static str, value: &[u8]) {
        let row = Row { pid: pid.to_vec(), tid: tid.to_vec(), stream: None };
        let mut edits = self.new_event("M", &row, 0);
        edits.set("name", text(kind));
        edits.add_arg(key, value);
        self.write_new(edits);
    }

    fn new_event(&self, phase: &str, row: &Row, time: i64) -> Edits {
        let mut edits = Edits::default();
        edits.set("ph", text(phase));
        edits.set("pid", &row.pid[..]);
        edits.set("tid", &row.tid[..]);
        edits.set("ts", self.times.spell(time));
        edits
    }

    fn write_new(&mut self, edits: Edits) {
        self.document.event(&edits.apply(b"{}", None));
    }

    /// Writes an event of the trace with some changes.
    fn write(&mut self, json: &[u8], edits: Edits) {
        let changed = (!edits.is_empty()).then(|| edits.apply(json, args_of(json)));
        let json = changed.as_deref().unwrap_or(json);
        match mend_texts(json) {
            Some(mended) => self.document.event(&mended),
            None => self.document.event(json),
        }
    }

    /// Returns the changes of an event that its track and time require.
    fn place(&self, record: &Record<'_>, time: i64) -> Edits {
        let mut edits = Edits::default();
        let row = self.rows.of_track(TrackId(record.row));
        if row.stream.is_some() {
            edits.set("pid", &row.pid[..]);
            edits.set("tid", &row.tid[..]);
        }
        if self.times == Times::WholeMicros {
            edits.set("ts", self.times.spell(time));
        }
        edits
    }

    /// Returns true if a slice of a host is one of ours, or of another tool that does not use torch's names.
    fn is_renamed(&self, category: &str) -> bool {
        let is_word = || Op::from_text(category).is_some() || [step::CATEGORY, layer::CATEGORY].contains(&category);
        !kineto::is_category(category) && (!self.is_kineto || is_word())
    }

    fn host_slice(&mut self, time: i64, record: &Record<'_>) {
        let mut edits = self.place(record, time);
        if record.end == NEVER {
            return self.write(record.args, edits);
        }
        if self.times == Times::WholeMicros || is_begin(record.args) {
            edits.set("ph", "\"X\"");
            edits.set("dur", self.times.spell_duration(time, record.end));
        }
        if self.is_renamed(record.category) {
            self.rename(record, &mut edits);
        }
        add_end_args(record.args, record.end_args, &mut edits);
        self.write(record.args, edits);
        if record.category == step::CATEGORY && self.is_renamed(record.category) {
            self.step_mark(time, record);
        }
    }

    /// Writes a slice at the time of a step with vLLM's name for steps. It has the step's arguments, so that readers
    /// find all properties of the step.
    fn step_mark(&mut self, time: i64, record: &Record<'_>) {
        let args = args_of(record.args).unwrap_or(b"{}");
        let facts = StepFacts::of(record.name, [args, record.end_args]);
        let mut edits = self.new_event("X", self.rows.of_track(TrackId(record.row)), time);
        edits.set("cat", text(kineto::ANNOTATION));
        edits.set("name", text(&facts.vllm_name()));
        edits.set("dur", self.times.spell_duration(time, record.end));
        edits.set("args", join_objects(args, record.end_args));
        if let (false, Some(phase)) = (facts.has_phase_argument, facts.phase) {
            edits.add_arg(step::PHASE, text(phase.as_str()));
        }
        edits.add_arg(kineto::ORIGINAL_CATEGORY, text(step::CATEGORY));
        self.write(b"{}", edits);
    }

    fn rename(&mut self, record: &Record<'_>, edits: &mut Edits) {
        let category = match record.category {
            step::CATEGORY | layer::CATEGORY => kineto::ANNOTATION,
            _ => kineto::CPU_OP,
        };
        edits.set("cat", text(category));
        if !record.category.is_empty() {
            edits.add_arg(kineto::ORIGINAL_CATEGORY, text(record.category));
        }
        if record.category == step::CATEGORY {
            edits.set("name", text(&format!("{}{}", kineto::STEP_PREFIX, self.n_steps)));
            edits.add_arg("name", text(record.name));
            self.n_steps += 1;
            self.step_row = Some(self.rows.of_track(TrackId(record.row)).clone());
        }
    }

    fn device_slices(&mut self, lane: LaneId, slices: Vec<PendingSlice>) {
        let Some(Some(StreamRow { row, stream, is_moved, .. })) = self.lanes.get(lane as usize) else {
            return;
        };
        let (row, stream) = (row.clone(), *stream);
        self.summary.n_moved += if *is_moved { slices.len() as u64 } else { 0 };
        for slice in slices {
            self.device_slice(&row, stream, &slice);
        }
    }

    fn device_slice(&mut self, row: &Row, stream: Stream, slice: &PendingSlice) {
        let mut edits = Edits::default();
        edits.set("ph", "\"X\"");
        edits.set("pid", &row.pid[..]);
        edits.set("tid", &row.tid[..]);
        edits.set("ts", self.times.spell(slice.start));
        edits.set("dur", self.times.spell_duration(slice.start, slice.end));
        if !slice.category.is_empty() {
            edits.add_arg(kineto::ORIGINAL_CATEGORY, text(&slice.category));
        }
        if slice.is_group {
            // With a stream among its arguments, HTA would treat it as a kernel.
            edits.set("cat", text(kineto::GPU_ANNOTATION));
        } else {
            let spelling = Spelling::of(gpu::DeviceWork::of(&slice.name, &slice.category), &slice.name);
            edits.set("cat", text(spelling.category));
            if spelling.name != slice.name {
                edits.set("name", text(&spelling.name));
                edits.add_arg("name", text(&slice.name));
            }
            let correlation = self.call(row, stream, slice, spelling.launch);
            edits.add_arg("device", stream.number.to_string());
            edits.add_arg("stream", stream.stream.to_string());
            edits.add_arg("correlation", correlation.to_string());
            if spelling.category == kineto::MEMCPY
                && let Some(bandwidth) = bandwidth(slice)
            {
                edits.add_arg("memory bandwidth (GB/s)", format!("{bandwidth:?}"));
            }
        }
        add_end_args(&slice.json, &slice.end_args, &mut edits);
        self.write(&slice.json, edits);
    }

    /// Writes the call that launched a slice, and the flow from there. Returns the number that joins them.
    fn call(&mut self, row: &Row, stream: Stream, slice: &PendingSlice, name: &str) -> u64 {
        let correlation = self.next_correlation;
        self.next_correlation += 1;
        let launch = slice.launch;
        let (from, time) = match launch {
            Some(launch) => (self.rows.of_track(TrackId(launch.track)).clone(), launch.time),
            None => (self.unrecorded_calls(stream), slice.start),
        };
        let mut edits = self.new_event("X", &from, time);
        edits.set("cat", text(kineto::RUNTIME));
        edits.set("name", text(name));
        edits.set("dur", "0");
        edits.add_arg("correlation", correlation.to_string());
        if launch.is_none() {
            self.summary.left.unlaunched += 1;
            edits.add_arg("unrecorded", "true");
        }
        self.write_new(edits);
        // No viewer draws a flow backwards in time, which may occur where clocks disagree. TraceLens only finds kernels
        // at the end of a flow.
        if time <= slice.start {
            self.launch_flow("s", &from, time, correlation);
            self.launch_flow("f", row, slice.start, correlation);
        }
        correlation
    }

    fn launch_flow(&mut self, phase: &str, row: &Row, time: i64, correlation: u64) {
        let mut edits = self.new_event(phase, row, time);
        edits.set("cat", text(kineto::LAUNCH_FLOW));
        edits.set("name", text(kineto::LAUNCH_FLOW));
        edits.set("id", correlation.to_string());
        if phase == "f" {
            edits.set("bp", "\"e\"");
        }
        self.summary.n_flow_points += 1;
        self.write_new(edits);
    }

    /// Returns the track for calls that the trace does not have. HTA drops kernels without a launch.
    fn unrecorded_calls(&mut self, stream: Stream) -> Row {
        let host = self.rows.devices[stream.device as usize].host;
        if let Some(row) = self.unrecorded.get(&host) {
            return row.clone();
        }
        let row = self.rows.another_of_host(host);
        self.metadata("thread_name", &row.pid, &row.tid, "name", b"\"calls that were not recorded\"");
        self.unrecorded.insert(host, row.clone());
        row
    }

    /// Handles the points of a flow. Its begin is written once it is known that it does not lead to a device.
    fn flow_point(&mut self, lane: Option<LaneId>, time: i64, record: &Record<'_>) {
        if kineto::is_category(record.category) {
            self.summary.n_flow_points += 1;
            return self.as_it_is(time, record);
        }
        if record.kind == EventKind::FlowBegin {
            let latest = Begin { launch: Launch { track: record.row, time }, is_used: false, is_written: false };
            let before = self.begun.get(record.group).map(|begun| begun.latest);
            self.begun.set(record.group, Begun { latest, before });
            self.summary.left.unbound_flow_points += 1;
            return;
        }
        let Some(mut begun) = self.begun.get(record.group) else {
            self.summary.left.unbound_flow_points += 1;
            return;
        };
        let begin = begun.of_point(time);
        let Begin { launch, is_used, is_written } = *begin;
        let is_on_device = self.rows.of_track(TrackId(record.row)).stream.is_some();
        (begin.is_used, begin.is_written) = (true, is_written || !is_on_device);
        self.begun.set(record.group, begun);
        self.summary.left.unbound_flow_points -= u64::from(!is_used);
        if is_on_device {
            self.launched(lane, time, record, launch);
            return;
        }
        if !is_written {
            self.flow_begin(&launch, record.args);
        }
        self.summary.n_flow_points += 1;
        self.as_it_is(time, record);
    }

    /// Records that a flow leads to a stream.
    fn launched(&mut self, lane: Option<LaneId>, time: i64, record: &Record<'_>, launch: Launch) {
        if record.kind == EventKind::FlowEndAtNext {
            self.next_launch.insert(TrackId(record.row), launch);
            return;
        }
        let stream = lane.and_then(|lane| self.lanes.get_mut(lane as usize)?.as_mut());
        let is_bound = stream.is_some_and(|stream| stream.pending.launched(launch, time));
        self.summary.left.unbound_flow_points += u64::from(!is_bound);
    }

    /// Writes the begin of a flow, with the name of its other points.
    fn flow_begin(&mut self, launch: &Launch, point: &[u8]) {
        let row = self.rows.of_track(TrackId(launch.track));
        let mut edits = self.new_event("s", row, launch.time);
        edits.remove("bp");
        edits.remove("args");
        self.summary.n_flow_points += 1;
        self.write(point, edits);
    }

    fn as_it_is(&mut self, time: i64, record: &Record<'_>) {
        let edits = self.place(record, time);
        self.write(record.args, edits);
    }

    fn count(&mut self, record: &Record<'_>) {
        match phase_of(record.args) {
            b'i' | b'I' | b'R' | b'n' | b'T' | b'p' => self.summary.n_instants += 1,
            b'C' => self.summary.n_counter_values += 1,
            b'b' | b'S' => self.summary.n_slices += 1,
            _ => {}
        }
    }

    /// Writes metadata of processes and threads. Streams get the name that they have in their device.
    fn described(&mut self, record: &Record<'_>) {
        let track = TrackId(record.row);
        let is_of_stream = self.rows.of_track(track).stream.is_some() && record.name.starts_with("thread_");
        let mut edits = if is_of_stream { self.place(record, 0) } else { Edits::default() };
        if self.times == Times::WholeMicros {
            edits.set("ts", "0");
        }
        if is_of_stream && record.name == "thread_name" {
            let name = [&b"{\"name\":"[..], &text(self.rows.queue(track)), b"}"].concat();
            edits.set("args", name);
        }
        self.write(record.args, edits);
    }

    fn check(&mut self) -> Result<(), Error> {
        self.document.check().map_err(Error::Write)
    }
}

impl TimelineSink for TorchWriter<'_> {
    fn lane(&mut self, _lane: LaneId, owner: Owner, nth: u32) -> Result<(), Error> {
        let row = match owner {
            Owner::Track(track) if self.rows.of_track(track).stream.is_some() => match nth {
                0 => Some(self.rows.of_track(track).clone()),
                _ => {
                    let row = self.rows.beside(track);
                    let name = text(&format!("{} ({})", self.rows.queue(track), nth + 1));
                    self.metadata("thread_name", &row.pid, &row.tid, "name", &name);
                    Some(row)
                }
            },
            _ => None,
        };
        let is_moved = nth > 0;
        let with_stream =
            |row: Row| Some(StreamRow { stream: row.stream?, row, pending: PendingTrack::default(), is_moved });
        self.lanes.push(row.and_then(with_stream));
        Ok(())
    }

    fn begin(&mut self, lane: LaneId, time: i64, slice: &Record<'_>) -> Result<(), Error> {
        self.summary.n_slices += 1;
        self.last = self.last.max(if slice.end == NEVER { time } else { slice.end });
        let Some(stream) = &mut self.lanes[lane as usize] else {
            self.host_slice(time, slice);
            return self.check();
        };
        // Torch's events stay unchanged on any track.
        if slice.end == NEVER || kineto::is_category(slice.category) {
            stream.pending.begin_written();
            self.host_slice(time, slice);
            return self.check();
        }
        stream.pending.begin(PendingSlice {
            start: time,
            end: slice.end,
            name: slice.name.to_owned(),
            category: slice.category.to_owned(),
            json: slice.args.to_vec(),
            end_args: slice.end_args.to_vec(),
            launch: self.next_launch.remove(&TrackId(slice.row)),
            is_group: false,
        });
        self.check()
    }

    fn end(&mut self, lane: LaneId, _time: i64) -> Result<(), Error> {
        let Some(stream) = &mut self.lanes[lane as usize] else { return Ok(()) };
        let slices = stream.pending.end();
        self.device_slices(lane, slices);
        Ok(())
    }

    fn point(&mut self, lane: Option<LaneId>, time: i64, point: &Record<'_>) -> Result<(), Error> {
        match point.kind {
            EventKind::Metadata => self.described(point),
            EventKind::FlowBegin | EventKind::FlowStep | EventKind::FlowEnd | EventKind::FlowEndAtNext => {
                self.last = self.last.max(point.end);
                self.flow_point(lane, point.end, point);
            }
            _ => {
                self.last = self.last.max(time);
                self.count(point);
                self.as_it_is(time, point);
            }
        }
        self.check()
    }
}

/// Returns the arguments of an event in its spelling.
fn args_of(json: &[u8]) -> Option<&[u8]> {
    let mut args = None;
    for_each_member(json, |key, value| {
        if let (b"args", Scalar::Other(value)) = (key.raw, value) {
            args = Some(value);
        }
    });
    args
}

/// Returns the bytes per nanosecond of a copy, if it states its size.
fn bandwidth(slice: &PendingSlice) -> Option<f64> {
    let mut n_bytes = None;
    for_each_member(args_of(&slice.json)?, |key, value| {
        if key.raw == b"bytes" {
            n_bytes = value.decode().parse::<f64>().ok();
        }
    });
    let nanos = slice.end.saturating_sub(slice.start);
    n_bytes.map(|n_bytes| n_bytes / nanos as f64).filter(|bandwidth| bandwidth.is_finite())
}

/// Returns the letter of an event's phase.
fn phase_of(json: &[u8]) -> u8 {
    let mut phase = 0;
    for_each_member(json, |key, value| {
        if key.raw == b"ph" {
            phase = value.plain().and_then(|text| text.first().copied()).unwrap_or(0);
        }
    });
    phase
}

fn is_begin(json: &[u8]) -> bool {
    phase_of(json) == b'B'
}

fn add_end_args(json: &[u8], end_args: &[u8], edits: &mut Edits) {
    if end_args.len() > 2 {
        edits.set("args", join_objects(args_of(json).unwrap_or(b"{}"), end_args));
    }
}
