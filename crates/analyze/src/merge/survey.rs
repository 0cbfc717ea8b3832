//! First pass over an input: its processes, its clock, and the events that it shares with others.

use super::handovers::HandOvers;
use super::marks::{Marks, Owner};
use super::open_marks::OpenMarks;
use super::parts::{Part, Recording};
use crate::check::events::PhaseRole;
use crate::kineto;
use crate::rewrite::fields::Fields;
use ferrum_trace_format::chrome::read::{
    Event, EventSink, Loss, Losses, RowFinder, Scalar, Text, for_each_event_in_field, for_each_member, recording_of,
};
use ferrum_trace_model::vocab::about;
use ferrum_trace_model::{ProcessId, Recordings, Strings, Tracks};

/// Times from here on count from 1970 and are of 2001 or later: no trace is that long.
const EPOCH_NANOS: i64 = 1_000_000_000_000_000_000;

/// Relation of the times of a file to other clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Anchor {
    /// The name of the host.
    pub host: Option<String>,
    /// Id of the monotonic clock, and its value at time zero of the file.
    pub monotonic: Option<(String, i64)>,
    /// Time since 1970 at time zero of the file.
    pub unix: Option<i64>,
}

/// Result of the first pass.
#[derive(Debug, Default)]
pub(super) struct Surveyed {
    /// Its texts.
    pub strings: Strings,
    /// Its processes and threads.
    pub tracks: Tracks,
    /// True, by track, if something is shown on it.
    pub is_shown: Vec<bool>,
    /// Rank of each process, if the trace states it.
    pub ranks: Vec<Option<u32>>,
    /// The rank of the whole input.
    pub rank: Option<u32>,
    /// Its clock.
    pub anchor: Anchor,
    /// True if a part of the recording is missing, so that counts differ from those of other inputs: an overwritten
    /// ring, one part of several, dropped events.
    pub is_incomplete: bool,
    /// Its part of a rotating recording, if it is one.
    pub part: Option<Part>,
    /// True if it has several process groups.
    pub has_groups: bool,
    /// First and last time.
    pub span: Option<(i64, i64)>,
    /// True if times are finer than microseconds.
    pub has_nanos: bool,
    /// Fields around the events.
    pub fields: Fields,
    /// Number of events.
    pub n_events: u64,
    /// Losses of the reader.
    pub losses: Losses,
    /// Metadata that the recorder wrote about the recordings.
    pub recordings: Recordings,
}

impl Surveyed {
    /// Returns the rank of a process.
    pub(super) fn rank_of(&self, process: ProcessId) -> Option<u32> {
        self.ranks.get(process.index()).copied().flatten().or(self.rank)
    }

    /// Returns the error of the end of an event, in nanoseconds, if times are written in microseconds.
    pub(super) fn coarseness(&self) -> i64 {
        if self.has_nanos { 1 } else { 2_000 }
    }
}

/// State of the first pass.
pub(super) struct Survey<'a> {
    file: u32,
    rows: RowFinder,
    marks: &'a mut Marks,
    hand_overs: &'a mut HandOvers,
    open_marks: OpenMarks,
    seen: Surveyed,
}

impl<'a> Survey<'a> {
    /// Starts the pass over the input with index `file`.
    pub(super) fn new(file: u32, marks: &'a mut Marks, hand_overs: &'a mut HandOvers) -> Self {
        let (rows, open_marks, seen) = Default::default();
        Self { file, rows, marks, hand_overs, open_marks, seen }
    }

    /// Returns the result.
    pub(super) fn finish(self) -> Surveyed {
        let mut seen = self.seen;
        seen.ranks.resize(seen.tracks.processes().len(), None);
        seen.is_shown.resize(seen.tracks.len(), false);
        label_ranks(&mut seen);
        if seen.anchor.unix.is_none() && seen.span.is_some_and(|(first, _)| first >= EPOCH_NANOS) {
            seen.anchor.unix = Some(0);
        }
        seen
    }

    fn metadata(&mut self, event: &Event<'_>) {
        let Self { rows, seen, .. } = self;
        if rows.describe(event, &mut seen.strings, &mut seen.tracks) {
            return;
        }
        let process = rows.process(event, &mut seen.strings, &mut seen.tracks);
        let Some(facts) = recording_of(event) else {
            return;
        };
        set_rank(&mut seen.ranks, process, facts.rank);
        seen.is_incomplete |= facts.has_losses() || facts.part.is_some();
        let (boot_id, monotonic) = (facts.boot_id, facts.start_monotonic_ns);
        if let (Some(start_monotonic_ns), Some(pid), Some(number)) = (monotonic, facts.pid, facts.part) {
            let recording = Recording { boot_id: boot_id.clone(), start_monotonic_ns, pid };
            seen.part.get_or_insert(Part { recording, number });
        }
        let found = Anchor { host: facts.host, monotonic: boot_id.zip(monotonic), unix: facts.start_unix_ns };
        // For a file that was merged before, those of its reference.
        if seen.anchor.monotonic.is_none() && (found.monotonic.is_some() || seen.anchor == Anchor::default()) {
            seen.anchor = found;
        }
    }

    fn note_time(&mut self, event: &Event<'_>, time: i64) {
        let end = event.end().unwrap_or(time).max(time);
        let (first, last) = self.seen.span.unwrap_or((time, end));
        self.seen.span = Some((first.min(time), last.max(end)));
        self.seen.has_nanos |= time % 1000 != 0;
    }
}

fn set_rank(ranks: &mut Vec<Option<u32>>, process: ProcessId, rank: Option<u32>) {
    if ranks.len() <= process.index() {
        ranks.resize(process.index() + 1, None);
    }
    ranks[process.index()] = rank.or(ranks[process.index()]);
}

/// Sets ranks from labels that our recorder or an earlier merge wrote.
fn label_ranks(seen: &mut Surveyed) {
    let Surveyed { strings, tracks, ranks, .. } = seen;
    for (process, of_process) in tracks.processes() {
        let labels = of_process.labels.map_or("", |labels| strings.get(labels));
        let rank = labels.split(", ").find_map(|label| label.strip_prefix(about::RANK_LABEL)?.parse().ok());
        if ranks[process.index()].is_none() {
            ranks[process.index()] = rank;
        }
    }
}

impl EventSink for Survey<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.seen.n_events += 1;
        let kind = PhaseRole::of(event);
        match kind {
            PhaseRole::Missing => return,
            PhaseRole::Metadata => return self.metadata(event),
            _ => {}
        }
        let track = self.rows.track(event, &mut self.seen.strings, &mut self.seen.tracks);
        if kind.is_on_thread() {
            if self.seen.is_shown.len() <= track.index() {
                self.seen.is_shown.resize(track.index() + 1, false);
            }
            self.seen.is_shown[track.index()] = true;
        }
        let Some(time) = event.start.nanos() else {
            return;
        };
        self.note_time(event, time);
        match kind {
            PhaseRole::Complete => {
                let process = self.seen.tracks.get(track).process.0;
                self.marks.look(event, Owner { file: self.file, process });
            }
            PhaseRole::Begin | PhaseRole::End => {
                let process = self.seen.tracks.get(track).process.0;
                if let Some((mark, begin)) = self.open_marks.look(event, track, time) {
                    self.marks.add(mark, Owner { file: self.file, process }, begin, time);
                }
            }
            PhaseRole::Flow | PhaseRole::Async => self.hand_overs.look(event, self.file),
            _ => {}
        }
    }

    fn loss(&mut self, loss: Loss) {
        self.seen.losses.push(loss);
    }

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        if for_each_event_in_field(key, value, |event| self.event(event)) {
            return;
        }
        match &*key.decode() {
            kineto::BASE_TIME => self.seen.anchor.unix = scalar(value).parse().ok().or(self.seen.anchor.unix),
            kineto::HOST_NAME => self.seen.anchor.host = Some(scalar(value)),
            kineto::DISTRIBUTED => for_each_member(value, |key, value| match &*key.decode() {
                kineto::RANK => self.seen.rank = value.decode().parse().ok(),
                kineto::GROUP_COUNT => self.seen.has_groups = value.decode().parse().is_ok_and(|n: u64| n > 1),
                _ => {}
            }),
            _ => {}
        }
        self.seen.fields.push(key, value);
    }
}

/// Returns the text of a value that is neither an object nor a list.
fn scalar(value: &[u8]) -> String {
    let text = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let scalar = match text {
        Some(raw) => Scalar::Text(Text { raw, is_escaped: raw.contains(&b'\\') }),
        None => Scalar::Other(value),
    };
    scalar.decode().into_owned()
}
