//! Writes encoded events to the file, and assigns slices with explicit times to lanes before.

use super::converter::Batch;
use super::diagnostic::Damage;
use super::dictionary::{Dictionary, LANE_IDS, LANE_PIDS};
use super::encoding::{FileEncoder, OverlapProcess, ProcessRow, Row, uuid};
use super::lanes::{Interval, SpoolLanes, outer_first};
use super::open_asyncs::OpenAsyncs;
use super::open_span::OpenSpan;
use super::piece::{LaneKey, LooseSlice, PieceOutput};
use crate::Error;
use crate::ordered::in_order;
use crate::pack::{Checksum, Packer, Packing};
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// Maximum number of slices that are assigned to lanes together; about 8 MB of memory.
const LOOSE_MAX: usize = 64 * 1024;
/// Maximum size of the names and arguments of these slices.
const LOOSE_TEXTS_MAX: usize = 4 << 20;
/// Size of the unit in which these slices are written, or compressed by one worker.
const LOOSE_UNIT_BYTES: usize = 1 << 20;

/// The state of the file that later events depend on.
#[derive(Debug, Default)]
pub(crate) struct FileState {
    has_opened: bool,
    lanes: HashMap<LaneKey, SpoolLanes>,
    /// Thread ids of the second and further lanes.
    lane_ids: HashMap<(LaneKey, usize), u32>,
    /// Processes for further lanes of the original engine's interface.
    overlap_pids: HashSet<u32>,
    /// The names in the file, by thread id.
    named: HashMap<u32, String>,
    /// The name of the process in the file, which is written with the first event of a real thread.
    process_name: Option<String>,
    /// Checksum of the whole file.
    pub checksum: Checksum,
    /// Async events that have begun in the file and not ended.
    pub open_asyncs: OpenAsyncs,
    /// The begin of the last span of each thread in the file, in ticks.
    last_spans: HashMap<u32, u64>,
    /// Number of argument texts that are missing in the spool.
    pub n_lost_texts: u64,
}

impl FileState {
    /// Returns true if the file has an event of a real thread.
    pub(crate) fn has_threads(&self) -> bool {
        self.process_name.is_some()
    }

    /// Returns true if an open span has ended: its thread was stopped between writing the span and emptying the slot.
    pub(crate) fn has_ended(&self, span: &OpenSpan) -> bool {
        self.last_spans.get(&span.thread) == Some(&span.start)
    }
}

/// Options for writing a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteOptions {
    pub packing: Packing,
    pub n_workers: usize,
}

/// Writes a file; holds the slices that wait for a lane.
pub(crate) struct SpoolWriter<'a, W: ?Sized, F> {
    pub out: &'a mut W,
    pub encoder: &'a mut F,
    pub state: &'a mut FileState,
    pub dictionary: &'a Dictionary,
    pub batch: Batch,
    pub damage: Damage,
    pub options: WriteOptions,
    packer: Packer,
    loose: Vec<LooseSlice>,
    texts: Vec<u8>,
}

impl<'a, W: Write + Send + ?Sized, F: FileEncoder + Send> SpoolWriter<'a, W, F> {
    pub(crate) fn new(
        out: &'a mut W,
        encoder: &'a mut F,
        state: &'a mut FileState,
        dictionary: &'a Dictionary,
        options: WriteOptions,
    ) -> Result<Self, Error> {
        Ok(Self {
            out,
            encoder,
            state,
            dictionary,
            batch: Batch::default(),
            damage: Damage::default(),
            options,
            packer: Packer::new(options.packing)?,
            loose: Vec::new(),
            texts: Vec::new(),
        })
    }

    /// Writes the start of the file, unless it was written before.
    pub(crate) fn open(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.state.has_opened, true) {
            return Ok(());
        }
        self.write_bytes(self.options.packing.head())?;
        self.write_packing(F::OPENING)
    }

    /// Writes the output of a worker and returns its buffer for reuse.
    pub(crate) fn accept(&mut self, written: PieceOutput) -> Result<Vec<u8>, Error> {
        self.batch.events += written.n_events;
        self.damage.merge(written.damage);
        self.state.open_asyncs.add(&written.async_points, written.last);
        self.state.last_spans.extend(written.last_spans);
        self.state.n_lost_texts += written.n_lost_texts;
        let mut names = Vec::new();
        for thread_id in written.threads {
            self.name_thread(&mut names, thread_id);
        }
        self.encoder.counters(&mut names, written.counters);
        self.write(&names)?;
        if self.options.packing == Packing::Plain {
            let events = self.encoder.joined(&written.events);
            write_all(self.out, &mut self.batch, events)?;
        } else {
            // The first event of a file is never among these: the names of their threads come before.
            self.write_packed(&written.events, &written.checksum)?;
        }
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

    /// Writes the waiting slices, in the order of arrival but outer ones first, or in the order of their begins.
    pub(crate) fn place_loose(&mut self) -> Result<(), Error> {
        let loose = std::mem::take(&mut self.loose);
        let texts = std::mem::take(&mut self.texts);
        let mut groups: HashMap<LaneKey, Group> = HashMap::new();
        for (i, slice) in loose.iter().enumerate() {
            let group = groups.entry(slice.key).or_default();
            group.members.push(i);
            group.intervals.push(slice.interval);
        }
        for (&key, group) in &mut groups {
            let by_start;
            (group.lane_of, by_start) = self.state.lanes.entry(key).or_default().place(&group.intervals);
            group.order = if F::ORDERS_LOOSE { by_start } else { outer_first(&group.intervals, &by_start) };
        }
        let mut units = vec![Vec::new()];
        for slice in &loose {
            let Some(group) = groups.get_mut(&slice.key) else {
                continue;
            };
            let member = group.order[group.n_written];
            group.n_written += 1;
            let lane = group.lane_of[member];
            let slice = &loose[group.members[member]];
            let mut out = units.pop().unwrap_or_default();
            let row = self.lane_row(&mut out, slice.key, lane);
            self.encoder.loose(&mut out, row, slice, &texts);
            let is_full = out.len() > LOOSE_UNIT_BYTES;
            units.push(out);
            if is_full {
                units.push(Vec::new());
            }
        }
        self.write_units(&units)
    }

    /// Compresses units in parallel and writes them in order.
    fn write_units(&mut self, units: &[Vec<u8>]) -> Result<(), Error> {
        let [first, others @ ..] = units else {
            return Ok(());
        };
        self.write(first)?;
        let WriteOptions { packing, n_workers } = self.options;
        let make = |n: usize, emit: &mut dyn FnMut((Vec<u8>, Checksum)) -> Result<(), Error>| {
            let mut packed = Vec::new();
            let checksum = Packer::new(packing)?.pack(&others[n], &mut packed)?;
            emit((packed, checksum))
        };
        in_order(others.len(), n_workers, make, |(packed, checksum)| self.write_packed(&packed, &checksum))
    }

    /// Writes events, and adapts the first one of the file.
    fn write(&mut self, events: &[u8]) -> Result<(), Error> {
        let bytes = self.encoder.joined(events);
        self.write_packing(bytes)
    }

    fn write_packing(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.options.packing == Packing::Plain {
            return self.write_bytes(bytes);
        }
        let mut packed = Vec::new();
        let checksum = self.packer.pack(bytes, &mut packed)?;
        self.write_packed(&packed, &checksum)
    }

    fn write_packed(&mut self, packed: &[u8], checksum: &Checksum) -> Result<(), Error> {
        self.state.checksum.combine(checksum);
        self.write_bytes(packed)
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        write_all(self.out, &mut self.batch, bytes)
    }

    /// Returns the row of a lane. A new row gets a number and, if its track has one, a name.
    fn lane_row(&mut self, out: &mut Vec<u8>, key: LaneKey, lane: usize) -> Row {
        let pid = self.dictionary.pid;
        let (track, own_uuid, nth) = match key {
            // The original engine's interface has neither processes nor names.
            LaneKey::Pushed(tid) if lane == 0 => {
                let row = Row { pid: 0, tid, uuid: uuid::pushed(tid) };
                self.encoder.nameless_row(out, row);
                return row;
            }
            LaneKey::Pushed(tid) => return self.overlap_row(out, tid, lane),
            LaneKey::Track(id) => (self.dictionary.track(id), (lane == 0).then(|| uuid::track(id)), lane + 1),
            // A slice that has left its thread's own track never returns to it.
            LaneKey::Thread(id) => (self.dictionary.thread(id).map(|thread| &thread.track), None, lane + 2),
        };
        self.name_process(out);
        let (name, sort, id) =
            track.map_or(("(unknown track)", None, LANE_IDS - 1), |track| (track.name.as_str(), track.sort, track.id));
        if let Some(uuid) = own_uuid {
            let row = Row { pid, tid: id, uuid };
            self.name_row(out, row, name, sort);
            return row;
        }
        let row = self.lane_numbers(pid, key, lane);
        self.name_row(out, row, &format!("{name} ({nth})"), sort);
        row
    }

    /// Returns the row for slices of the original engine's interface that overlap others. It keeps the `tid` of the
    /// caller, which readers may use as the number of a layer, and is in another process, which viewers show
    /// separately.
    fn overlap_row(&mut self, out: &mut Vec<u8>, tid: u32, lane: usize) -> Row {
        let key = (LaneKey::Pushed(tid), lane);
        let is_known = self.state.lane_ids.contains_key(&key);
        let nth = (lane as u32).min(i32::MAX as u32 - LANE_PIDS);
        let row = Row { pid: LANE_PIDS + nth - 1, tid, ..self.lane_numbers(0, key.0, lane) };
        if !is_known {
            let is_new = self.state.overlap_pids.insert(row.pid);
            let process_name = format!("overlap {}", nth + 1);
            let process = OverlapProcess { name: &process_name, uuid: uuid::overlap_process(nth), is_new };
            self.encoder.overlap_row(out, row, process, &format!("tid {tid} (overlap {})", nth + 1));
        }
        row
    }

    fn lane_numbers(&mut self, pid: u32, key: LaneKey, lane: usize) -> Row {
        let n_ids = self.state.lane_ids.len() as u32;
        let tid = *self.state.lane_ids.entry((key, lane)).or_insert((LANE_IDS + n_ids).min(i32::MAX as u32));
        Row { pid, tid, uuid: uuid::lane(tid - LANE_IDS) }
    }

    /// Writes the names of the threads that have open spans and possibly no events.
    pub(crate) fn name_threads_of(&mut self, spans: &[OpenSpan]) -> Result<(), Error> {
        let mut names = Vec::new();
        for span in spans {
            self.name_thread(&mut names, span.thread);
        }
        self.write(&names)
    }

    fn name_thread(&mut self, out: &mut Vec<u8>, thread_id: u32) {
        if let Some(thread) = self.dictionary.thread(thread_id) {
            let row = Row { pid: self.dictionary.pid, tid: thread.track.id, uuid: uuid::thread(thread.row) };
            self.name_process(out);
            self.name_row(out, row, &thread.track.name, None);
        }
    }

    fn name_process(&mut self, out: &mut Vec<u8>) {
        if self.state.process_name.as_ref() != Some(&self.dictionary.process_name) {
            let process = ProcessRow {
                pid: self.dictionary.pid,
                name: &self.dictionary.process_name,
                rank: self.dictionary.origin.as_ref().and_then(|origin| origin.rank),
                is_new: !self.state.has_threads(),
            };
            self.encoder.process(out, process);
            self.state.process_name = Some(self.dictionary.process_name.clone());
        }
    }

    /// Writes the names that have changed since they were written.
    pub(crate) fn rename(&mut self) -> Result<(), Error> {
        let mut names = Vec::new();
        if self.state.has_threads() {
            self.name_process(&mut names);
        }
        for (_, thread) in self.dictionary.threads() {
            if self.state.named.contains_key(&thread.track.id) {
                let row = Row { pid: self.dictionary.pid, tid: thread.track.id, uuid: uuid::thread(thread.row) };
                self.name_row(&mut names, row, &thread.track.name, None);
            }
        }
        self.write(&names)
    }

    fn name_row(&mut self, out: &mut Vec<u8>, row: Row, name: &str, sort: Option<i64>) {
        if self.state.named.get(&row.tid).is_some_and(|known| known == name) {
            return;
        }
        self.state.named.insert(row.tid, name.to_owned());
        self.encoder.row(out, row, name, sort);
    }
}

fn write_all<W: Write + ?Sized>(out: &mut W, batch: &mut Batch, bytes: &[u8]) -> Result<(), Error> {
    batch.bytes += bytes.len() as u64;
    out.write_all(bytes).map_err(|cause| Error::io("cannot write", cause))
}

/// The slices of one lane key.
#[derive(Default)]
struct Group {
    members: Vec<usize>,
    intervals: Vec<Interval>,
    lane_of: Vec<usize>,
    order: Vec<usize>,
    n_written: usize,
}

impl LooseSlice {
    fn shifted(self, by: usize) -> Self {
        Self { head: self.head.start + by..self.head.end + by, args: self.args.start + by..self.args.end + by, ..self }
    }
}
