//! Converts packets to Chrome trace events.

use super::PACKET_BYTES_MAX;
use super::annotation;
use super::clocks::{ClockId, Clocks, Time};
use super::counters::Sums;
use super::event::{Legacy, TrackEvent};
use super::interned::DEFINED_BYTES_MAX;
use super::json_line::{JsonLine, push_sort_index};
use super::open_slices::OpenSlices;
use super::packet::{Compressed, Packet, read_clock_snapshot};
use super::packets::Packets;
use super::sequence::Sequence;
use super::summary::Summary;
use super::tracks::{Counter, Row, Scope, ThreadId, Track, TrackKind, Tracks, read_process, read_thread, read_track};
use crate::Error;
use crate::chrome::METADATA_CATEGORY;
use crate::perfetto::field::{clock, event};
use crate::perfetto::wire::Broken;
use ferrum_trace_model::Value;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::ops::Range;

/// Size of the output buffer.
const OUTPUT_BYTES: usize = 1 << 16;
/// Maximum number of sequences, and of open flows.
const SEQUENCES_MAX: usize = 1 << 16;
const FLOWS_MAX: usize = 1 << 22;
/// Maximum size of the text between the begin of a slice and its end if the two are written as one complete event.
const AFTER_BEGIN_BYTES_MAX: usize = 1 << 16;
/// Name and category of flows, which have none in Perfetto.
const FLOW: &str = "flow";

/// Converts a Perfetto trace to Chrome trace events, an object with a list of them. Slices become begins and ends on
/// the thread of their track; a track that is not a thread becomes one with its own number and the name of the track.
///
/// ```
/// use ferrum_trace_format::perfetto::{read::to_chrome, write::Encoder};
///
/// let mut encoder = Encoder::new(0);
/// let name = encoder.name("decode");
/// encoder.begin(1_500, 1, name, None);
/// encoder.end(2_000, 1);
/// let mut json = Vec::new();
/// let summary = to_chrome(encoder.bytes(), &mut json)?;
/// assert_eq!(summary.n_events, 2);
/// assert!(String::from_utf8_lossy(&json).contains(r#""ts":1.500,"name":"decode""#));
/// # Ok::<(), ferrum_trace_format::Error>(())
/// ```
///
/// Memory is bounded by the definitions of the trace: tracks, names and clocks, each with a limit.
///
/// # Errors
///
/// If the input cannot be read or has no packet, or the output cannot be written. Damage inside the trace is reported
/// in the summary.
pub fn to_chrome<R: Read, W: Write>(input: R, mut output: W) -> Result<Summary, Error> {
    let mut converter = Converter::default();
    converter.text.extend_from_slice(b"{\"traceEvents\":[");
    let mut packets = Packets::new(input);
    loop {
        // The packets need the summary while they search for the next packet.
        let mut summary = std::mem::take(&mut converter.summary);
        let next = packets.next(&mut summary);
        converter.summary = summary;
        let Some((offset, packet)) = next? else {
            break;
        };
        converter.packet(offset, packet, IsInner::No);
        converter.write_out(&mut output, OUTPUT_BYTES)?;
    }
    if converter.summary.n_packets == 0 {
        let found = converter.summary.losses.first.first().map_or("nothing".to_owned(), |loss| loss.reason.clone());
        return Err(Error::malformed(0, "a Perfetto trace: a list of packets", found));
    }
    converter.text.extend_from_slice(b"\n]}\n");
    converter.write_out(&mut output, 0)?;
    output.flush().map_err(cannot_write)?;
    Ok(converter.summary)
}

fn cannot_write(cause: std::io::Error) -> Error {
    Error::io("cannot write", cause)
}

/// Tells packets inside a compressed packet from others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsInner {
    Yes,
    No,
}

struct Converter {
    sequences: HashMap<u32, Sequence>,
    tracks: Tracks,
    clocks: Clocks,
    sums: Sums,
    /// Size of the definitions of all sequences.
    defined_bytes: usize,
    /// Flows that have begun.
    flows: HashSet<u64>,
    n_lines: u64,
    text: Vec<u8>,
    /// The begin of a slice, if only points of its flows follow it.
    last_begin: Option<LastBegin>,
    open: OpenSlices,
    summary: Summary,
}

/// A written begin event that may become a complete event.
struct LastBegin {
    thread: ThreadId,
    time: u64,
    /// Range of the event in the text.
    line: Range<usize>,
    /// End of the points of its flows.
    text_end: usize,
}

impl Default for Converter {
    fn default() -> Self {
        Self {
            sequences: HashMap::new(),
            tracks: Tracks::default(),
            clocks: Clocks::new(),
            sums: Sums::default(),
            defined_bytes: 0,
            flows: HashSet::new(),
            n_lines: 0,
            text: Vec::new(),
            last_begin: None,
            open: OpenSlices::default(),
            summary: Summary::default(),
        }
    }
}

impl Converter {
    fn packet(&mut self, offset: u64, data: &[u8], is_inner: IsInner) {
        self.summary.n_packets += 1;
        let (n_text, n_lines) = (self.text.len(), self.n_lines);
        if let Err(broken) = Packet::read(data).and_then(|packet| self.read(offset, &packet, is_inner)) {
            // A packet that is only partly understood is not written.
            self.text.truncate(n_text);
            self.n_lines = n_lines;
            let reason = format!("an incomplete packet: expected {} in it", broken.expected);
            self.summary.add_loss(offset, data.len() as u64, reason);
        }
    }

    fn read(&mut self, offset: u64, packet: &Packet<'_>, is_inner: IsInner) -> Result<(), Broken> {
        if !packet.is_read() && !packet.is_cleared {
            self.summary.count_skipped(packet.other.unwrap_or(0));
        }
        if let Some(compressed) = packet.compressed {
            self.unpack(offset, compressed, is_inner);
        }
        let defined_bytes = self.defined_bytes;
        let Some(sequence) = self.sequence(packet.sequence) else {
            self.summary.n_without_state += 1;
            return Ok(());
        };
        if packet.is_after_loss {
            sequence.is_complete = false;
        }
        let others_bytes = defined_bytes.saturating_sub(sequence.interned.n_bytes());
        if packet.is_cleared {
            sequence.clear();
        }
        if let Some(data) = packet.interned {
            let room = DEFINED_BYTES_MAX.saturating_sub(others_bytes + sequence.interned.n_bytes());
            let defined = sequence.interned.define(data, room);
            self.defined_bytes = others_bytes + sequence.interned.n_bytes();
            self.summary.n_undefined += defined?;
        } else {
            self.defined_bytes = others_bytes + sequence.interned.n_bytes();
        }
        if let Some(data) = packet.defaults {
            self.sequence(packet.sequence).map_or(Ok(()), |sequence| sequence.set_defaults(data))?;
        }
        if let Some(data) = packet.clock_snapshot {
            let (readings, primary) = read_clock_snapshot(data, packet.sequence)?;
            self.clocks.snapshot(&readings, primary);
        }
        self.read_descriptors(packet)?;
        match packet.event {
            Some(data) => self.event(packet, &TrackEvent::read(data)?),
            None => Ok(()),
        }
    }

    /// Returns the state of a sequence; `None` if there are too many.
    fn sequence(&mut self, id: u32) -> Option<&mut Sequence> {
        if self.sequences.len() >= SEQUENCES_MAX && !self.sequences.contains_key(&id) {
            return None;
        }
        Some(self.sequences.entry(id).or_default())
    }

    fn unpack(&mut self, offset: u64, compressed: Compressed<'_>, is_inner: IsInner) {
        if is_inner == IsInner::Yes {
            self.summary.add_loss(offset, 0, "compressed packets inside compressed packets");
            return;
        }
        let limit = PACKET_BYTES_MAX as u64 + 1;
        let mut inner = Vec::new();
        let unpacked = match compressed {
            Compressed::Deflate(data) => flate2::read::ZlibDecoder::new(data).take(limit).read_to_end(&mut inner),
            Compressed::Zstd(data) => match zstd::stream::read::Decoder::new(data) {
                Ok(decoder) => decoder.take(limit).read_to_end(&mut inner),
                Err(error) => Err(error),
            },
        };
        if let Err(error) = unpacked {
            self.summary.add_loss(offset, 0, format!("compressed packets that cannot be decompressed: {error}"));
        }
        if inner.len() as u64 == limit {
            self.summary.add_loss(offset, 0, "compressed packets of more than 64 MiB, read up to that limit");
        }
        let mut packets = Packets::new(&inner[..]);
        loop {
            let mut lost = Summary::default();
            let next = packets.next(&mut lost);
            // Offsets inside a compressed packet are useless, so the offset of the packet is reported.
            for loss in lost.losses.first {
                self.summary.add_loss(offset, loss.n_bytes, loss.reason);
            }
            let Ok(Some((_, packet))) = next else {
                break;
            };
            self.packet(offset, packet, IsInner::Yes);
        }
    }

    fn read_descriptors(&mut self, packet: &Packet<'_>) -> Result<(), Broken> {
        if let Some(data) = packet.track_descriptor {
            let (uuid, track) = read_track(data)?;
            self.describe(&track, self.tracks.get(uuid).cloned());
            self.tracks.describe(uuid, &track);
        }
        if let Some(data) = packet.process_descriptor {
            let mut track = Track::default();
            read_process(data, &mut track)?;
            self.describe(&track, None);
        }
        if let Some(data) = packet.thread_descriptor {
            let mut track = Track::default();
            let reference_us = read_thread(data, &mut track)?;
            self.describe(&track, None);
            if let (TrackKind::Thread(thread), Some(sequence)) = (track.kind, self.sequence(packet.sequence)) {
                sequence.thread = Some(thread);
                sequence.reference_us = reference_us.unwrap_or(sequence.reference_us);
            }
        }
        Ok(())
    }

    /// Writes new facts about a process or a thread.
    fn describe(&mut self, track: &Track, known: Option<Track>) {
        let (thread, of) = match track.kind {
            TrackKind::Process { pid } => (ThreadId { pid, tid: pid }, "process"),
            TrackKind::Thread(thread) => (thread, "thread"),
            TrackKind::Other => return,
        };
        let known = known.unwrap_or_default();
        if !track.name.is_empty() && track.name != known.name {
            self.metadata(thread, &format!("{of}_name"), |line| line.one_arg("name", &text(&track.name)));
        }
        if !track.label.is_empty() && track.label != known.label {
            self.metadata(thread, "process_labels", |line| line.one_arg("labels", &text(&track.label)));
        }
        if let Some(index) = track.sort_index.filter(|_| track.sort_index != known.sort_index) {
            self.metadata(thread, &format!("{of}_sort_index"), |line| {
                let Ok(()) = line.args(|out| {
                    push_sort_index(out, index);
                    Ok::<(), std::convert::Infallible>(())
                });
            });
        }
    }

    fn metadata(&mut self, thread: ThreadId, name: &str, args: impl FnOnce(&mut JsonLine<'_>)) {
        let mut line = self.line(b'M', thread);
        line.text("name", name);
        args(&mut line);
        line.end();
    }

    fn event(&mut self, packet: &Packet<'_>, event: &TrackEvent<'_>) -> Result<(), Broken> {
        let is_complete = self.sequences.get(&packet.sequence).is_some_and(|sequence| sequence.is_complete);
        if packet.needs_state && !is_complete {
            self.summary.n_without_state += 1;
            return Ok(());
        }
        let Some(time) = self.time(packet, event) else {
            self.summary.n_without_state += 1;
            return Ok(());
        };
        if event.kind == event::COUNTER {
            return self.counter(packet.sequence, time, event);
        }
        let row = self.row(packet.sequence, event);
        match (event.kind, event.legacy_phase()) {
            (event::SLICE_BEGIN, _) => {
                let n_text = self.text.len();
                self.named_line(b'B', packet.sequence, time, &row, event, None)?;
                let line = n_text..self.text.len();
                let text_end = line.end;
                self.last_begin = Some(LastBegin { thread: row.thread, time, line, text_end });
                self.flows(time, &row, event);
                self.extend_last_begin(row.thread, text_end);
            }
            (event::SLICE_END, _) if event.is_bare() && self.complete_last_begin(row.thread, time) => {
                self.open.close(row.thread);
            }
            (event::SLICE_END, _) => {
                self.flows(time, &row, event);
                self.named_line(b'E', packet.sequence, time, &row, event, None)?;
                self.open.close(row.thread);
            }
            (event::INSTANT, _) => {
                let phase = if self.is_metadata(packet.sequence, event) { b'M' } else { b'i' };
                self.named_line(phase, packet.sequence, time, &row, event, None)?;
            }
            (_, Some(legacy)) => {
                let n_text = self.text.len();
                self.named_line(legacy.phase, packet.sequence, time, &row, event, Some(&legacy))?;
                if matches!(legacy.phase, b's' | b't' | b'f') {
                    self.extend_last_begin(row.thread, n_text);
                }
            }
            _ => {
                self.summary.count_skipped(crate::perfetto::field::packet::TRACK_EVENT);
                return Ok(());
            }
        }
        self.summary.n_events += 1;
        Ok(())
    }

    /// Counts the text after `n_text` as part of the last begin, if it directly follows that and belongs to its flows.
    fn extend_last_begin(&mut self, thread: ThreadId, n_text: usize) {
        let end = self.text.len();
        if let Some(begin) = &mut self.last_begin
            && begin.thread == thread
            && begin.text_end == n_text
            && end - begin.line.end <= AFTER_BEGIN_BYTES_MAX
        {
            begin.text_end = end;
        }
    }

    /// Turns a begin that is directly followed by its end into a complete event. Producers that know both times at once
    /// write them like that, in any order of time.
    fn complete_last_begin(&mut self, thread: ThreadId, time: u64) -> bool {
        let Some(LastBegin { thread: begin_thread, time: start, line, text_end }) = self.last_begin.take() else {
            return false;
        };
        let phase_at = self.text[..line.end].windows(3).skip(line.start).position(|three| three == b"\"B\"");
        let (Some(phase_at), true, Some(duration)) =
            (phase_at, text_end == self.text.len() && begin_thread == thread, time.checked_sub(start))
        else {
            return false;
        };
        self.text[line.start + phase_at + 1] = b'X';
        let points = self.text.split_off(line.end);
        self.text.pop();
        JsonLine::resume(&mut self.text).duration(duration);
        self.text.push(b'}');
        self.text.extend_from_slice(&points);
        true
    }

    /// Returns true for the metadata of our recorder, whose time is meaningless.
    fn is_metadata(&self, sequence: u32, event: &TrackEvent<'_>) -> bool {
        let interned = self.sequences.get(&sequence).map(|sequence| &sequence.interned);
        let is_one = |id: &u64| interned.and_then(|interned| interned.category(*id)) == Some(METADATA_CATEGORY);
        matches!(&event.category_iids[..], [id] if is_one(id))
    }

    /// Returns the time of an event in nanoseconds of the trace.
    fn time(&mut self, packet: &Packet<'_>, event: &TrackEvent<'_>) -> Option<u64> {
        let sequence = self.sequences.get_mut(&packet.sequence)?;
        let (id, timestamp) = if let Some(us) = event.absolute_us {
            (clock::MONOTONIC, u64::try_from(us).unwrap_or(0).saturating_mul(1000))
        } else if let Some(delta_us) = event.delta_us {
            sequence.reference_us = sequence.reference_us.saturating_add(delta_us);
            (clock::MONOTONIC, u64::try_from(sequence.reference_us).unwrap_or(0).saturating_mul(1000))
        } else {
            let default = sequence.default_clock.unwrap_or(clock::BOOTTIME);
            (packet.clock.unwrap_or(default), packet.timestamp?)
        };
        match self.clocks.time(ClockId::new(packet.sequence, id), timestamp) {
            Time::OfTrace(time) => Some(time),
            Time::AsItStands(time) => {
                self.summary.n_unknown_clock += 1;
                Some(time)
            }
        }
    }

    /// Returns the row of an event.
    fn row(&mut self, sequence: u32, event: &TrackEvent<'_>) -> Row {
        let sequence = self.sequences.get(&sequence);
        let uuid = event.track.or(sequence.and_then(|sequence| sequence.default_track));
        let thread = sequence.and_then(|sequence| sequence.thread);
        let mut row = match (uuid, thread) {
            (None, Some(thread)) => Row { thread, new_name: None, scope: Scope::Thread },
            (uuid, _) => self.tracks.row(uuid.unwrap_or(0)),
        };
        if let Some(legacy) = event.legacy {
            row.thread.pid = legacy.pid.unwrap_or(row.thread.pid);
            row.thread.tid = legacy.tid.unwrap_or(row.thread.tid);
        }
        if let Some(name) = row.new_name.take() {
            self.metadata(row.thread, "thread_name", |line| line.one_arg("name", &text(&name)));
        }
        row
    }

    fn counter(&mut self, sequence: u32, time: u64, event: &TrackEvent<'_>) -> Result<(), Broken> {
        let uuid = event.track.or(self.sequences.get(&sequence).and_then(|it| it.default_track)).unwrap_or(0);
        let track = self.tracks.get(uuid);
        let name = track.map_or_else(|| format!("counter {uuid}"), |track| track.name.clone());
        let counter = track.and_then(|track| track.counter).unwrap_or(Counter { multiplier: 1, is_incremental: false });
        let pid = self.tracks.pid(uuid).unwrap_or(0);
        let thread = ThreadId { pid, tid: pid };
        let Some(value) = self.sums.value(event, counter, (sequence, uuid)) else {
            self.summary.count_skipped(crate::perfetto::field::packet::TRACK_EVENT);
            return Ok(());
        };
        let mut line = self.line(b'C', thread);
        line.time(time);
        line.text("name", &name);
        line.one_arg("value", &value);
        line.end();
        self.summary.n_events += 1;
        Ok(())
    }

    /// Writes the flows of a slice as points inside it.
    fn flows(&mut self, time: u64, row: &Row, event: &TrackEvent<'_>) {
        let passing = event.flows.iter().map(|&id| (id, false));
        let ending = event.terminating_flows.iter().map(|&id| (id, true));
        for (id, is_end) in passing.chain(ending) {
            let phase = match (self.flows.contains(&id), is_end) {
                (false, _) => b's',
                (true, false) => b't',
                (true, true) => b'f',
            };
            if self.flows.len() < FLOWS_MAX {
                self.flows.insert(id);
            }
            let mut line = self.line(phase, row.thread);
            line.time(time);
            line.text("name", FLOW);
            line.text("cat", FLOW);
            line.id("id", id);
            if phase == b'f' {
                line.text("bp", "e");
            }
            line.end();
        }
    }

    fn named_line(
        &mut self,
        phase: u8,
        sequence: u32,
        time: u64,
        row: &Row,
        event: &TrackEvent<'_>,
        legacy: Option<&Legacy<'_>>,
    ) -> Result<(), Broken> {
        self.begin_line();
        let none = Sequence::default();
        let interned = &self.sequences.get(&sequence).unwrap_or(&none).interned;
        let mut line = JsonLine::new(&mut self.text, phase, row.thread);
        line.time(time);
        let name_iid = event.name_iid.or(legacy.and_then(|legacy| legacy.name_iid));
        let name = inline_or_interned(event.name, name_iid.map(|id| interned.name(id)));
        let by_number = event.category_iids.iter().filter_map(|&id| interned.category(id).map(Cow::Borrowed));
        let by_text = event.categories.iter().map(|text| String::from_utf8_lossy(text));
        let categories: Vec<Cow<'_, str>> = by_number.chain(by_text).collect();
        let (mut name, mut category) = (name.unwrap_or_default(), categories.join(","));
        // The end of a slice has only a track; viewers of Chrome's format need the name.
        if phase == b'E'
            && name.is_empty()
            && let Some(begin) = self.open.innermost(row.thread)
        {
            (name, category) = (begin.name.to_owned().into(), begin.category.to_owned());
        }
        line.text("name", &name);
        if !category.is_empty() {
            line.text("cat", &category);
        }
        if phase == b'X' {
            let us = legacy.and_then(|legacy| legacy.duration_us).unwrap_or(0);
            line.duration(u64::try_from(us).unwrap_or(0).saturating_mul(1000));
        }
        if matches!(phase, b'i' | b'I') {
            line.text("s", instant_scope(row, legacy));
        }
        if let Some(legacy) = legacy {
            line.legacy(legacy);
        }
        if !event.annotations.is_empty() {
            line.args(|out| {
                for (n, data) in event.annotations.iter().enumerate() {
                    if n > 0 {
                        out.push(b',');
                    }
                    annotation::push_entry(out, data, interned, 1)?;
                }
                Ok(())
            })?;
        }
        line.end();
        if phase == b'B' {
            self.open.open(row.thread, &name, &category);
        }
        Ok(())
    }

    fn begin_line(&mut self) {
        self.text.extend_from_slice(if self.n_lines > 0 { b",\n" } else { b"\n" });
        self.n_lines += 1;
    }

    fn line(&mut self, phase: u8, thread: ThreadId) -> JsonLine<'_> {
        self.begin_line();
        JsonLine::new(&mut self.text, phase, thread)
    }

    fn write_out(&mut self, output: &mut impl Write, least: usize) -> Result<(), Error> {
        if self.text.len() < least {
            return Ok(());
        }
        // A begin stays in the buffer, since its end may come next.
        let pending = self.last_begin.take().filter(|begin| begin.text_end == self.text.len());
        let n_written = pending.as_ref().map_or(self.text.len(), |begin| begin.line.start);
        output.write_all(&self.text[..n_written]).map_err(cannot_write)?;
        self.text.drain(..n_written);
        self.last_begin = pending.map(|begin| {
            let line = 0..begin.line.end - n_written;
            LastBegin { line, text_end: self.text.len(), ..begin }
        });
        Ok(())
    }
}

fn text(text: &str) -> Value<'_> {
    Value::Text(text.into())
}

/// Returns a text given inline or by number; the number may be undefined.
fn inline_or_interned<'a>(text: Option<&'a [u8]>, by_number: Option<Option<&'a str>>) -> Option<Cow<'a, str>> {
    match (text, by_number) {
        (Some(text), _) => Some(String::from_utf8_lossy(text)),
        (None, Some(known)) => Some(known.unwrap_or("(undefined)").into()),
        (None, None) => None,
    }
}

fn instant_scope(row: &Row, legacy: Option<&Legacy<'_>>) -> &'static str {
    match (legacy.map(|legacy| legacy.instant_scope), row.scope) {
        (Some(1), _) | (None | Some(0), Scope::Global) => "g",
        (Some(2), _) | (None | Some(0), Scope::Process) => "p",
        _ => "t",
    }
}
