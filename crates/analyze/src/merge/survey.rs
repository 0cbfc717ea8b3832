//! The first pass over an input: whose it is, what clock it has, and what it shares with others.

use super::handovers::HandOvers;
use super::marks::{Marks, Owner};
use super::open_marks::OpenMarks;
use super::parts::{Part, Recording};
use crate::check::events::PhaseRole;
use crate::fields::Fields;
use crate::kineto;
use ferrum_trace_format::chrome::read::{
    Event, EventSink, Loss, Losses, RowFinder, Scalar, Text, for_each_event_in_field, for_each_member, recording_of,
};
use ferrum_trace_model::vocab::about;
use ferrum_trace_model::{ProcessId, Recordings, Strings, Tracks};

/// Times from here on are of this century if they count from 1970, and of no trace if they do not: 2001 and later.
const EPOCH_NANOS: i64 = 1_000_000_000_000_000_000;

/// What ties the times of a file to other clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anchor {
    /// The name of the host.
    pub host: Option<String>,
    /// Which monotonic clock, and what it said at time zero of the file.
    pub monotonic: Option<(String, i64)>,
    /// What the time since 1970 was at time zero of the file.
    pub unix: Option<i64>,
}

/// What is known of an input.
#[derive(Debug, Default)]
pub struct Surveyed {
    /// Its texts.
    pub strings: Strings,
    /// Its processes and threads.
    pub tracks: Tracks,
    /// By track: whether something is shown on it.
    pub is_shown: Vec<bool>,
    /// By process: its rank, if the trace says so.
    pub ranks: Vec<Option<u32>>,
    /// The rank of all of it.
    pub rank: Option<u32>,
    /// Its clock.
    pub anchor: Anchor,
    /// Whether something of the recording is missing, so that what is counted in it is not what is counted in others: a ring
    /// that was overwritten, one file of several, events that were dropped.
    pub is_incomplete: bool,
    /// Which file of a rotating recording it is, if it is one.
    pub part: Option<Part>,
    /// Whether it has several groups of ranks.
    pub has_groups: bool,
    /// The first time and the last.
    pub span: Option<(i64, i64)>,
    /// Whether times are finer than microseconds.
    pub has_nanos: bool,
    /// Fields around the events.
    pub fields: Fields,
    /// How many events there are.
    pub n_events: u64,
    /// What could not be read.
    pub losses: Losses,
    /// Facts that the recorder states about the recordings in it.
    pub recordings: Recordings,
}

impl Surveyed {
    /// The rank of a process.
    pub fn rank_of(&self, process: ProcessId) -> Option<u32> {
        self.ranks.get(process.index()).copied().flatten().or(self.rank)
    }

    /// How many nanoseconds the end of something may be off for being written in microseconds.
    pub fn coarseness(&self) -> i64 {
        if self.has_nanos { 1 } else { 2_000 }
    }
}

/// The pass.
pub struct Survey<'a> {
    file: u32,
    rows: RowFinder,
    marks: &'a mut Marks,
    hand_overs: &'a mut HandOvers,
    open_marks: OpenMarks,
    seen: Surveyed,
}

impl<'a> Survey<'a> {
    /// Of the input at that place.
    pub fn new(file: u32, marks: &'a mut Marks, hand_overs: &'a mut HandOvers) -> Self {
        let (rows, open_marks, seen) = Default::default();
        Self { file, rows, marks, hand_overs, open_marks, seen }
    }

    /// What was found.
    pub fn finish(self) -> Surveyed {
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
        // Of a file that was merged before, those of its reference.
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

/// Ranks that labels tell, as our recorder and a merge before have written them.
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

/// What a value says that is no container.
fn scalar(value: &[u8]) -> String {
    let text = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let scalar = match text {
        Some(raw) => Scalar::Text(Text { raw, is_escaped: raw.contains(&b'\\') }),
        None => Scalar::Other(value),
    };
    scalar.decode().into_owned()
}
