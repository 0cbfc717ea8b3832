//! Spells packets.

use super::argument::{Arguments, Pair, Slot};
use super::interner::{Interner, Word};
use super::json_args;
use super::text::PushText;
use super::track::{self, Process, Thread, Track};
use crate::perfetto::field::{clock, clock_snapshot, defaults, event, flags, interned, legacy, packet, trace};
use crate::perfetto::wire::{Push, Small, varint_len};
use ferrum_trace_model::Value;
use std::io::{self, Write};

/// The number of the sequence of packets with tracks. trace_processor takes the last thread that a sequence describes for that of
/// its events on other tracks, and tells so in their arguments.
const TRACKS_SEQUENCE: u64 = 2;
/// Its clock, on which each time is the difference to the one before.
const CLOCK: u64 = clock::FIRST_OF_SEQUENCE;

/// A sequence of packets with events. Their state is their own: what one defines, the others do not know, and one that begins anew
/// forgets all that came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// All events of a trace, or a part of them that can be read without the others.
    Events = 1,
    /// Events on rows that are found one after the other.
    Lanes = 3,
    /// What comes last.
    Tail = 4,
}

/// Which point of something that may begin on one thread and end on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncPhase {
    /// Where it begins.
    Begin,
    /// Something in it.
    Instant,
    /// Where it ends.
    End,
}

/// Which point of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowPhase {
    /// Where it begins.
    Begin,
    /// What it passes through.
    Step,
    /// Where it ends.
    End,
}

/// Spells a trace, packet by packet, into bytes that the caller takes when there are enough.
///
/// Times are nanoseconds. They may go backwards, but those that do cost ten bytes more.
///
/// What `push_arg`, `push_json_args` and `push_flow` are given goes with the next event.
#[derive(Debug)]
pub struct Encoder {
    sequence: Sequence,
    out: Vec<u8>,
    last_time: u64,
    names: Interner,
    categories: Interner,
    arguments: Arguments,
    /// Definitions that go with the next event, or before.
    definitions: Vec<u8>,
    /// Fields that go with the next event.
    fields: Vec<u8>,
}

impl Encoder {
    /// A trace whose first event is at this time, or later.
    pub fn new(first_time: u64) -> Self {
        Self::begin_at(Sequence::Events, first_time, Vec::new())
    }

    /// The events of a sequence, or the next of them, as if there were none before. `memory` is what to write to, behind what is in it.
    pub fn on_sequence(sequence: Sequence, memory: Vec<u8>) -> Self {
        // One and the same time for all: trace_processor takes no clocks that go backwards.
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

    /// The packets that have been written and not been taken.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Hands over what has been written.
    ///
    /// # Errors
    ///
    /// If the writer has some.
    pub fn drain(&mut self, writer: &mut dyn Write) -> io::Result<()> {
        writer.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Moves what has been written behind what is in `out`.
    pub fn move_to(&mut self, out: &mut Vec<u8>) {
        if out.is_empty() {
            std::mem::swap(out, &mut self.out);
        } else {
            out.append(&mut self.out);
        }
    }

    /// Describes a process. `uuid` is any number but zero that no other track has; small ones are shorter.
    pub fn process(&mut self, uuid: u64, process: &Process<'_>) {
        self.descriptor(|out| track::of_process(out, uuid, process));
    }

    /// Describes a thread.
    pub fn thread(&mut self, uuid: u64, thread: &Thread<'_>) {
        self.descriptor(|out| track::of_thread(out, uuid, thread));
    }

    /// Describes any other row.
    pub fn track(&mut self, uuid: u64, track: &Track<'_>) {
        self.descriptor(|out| track::of_track(out, uuid, track));
    }

    /// The name of events, for use in any number of them.
    #[inline]
    pub fn name<'a>(&mut self, text: &'a str) -> Word<'a> {
        self.names.word(text, &mut self.definitions)
    }

    /// A category of events, for use in any number of them.
    #[inline]
    pub fn category<'a>(&mut self, text: &'a str) -> Word<'a> {
        self.categories.word(text, &mut self.definitions)
    }

    /// An argument of the next event.
    pub fn push_arg(&mut self, key: &str, value: &Value<'_>) {
        let mut pair = Pair { fields: &mut self.fields, definitions: &mut self.definitions };
        self.arguments.push(&mut pair, Slot::Argument(key), value);
    }

    /// The name of arguments, for use in any number of them.
    pub fn key<'a>(&mut self, text: &'a str) -> Word<'a> {
        self.arguments.key(text, &mut self.definitions)
    }

    /// An argument of the next event, by the number of its name.
    #[inline]
    pub fn push_known_arg(&mut self, key: u64, value: &Value<'_>) {
        let mut pair = Pair { fields: &mut self.fields, definitions: &mut self.definitions };
        self.arguments.push(&mut pair, Slot::Known(key), value);
    }

    /// All fields of a JSON object as arguments of the next event.
    pub fn push_json_args(&mut self, json: &[u8]) {
        let mut pair = Pair { fields: &mut self.fields, definitions: &mut self.definitions };
        json_args::push(&mut self.arguments, &mut pair, json);
    }

    /// An arrow that the next event begins or passes on.
    pub fn push_flow(&mut self, id: u64) {
        self.fields.push_fixed64(event::FLOW_IDS, id);
    }

    /// An arrow that ends at the next event.
    pub fn push_terminating_flow(&mut self, id: u64) {
        self.fields.push_fixed64(event::TERMINATING_FLOW_IDS, id);
    }

    /// A slice begins.
    #[inline]
    pub fn begin(&mut self, time: u64, track: u64, name: Word<'_>, category: Option<Word<'_>>) {
        self.named_event(time, event::SLICE_BEGIN, track, name, category);
    }

    /// The slice of this track that began last ends.
    #[inline]
    pub fn end(&mut self, time: u64, track: u64) {
        let mut head = Small::<48>::new();
        head.number(event::TYPE, event::SLICE_END);
        head.number(event::TRACK_UUID, track);
        self.event(time, head.as_slice());
    }

    /// A point in time.
    pub fn instant(&mut self, time: u64, track: u64, name: Word<'_>, category: Option<Word<'_>>) {
        self.named_event(time, event::INSTANT, track, name, category);
    }

    /// A value of a counter's track.
    pub fn counter(&mut self, time: u64, track: u64, value: f64) {
        let mut head = Small::<48>::new();
        head.number(event::TYPE, event::COUNTER);
        head.number(event::TRACK_UUID, track);
        self.fields.push_fixed64(event::DOUBLE_COUNTER_VALUE, value.to_bits());
        self.event(time, head.as_slice());
    }

    /// A value of a counter's track that is a whole number.
    pub fn int_counter(&mut self, time: u64, track: u64, value: i64) {
        let mut head = Small::<48>::new();
        head.number(event::TYPE, event::COUNTER);
        head.number(event::TRACK_UUID, track);
        head.number(event::COUNTER_VALUE, value as u64);
        self.event(time, head.as_slice());
    }

    /// A point of an arrow that has a time of its own: it binds to the slice of its track around it, or, at its end and
    /// unless `binds_to_enclosing`, to the one that begins next. Points of the same name, category and id are one arrow.
    ///
    /// Perfetto's own arrows (see [`push_flow`](Self::push_flow)) have no times but those of the slices they bind to.
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

    /// A point of something that may begin on one thread and end on another. Points of the same category and id are of one thing; the
    /// track tells the process.
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

    /// An event that track events have no type for.
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
            Word::Spelled(text) => self.fields.push_text(text_field, text),
        }
    }

    /// A packet with an event of these fields, and those that wait for it.
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

    /// What every event's packet begins with.
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
