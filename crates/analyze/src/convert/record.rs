//! Serialized form of an event in the sorter.

use ferrum_trace_format::spill_sort::Key;

/// End of a slice without an end.
pub(super) const NEVER: i64 = i64::MAX;

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum EventKind {
    /// A slice of a track.
    Slice,
    /// An async slice.
    AsyncSlice,
    /// An instant of a track, of a process, and of the whole trace.
    Instant,
    ProcessInstant,
    GlobalInstant,
    /// An async instant.
    AsyncInstant,
    /// Values of a counter.
    Counter,
    /// Points of a flow.
    FlowBegin,
    FlowStep,
    FlowEnd,
    /// The end of a flow at the slice that begins next.
    FlowEndAtNext,
    /// Metadata of a process or a thread, for [`Wanted::Events`](super::collect::Wanted::Events).
    Metadata,
    /// The end of a slice; only before begins and ends are paired.
    End,
}

const KINDS: [EventKind; 13] = [
    EventKind::Slice,
    EventKind::AsyncSlice,
    EventKind::Instant,
    EventKind::ProcessInstant,
    EventKind::GlobalInstant,
    EventKind::AsyncInstant,
    EventKind::Counter,
    EventKind::FlowBegin,
    EventKind::FlowStep,
    EventKind::FlowEnd,
    EventKind::FlowEndAtNext,
    EventKind::Metadata,
    EventKind::End,
];

/// Flow that is bound to a slice itself (`bind_id`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Binding {
    /// True if the flow ends here, or passes through.
    pub is_in: bool,
    /// True if the flow begins here, or passes through.
    pub is_out: bool,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    /// Kind of the event.
    pub kind: EventKind,
    /// Index of its track; of process events and counters, index of the process.
    pub row: u32,
    /// Its end; of a point, its time.
    pub end: i64,
    /// Hash that joins it with others of its flow or async operation.
    pub group: u64,
    /// Direction of a flow that is bound to this slice; `group` is that flow.
    pub binding: Binding,
    /// Its name.
    pub name: &'a str,
    /// Its category; empty if it has none.
    pub category: &'a str,
    /// Id in the file of an async event; of a flow, the number that Perfetto reads from its id.
    pub id: &'a str,
    /// Its arguments as JSON; empty if it has none.
    pub args: &'a [u8],
    /// Arguments of its end.
    pub end_args: &'a [u8],
}

/// Bytes before the texts: kind, binding, row, end, group, and five lengths.
const HEAD_BYTES: usize = 1 + 1 + 4 + 8 + 8 + 5 * 4;

impl<'a> Record<'a> {
    /// Appends the serialized record to `out`.
    pub(super) fn push_to(&self, out: &mut Vec<u8>) {
        out.push(self.kind as u8);
        out.push(u8::from(self.binding.is_in) | u8::from(self.binding.is_out) << 1);
        out.extend_from_slice(&self.row.to_le_bytes());
        out.extend_from_slice(&self.end.to_le_bytes());
        out.extend_from_slice(&self.group.to_le_bytes());
        for part in self.parts() {
            // Events are at most 64 MiB.
            out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        }
        for part in self.parts() {
            out.extend_from_slice(part);
        }
    }

    fn parts(&self) -> [&'a [u8]; 5] {
        [self.name.as_bytes(), self.category.as_bytes(), self.id.as_bytes(), self.args, self.end_args]
    }

    /// Reads a record that [`push_to`](Self::push_to) wrote; `None` if the bytes are not one.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (head, mut rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let word = |at: usize| head[at..].first_chunk::<4>().map(|word| u32::from_le_bytes(*word));
        let long = |at: usize| head[at..].first_chunk::<8>().map(|long| u64::from_le_bytes(*long));
        let mut parts = [&[][..]; 5];
        for (n, part) in parts.iter_mut().enumerate() {
            (*part, rest) = rest.split_at_checked(word(22 + 4 * n)? as usize)?;
        }
        let [name, category, id, args, end_args] = parts;
        let [name, category, id] = [name, category, id].map(|text| std::str::from_utf8(text).unwrap_or_default());
        Some(Self {
            kind: *KINDS.get(usize::from(head[0]))?,
            row: word(2)?,
            end: long(6)? as i64,
            group: long(14)?,
            binding: Binding { is_in: head[1] & 1 != 0, is_out: head[1] & 2 != 0 },
            name,
            category,
            id,
            args,
            end_args,
        })
    }

    /// Returns the sort rank among events of the same time. Ends of flows that bind to the next slice come first, then
    /// slices, outer ones before inner ones, then points, and flows from their begins to their ends.
    fn rank(&self) -> u64 {
        const POINTS: u64 = u64::MAX - 8;
        match self.kind {
            EventKind::FlowEndAtNext => 0,
            EventKind::Slice | EventKind::AsyncSlice => (!sortable(self.end)).clamp(1, POINTS - 1),
            EventKind::FlowBegin => POINTS + 1,
            EventKind::FlowStep => POINTS + 2,
            EventKind::FlowEnd => POINTS + 3,
            _ => POINTS,
        }
    }

    /// Returns the sort key. `major` comes before the time; `order` is the position in the file.
    pub(super) fn key(&self, major: u64, time: i64, order: u64) -> Key {
        [major, sortable(time), self.rank(), order]
    }
}

/// Returns a number that sorts like the time.
fn sortable(time: i64) -> u64 {
    time as u64 ^ 1 << 63
}

/// Returns the time of a key.
pub(super) fn time_of(key: &Key) -> i64 {
    (key[1] ^ 1 << 63) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(end: i64) -> Record<'static> {
        Record {
            kind: EventKind::Slice,
            row: 7,
            end,
            group: 9,
            binding: Binding { is_in: true, is_out: false },
            name: "näme",
            category: "",
            id: "0x1",
            args: b"{}",
            end_args: b"{\"a\":1}",
        }
    }

    #[test]
    fn a_record_is_read_back_unless_it_is_truncated() {
        for (n, &kind) in KINDS.iter().enumerate() {
            assert_eq!(kind as usize, n);
            let mut bytes = Vec::new();
            Record { kind, ..slice(-5) }.push_to(&mut bytes);
            assert_eq!(format!("{:?}", Record::read(&bytes).unwrap()), format!("{:?}", Record { kind, ..slice(-5) }));
            for len in 0..bytes.len() {
                assert!(Record::read(&bytes[..len]).is_none());
            }
        }
    }

    #[test]
    fn at_the_same_time_outer_slices_come_first_and_points_last() {
        let at = |kind, end| Record { kind, ..slice(end) }.key(0, -3, 0);
        let keys = [
            Record { kind: EventKind::Slice, ..slice(0) }.key(0, -4, 9),
            at(EventKind::FlowEndAtNext, -3),
            at(EventKind::Slice, NEVER),
            at(EventKind::Slice, 10),
            at(EventKind::Slice, 5),
            at(EventKind::Slice, -3),
            at(EventKind::Instant, -3),
            at(EventKind::FlowBegin, -3),
            at(EventKind::FlowStep, -3),
            at(EventKind::FlowEnd, -3),
            Record { kind: EventKind::FlowEndAtNext, ..slice(0) }.key(0, -2, 0),
        ];
        assert!(keys.is_sorted());
        assert_eq!(time_of(&keys[3]), -3);
    }
}
