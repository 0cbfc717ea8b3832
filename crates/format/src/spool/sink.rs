//! Where written events go: the file, with slices of their own times put on lanes first.

use super::converter::Batch;
use super::diagnostic::Damage;
use super::dictionary::{Dictionary, LANE_IDS, track_tail};
use super::lanes::{Interval, Lanes};
use super::piece::{LaneKey, Loose, Written};
use super::record::FLOW;
use crate::Error;
use crate::chrome::{push_decimal, push_micros, push_start_and_duration, push_text};
use ferrum_trace_model::vocab::about::RANK_LABEL;
use std::collections::HashMap;
use std::io::Write;

/// How many slices with times of their own are placed together; about 8 MB of memory.
const LOOSE_MAX: usize = 64 * 1024;
/// How many bytes of their names and arguments wait at most.
const LOOSE_TEXTS_MAX: usize = 4 << 20;

/// What the file holds already, as far as later events depend on it.
#[derive(Debug, Default)]
pub struct FileState {
    lanes: HashMap<LaneKey, Lanes>,
    /// Numbers of the second and further lanes.
    lane_ids: HashMap<(LaneKey, usize), u32>,
    /// The names in the file, by the numbers of their tracks.
    named: HashMap<u32, String>,
    /// Whether there is an event in the file yet.
    pub has_begun: bool,
    /// The name of the process in the file, which comes with the first event of a real thread.
    process_name: Option<String>,
}

impl FileState {
    /// Whether there is an event of a real thread.
    pub fn has_threads(&self) -> bool {
        self.process_name.is_some()
    }
}

/// The file, and what waits to be written.
pub struct Sink<'a, W: ?Sized> {
    pub out: &'a mut W,
    pub state: &'a mut FileState,
    pub dictionary: &'a Dictionary,
    pub batch: Batch,
    pub damage: Damage,
    loose: Vec<Loose>,
    texts: Vec<u8>,
}

impl<'a, W: Write + ?Sized> Sink<'a, W> {
    pub fn new(out: &'a mut W, state: &'a mut FileState, dictionary: &'a Dictionary) -> Self {
        Self {
            out,
            state,
            dictionary,
            batch: Batch::default(),
            damage: Damage::default(),
            loose: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// Takes what a worker has made, and gives the memory back.
    pub fn accept(&mut self, written: Written) -> Result<Vec<u8>, Error> {
        self.batch.events += written.n_events;
        self.damage.merge(written.damage);
        let mut names = Vec::new();
        for thread_id in written.threads {
            if let Some(thread) = self.dictionary.thread(thread_id) {
                self.name_process(&mut names);
                self.name_track(&mut names, thread.track.id, &thread.track.name, None);
            }
        }
        self.write(&names)?;
        self.write(&written.events)?;
        let shift = self.texts.len();
        self.texts.extend_from_slice(&written.texts);
        self.loose.extend(written.loose.into_iter().map(|loose| loose.shifted(shift)));
        if self.loose.len() >= LOOSE_MAX || self.texts.len() >= LOOSE_TEXTS_MAX {
            self.place_loose()?;
        }
        let mut memory = written.events;
        memory.clear();
        Ok(memory)
    }

    /// Writes the slices that have waited for their lanes, in the order they came, but outer ones first.
    pub fn place_loose(&mut self) -> Result<(), Error> {
        let loose = std::mem::take(&mut self.loose);
        let texts = std::mem::take(&mut self.texts);
        let mut groups: HashMap<LaneKey, Group> = HashMap::new();
        for (i, slice) in loose.iter().enumerate() {
            let group = groups.entry(slice.key).or_default();
            group.members.push(i);
            group.intervals.push(slice.interval);
        }
        for (&key, group) in &mut groups {
            (group.lane_of, group.order) = self.state.lanes.entry(key).or_default().place(&group.intervals);
        }
        let mut out = Vec::new();
        for slice in &loose {
            let Some(group) = groups.get_mut(&slice.key) else {
                continue;
            };
            let member = group.order[group.n_written];
            group.n_written += 1;
            let lane = group.lane_of[member];
            let slice = &loose[group.members[member]];
            let tail = self.lane_tail(&mut out, slice.key, lane);
            push_slice(&mut out, slice, &texts, &tail);
            if let Some(flow) = slice.flow {
                push_arrival(&mut out, flow, slice.interval.0, &tail);
            }
            if out.len() > 1 << 20 {
                self.write(&out)?;
                out.clear();
            }
        }
        self.write(&out)
    }

    /// Writes bytes that begin with a comma, which the first event of the file goes without.
    pub fn write(&mut self, events: &[u8]) -> Result<(), Error> {
        let bytes = match events {
            [] => return Ok(()),
            [_comma, rest @ ..] if !self.state.has_begun => rest,
            bytes => bytes,
        };
        self.state.has_begun = true;
        self.write_plain(bytes)
    }

    pub fn write_plain(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.batch.bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|cause| Error::io("cannot write", cause))
    }

    /// `,"pid":…,"tid":…` of a lane. A new one gets a number and, if it has one to go by, a name.
    fn lane_tail(&mut self, out: &mut Vec<u8>, key: LaneKey, lane: usize) -> Vec<u8> {
        let track = match key {
            // The reference's interface knows neither processes nor names.
            LaneKey::Pushed(tid) if lane == 0 => return track_tail(0, tid),
            LaneKey::Pushed(_) => return track_tail(0, self.lane_id(key, lane)),
            LaneKey::Track(id) => self.dictionary.track(id),
            LaneKey::Thread(id) => self.dictionary.thread(id).map(|thread| &thread.track),
        };
        self.name_process(out);
        let (name, sort, id) =
            track.map_or(("(unknown track)", None, LANE_IDS - 1), |track| (track.name.as_str(), track.sort, track.id));
        // What has left a thread's own track never goes back to it.
        let lane = lane + usize::from(matches!(key, LaneKey::Thread(_)));
        if lane == 0 {
            self.name_track(out, id, name, sort);
            return track_tail(self.dictionary.pid, id);
        }
        let id = self.lane_id(key, lane);
        self.name_track(out, id, &format!("{name} ({})", lane + 1), sort);
        track_tail(self.dictionary.pid, id)
    }

    fn lane_id(&mut self, key: LaneKey, lane: usize) -> u32 {
        let n_ids = self.state.lane_ids.len() as u32;
        *self.state.lane_ids.entry((key, lane)).or_insert((LANE_IDS + n_ids).min(i32::MAX as u32))
    }

    fn name_process(&mut self, out: &mut Vec<u8>) {
        if self.state.process_name.as_ref() != Some(&self.dictionary.process_name) {
            let rank = self.dictionary.origin.as_ref().and_then(|origin| origin.rank);
            if let Some(rank) = rank.filter(|_| !self.state.has_threads()) {
                push_rank(out, self.dictionary.pid, rank);
            }
            self.state.process_name = Some(self.dictionary.process_name.clone());
            push_metadata(out, "process_name", self.dictionary.pid, self.dictionary.pid);
            push_name_args(out, &self.dictionary.process_name);
        }
    }

    /// Writes names that were changed after they had been written.
    pub fn rename(&mut self) -> Result<(), Error> {
        let mut names = Vec::new();
        if self.state.has_threads() {
            self.name_process(&mut names);
        }
        for (_, thread) in self.dictionary.threads() {
            if self.state.named.contains_key(&thread.track.id) {
                self.name_track(&mut names, thread.track.id, &thread.track.name, None);
            }
        }
        self.write(&names)
    }

    fn name_track(&mut self, out: &mut Vec<u8>, id: u32, name: &str, sort: Option<i64>) {
        if self.state.named.get(&id).is_some_and(|known| known == name) {
            return;
        }
        self.state.named.insert(id, name.to_owned());
        push_metadata(out, "thread_name", self.dictionary.pid, id);
        push_name_args(out, name);
        if let Some(sort) = sort {
            push_metadata(out, "thread_sort_index", self.dictionary.pid, id);
            out.extend_from_slice(format!(",\"args\":{{\"sort_index\":{sort}}}}}").as_bytes());
        }
    }
}

/// The slices of one key.
#[derive(Default)]
struct Group {
    members: Vec<usize>,
    intervals: Vec<Interval>,
    lane_of: Vec<usize>,
    order: Vec<usize>,
    n_written: usize,
}

impl Loose {
    fn shifted(self, by: usize) -> Self {
        Self { head: self.head.start + by..self.head.end + by, args: self.args.start + by..self.args.end + by, ..self }
    }
}

fn push_slice(out: &mut Vec<u8>, slice: &Loose, texts: &[u8], tail: &[u8]) {
    let (start, end) = slice.interval;
    out.extend_from_slice(&texts[slice.head.clone()]);
    push_start_and_duration(out, start, end - start);
    out.extend_from_slice(tail);
    out.extend_from_slice(&texts[slice.args.clone()]);
    out.push(b'}');
}

/// The end of a flow, on the lane of the slice that it arrives at.
fn push_arrival(out: &mut Vec<u8>, flow: u64, at: u64, tail: &[u8]) {
    out.extend_from_slice(format!(",\n{{\"name\":\"{FLOW}\",\"cat\":\"{FLOW}\",\"ph\":\"f\",\"ts\":").as_bytes());
    push_micros(out, at);
    out.extend_from_slice(tail);
    out.extend_from_slice(format!(",\"bp\":\"e\",\"id\":\"{flow:#x}\"}}").as_bytes());
}

/// A metadata event, up to its arguments.
pub fn push_metadata(out: &mut Vec<u8>, name: &str, pid: u32, tid: u32) {
    out.extend_from_slice(b",\n{\"name\":");
    push_text(out, name);
    out.extend_from_slice(b",\"cat\":\"__metadata\",\"ph\":\"M\",\"ts\":0.000,\"pid\":");
    push_decimal(out, u64::from(pid));
    out.extend_from_slice(b",\"tid\":");
    push_decimal(out, u64::from(tid));
}

/// So that viewers sort processes by their ranks.
fn push_rank(out: &mut Vec<u8>, pid: u32, rank: u32) {
    push_metadata(out, "process_labels", pid, pid);
    out.extend_from_slice(format!(",\"args\":{{\"labels\":\"{RANK_LABEL}{rank}\"}}}}").as_bytes());
    push_metadata(out, "process_sort_index", pid, pid);
    out.extend_from_slice(format!(",\"args\":{{\"sort_index\":{rank}}}}}").as_bytes());
}

fn push_name_args(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"args\":{\"name\":");
    push_text(out, name);
    out.extend_from_slice(b"}}");
}
