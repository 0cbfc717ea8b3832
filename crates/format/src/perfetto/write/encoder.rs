//! Writes packets.

use super::argument::{ArgumentOutput, Arguments, Slot};
use super::interner::{Interner, Word};
use super::json_args;
use super::text::PushText;
use super::track::{self, Process, Thread, Track};
use crate::perfetto::field::{clock, clock_snapshot, defaults, event, flags, interned, legacy, packet, trace};
use crate::perfetto::wire::{Push, Small, varint_len};
use ferrum_trace_model::Value;
use std::io::{self, Write};

/// The number of the packet sequence for tracks. trace_processor takes the last thread that a sequence describes for
/// the thread of its events on other tracks, and adds that to their arguments.
const TRACKS_SEQUENCE: u64 = 2;
/// The clock of the sequence, on which each time is the difference to the previous one.
const CLOCK: u64 = clock::FIRST_OF_SEQUENCE;

/// A sequence of packets with events. Each has its own definitions, and a sequence that starts again discards the
/// previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// All events of a trace, or a part of them that can be read on its own.
    Events = 1,
    /// Events on lanes, which are found one after another.
    Lanes = 3,
    /// The end of the file.
    Tail = 4,
}

/// The role of a point of an async event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncPhase {
    /// The begin.
    Begin,
    /// A point in between.
    Instant,
    /// The end.
    End,
}

/// The role of a point of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowPhase {
    /// The begin.
    Begin,
    /// A point in between.
    Step,
    /// The end.
    End,
}

/// Writes a trace packet by packet into a buffer that the caller drains.
///
/// Times are nanoseconds. They may run backwards, but a packet that does so is ten bytes longer.
///
/// The input of `push_arg`, `push_json_args` and `push_flow` belongs to the next event.
#[derive(Debug)]
pub struct Encoder {
    sequence: Sequence,
    out: Vec<u8>,
    last_time: u64,
    names: Interner,
    categories: Interner,
    arguments: Arguments,
    /// Definitions for the next event.
    definitions: Vec<u8>,
    /// Fields for the next event.
    fields: Vec<u8>,
}

impl Encoder {
    /// Creates an encoder for a trace whose first event is at this time or later.
    pub fn new(first_time: u64) -> Self {
        Self::begin_at(Sequence::Events, first_time, Vec::new())
    }

    /// Creates an encoder for a sequence, without any definitions. It appends to `memory`.
    pub(crate) fn on_sequence(sequence: Sequence, memory: Vec<u8>) -> Self {
        // The same time for all sequences: trace_processor refuses clocks that run backwards.
        Self::begin_at(sequence, 0, memory)
    }

    fn begin_at(sequence: Sequence, first_time: u64, memory: Vec<u8>) -> Self {
        let mut encoder = Self {
            sequence,
            out: memory,
            last_time: first_time,
            names: Interner::new(interned::EVENT_NAMES),
            categories: Interner::new(interned::EVENT_CATEGORIES),
            arguments: Arguments::new(),
            definitions: Vec::new(),
            fields: Vec::new(),
        };
        encoder.begin_sequence();
        encoder
    }

    /// Returns the packets that have been written and not drained.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Writes the packets to `writer` and empties the buffer.
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub fn drain(&mut self, writer: &mut dyn Write) -> io::Result<()> {
        writer.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Moves the packets to the end of `out`.
    pub(crate) fn move_to(&mut self, out: &mut Vec<u8>) {
        if out.is_empty() {
            std::mem::swap(out, &mut self.out);
        } else {
            out.append(&mut self.out);
        }
    }

    /// Describes a process. `uuid` is any unique number but zero; small numbers take fewer bytes.
    pub fn process(&mut self, uuid: u64, process: &Process<'_>) {
        self.descriptor(|out| track::of_process(out, uuid, process));
    }

    /// Describes a thread.
    pub fn thread(&mut self, uuid: u64, thread: &Thread<'_>) {
        self.descriptor(|out| track::of_thread(out, uuid, thread));
    }

    /// Describes a track that is neither a process nor a thread.
    pub fn track(&mut self, uuid: u64, track: &Track<'_>) {
        self.descriptor(|out| track::of_track(out, uuid, track));
    }

    /// Interns the name of events.
    #[inline]
    pub fn name<'a>(&mut self, text: &'a str) -> Word<'a> {
        self.names.word(text, &mut self.definitions)
    }

    /// Interns a category of events.
    #[inline]
    pub fn category<'a>(&mut self, text: &'a str) -> Word<'a> {
        self.categories.word(text, &mut self.definitions)
    }

    /// Adds an argument to the next event.
    pub fn push_arg(&mut self, key: &str, value: &Value<'_>) {
        let mut pair = ArgumentOutput { fields: &mut self.fields, definitions: &mut self.definitions };
        self.arguments.push(&mut pair, Slot::Argument(key), value);
    }

    /// Interns the name of arguments.
    pub fn key<'a>(&mut self, text: &'a str) -> Word<'a> {
        self.arguments.key(text, &mut self.definitions)
    }

    /// Adds an argument with an interned name to the next event.
    #[inline]
    pub(crate) fn push_known_arg(&mut self, key: u64, value: &Value<'_>) {
        let mut pair = ArgumentOutput { fields: &mut self.fields, definitions: &mut self.definitions };
        self.arguments.push(&mut pair, Slot::Known(key), value);
    }

    /// Adds all fields of a JSON object as arguments to the next event.
    pub fn push_json_args(&mut self, json: &[u8]) {
        let mut pair = ArgumentOutput { fields: &mut self.fields, definitions: &mut self.definitions };
        json_args::push(&mut self.arguments, &mut pair, json);
    }

    /// Adds a flow that the next event begins or continues.
    pub fn push_flow(&mut self, id: u64) {
        self.fields.push_fixed64(event::FLOW_IDS, id);
    }

    /// Adds a flow that ends at the next event.
    pub fn push_terminating_flow(&mut self, id: u64) {
        self.fields.push_fixed64(event::TERMINATING_FLOW_IDS, id);
    }

    /// Writes the begin of a slice.
    #[inline]
    pub fn begin(&mut self, time: u64, track: u64, name: Word<'_>, category: Option<Word<'_>>) {
        self.named_event(time, event::SLICE_BEGIN, track, name, category);
    }

    /// Writes the end of the innermost open slice of a track.
    #[inline]
    pub fn end(&mut self, time: u64, track: u64) {
        let mut head = Small::<48>::new();
        head.number(event::TYPE, event::SLICE_END);
        head.number(event::TRACK_UUID, track);
        self.event(time, head.as_slice());
    }

    /// Writes an instant.
    pub fn instant(&mut self, time: u64, track: u64, name: Word<'_>, category: Option<Word<'_>>) {
        self.named_event(time, event::INSTANT, track, name, category);
    }

    /// Writes a value of a counter track.
    pub fn counter(&mut self, time: u64, track: u64, value: f64) {
        let mut head = Small::<48>::new();
        head.number(event::TYPE, event::COUNTER);
        head.number(event::TRACK_UUID, track);
        self.fields.push_fixed64(event::DOUBLE_COUNTER_VALUE, value.to_bits());
        self.event(time, head.as_slice());
    }

    /// Writes an integer value of a counter track.
    pub fn int_counter(&mut self, time: u64, track: u64, value: i64) {
        let mut head = Small::<48>::new();
        head.number(event::TYPE, event::COUNTER);
        head.number(event::TRACK_UUID, track);
        head.number(event::COUNTER_VALUE, value as u64);
        self.event(time, head.as_slice());
    }

    /// Writes a point of a flow with its own time: it binds to the slice of its track around it or, at its end and
    /// unless `binds_to_enclosing`, to the next slice. Points with the same name, category and id form one flow.
    ///
    /// Perfetto's own flows (see [`push_flow`](Self::push_flow)) have no times except those of their slices.
    #[expect(clippy::too_many_arguments, reason = "they are the fields of one packet")]
    pub fn flow_point(
        &mut self,
        time: u64,
        track: u64,
        name: Word<'_>,
        category: Option<Word<'_>>,
        phase: FlowPhase,
        id: u64,
        binds_to_enclosing: bool,
    ) {
        let letter = match phase {
            FlowPhase::Begin => b's',
            FlowPhase::Step => b't',
            FlowPhase::End => b'f',
        };
        let mut body = Small::<32>::new();
        body.number(legacy::PHASE, u64::from(letter));
        body.number(legacy::UNSCOPED_ID, id);
        if binds_to_enclosing {
            body.number(legacy::BIND_TO_ENCLOSING, 1);
        }
        self.legacy_event(time, track, name, category, body.as_slice());
    }

    /// Writes a point of an async event. Points with the same category and id form one async event; the track
    /// determines the process.
    pub fn async_point(
        &mut self,
        time: u64,
        track: u64,
        name: Word<'_>,
        category: Option<Word<'_>>,
        phase: AsyncPhase,
        id: u64,
    ) {
        let letter = match phase {
            AsyncPhase::Begin => b'b',
            AsyncPhase::Instant => b'n',
            AsyncPhase::End => b'e',
        };
        let mut body = Small::<32>::new();
        body.number(legacy::PHASE, u64::from(letter));
        body.number(legacy::LOCAL_ID, id);
        self.legacy_event(time, track, name, category, body.as_slice());
    }

    /// Writes an event for which track events have no type.
    fn legacy_event(&mut self, time: u64, track: u64, name: Word<'_>, category: Option<Word<'_>>, body: &[u8]) {
        self.fields.push_bytes(event::LEGACY_EVENT, body);
        let mut head = Small::<48>::new();
        head.number(event::TRACK_UUID, track);
        self.word(&mut head, name, event::NAME_IID, event::NAME);
        if let Some(category) = category {
            self.word(&mut head, category, event::CATEGORY_IIDS, event::CATEGORIES);
        }
        self.event(time, head.as_slice());
    }

    #[inline]
    fn named_event(&mut self, time: u64, kind: u64, track: u64, name: Word<'_>, category: Option<Word<'_>>) {
        let mut head = Small::<48>::new();
        head.number(event::TYPE, kind);
        head.number(event::TRACK_UUID, track);
        self.word(&mut head, name, event::NAME_IID, event::NAME);
        if let Some(category) = category {
            self.word(&mut head, category, event::CATEGORY_IIDS, event::CATEGORIES);
        }
        self.event(time, head.as_slice());
    }

    #[inline]
    fn word(&mut self, head: &mut Small<48>, word: Word<'_>, number_field: u32, text_field: u32) {
        match word {
            Word::Interned(id) => head.number(number_field, id),
            Word::Inline(text) => self.fields.push_text(text_field, text),
        }
    }

    /// Writes a packet with an event of these fields and the pending ones.
    #[inline]
    fn event(&mut self, time: u64, head: &[u8]) {
        let mut front = self.front(time);
        let event_len = head.len() + self.fields.len();
        let event_head_len = 1 + varint_len(event_len as u64);
        let definitions_len = match self.definitions.len() {
            0 => 0,
            len => 1 + varint_len(len as u64) + len,
        };
        let packet_len = front.len() + definitions_len + event_head_len + event_len;
        let mut packet_head = Small::<16>::new();
        packet_head.bytes_head(trace::PACKET, packet_len);
        self.out.extend_from_slice(packet_head.as_slice());
        if definitions_len > 0 {
            self.out.extend_from_slice(front.as_slice());
            self.out.push_bytes(packet::INTERNED_DATA, &self.definitions);
            self.definitions.clear();
            front = Small::new();
        }
        front.bytes_head(packet::TRACK_EVENT, event_len);
        self.out.extend_from_slice(front.as_slice());
        self.out.extend_from_slice(head);
        if !self.fields.is_empty() {
            self.out.extend_from_slice(&self.fields);
            self.fields.clear();
        }
    }

    /// Writes the fields at the start of every event's packet.
    #[inline]
    fn front(&mut self, time: u64) -> Small<48> {
        let mut front = Small::<48>::new();
        match time.checked_sub(self.last_time) {
            Some(difference) => {
                front.number(packet::TIMESTAMP, difference);
                self.last_time = time;
            }
            None => {
                front.number(packet::TIMESTAMP, time);
                front.number(packet::TIMESTAMP_CLOCK_ID, clock::BOOTTIME);
            }
        }
        front.number(packet::TRUSTED_SEQUENCE_ID, self.sequence as u64);
        front.number(packet::SEQUENCE_FLAGS, flags::NEEDS_INCREMENTAL_STATE);
        front
    }

    fn begin_sequence(&mut self) {
        let first_time = self.last_time;
        let place = self.out.open_bytes(trace::PACKET);
        self.out.push_number(packet::TRUSTED_SEQUENCE_ID, self.sequence as u64);
        self.out.push_number(packet::SEQUENCE_FLAGS, flags::INCREMENTAL_STATE_CLEARED);
        self.out.push_number(packet::FIRST_ON_SEQUENCE, 1);
        let snapshot = self.out.open_bytes(packet::CLOCK_SNAPSHOT);
        self.clock(clock::BOOTTIME, first_time, false);
        self.clock(CLOCK, first_time, true);
        self.out.close_bytes(snapshot);
        let these_defaults = self.out.open_bytes(packet::DEFAULTS);
        self.out.push_number(defaults::TIMESTAMP_CLOCK_ID, CLOCK);
        self.out.close_bytes(these_defaults);
        self.out.close_bytes(place);
    }

    fn clock(&mut self, id: u64, time: u64, is_incremental: bool) {
        let place = self.out.open_bytes(clock_snapshot::CLOCK);
        self.out.push_number(clock::ID, id);
        self.out.push_number(clock::TIMESTAMP, time);
        if is_incremental {
            self.out.push_number(clock::IS_INCREMENTAL, 1);
        }
        self.out.close_bytes(place);
    }

    fn descriptor(&mut self, push: impl FnOnce(&mut Vec<u8>)) {
        let place = self.out.open_bytes(trace::PACKET);
        self.out.push_number(packet::TRUSTED_SEQUENCE_ID, TRACKS_SEQUENCE);
        let inner = self.out.open_bytes(packet::TRACK_DESCRIPTOR);
        push(&mut self.out);
        self.out.close_bytes(inner);
        self.out.close_bytes(place);
    }
}
