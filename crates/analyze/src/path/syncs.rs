//! Calls of the host that wait for device work.

use super::calls::{Blocking, blocks_its_caller, may_wait_for_device};
use super::node::Cause;
use super::ranks::Ranks;
use super::works::{CallId, Launch, Work, Works};
use crate::kineto::{CORRELATION, RUNTIMES};
use crate::structure::arg_reader::ArgReader;
use ferrum_trace_model::{StringId, Trace, TrackId};
use hashbrown::HashMap;

/// Argument of a wait: the stream that it waits for.
const WAIT_ON_STREAM: &str = "wait_on_stream";
/// Argument of a wait: the call that recorded the event that it waits for.
const RECORD_CORRELATION: &str = "wait_on_cuda_event_record_corr_id";
/// Names of the spans in which torch.profiler shows waits.
const STREAM_SYNC: &str = "Stream Sync";
const EVENT_SYNC: &str = "Event Sync";
const STREAM_WAIT: &str = "Stream Wait Event";

/// Arguments that tell what a call waits for. They must be loaded with the trace.
pub(crate) const SYNC_ARGS: [&str; 2] = [WAIT_ON_STREAM, RECORD_CORRELATION];

/// Longest time between the end of device work and the return of the call that waits for it.
const RETURN_MAX: i64 = 1_000_000;
/// Longest duration of a call that waits for nothing.
const CALL_MAX: i64 = 100_000;
/// Largest error of a device's clock that is tolerated.
const CLOCK_ERROR_MAX: i64 = 1_000_000;
/// Number of works whose launch is examined for one call.
const EXAMINED_MAX: usize = 64;

/// Call that waits for device work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sync {
    /// The call.
    pub(super) call: u32,
    /// Cause of the end of the wait.
    pub(super) wait: SyncWait,
}

/// Reason why a call took as long as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncWait {
    /// It waited for this work, which has ended at this time: within the error of the device's clock, no later than the
    /// wait.
    For { work: u32, cause: Cause, ended: i64 },
    /// It waited for something unknown.
    Unknown,
    /// It waited for device work that is not in the file.
    OutsideFile,
}

/// Dependency of device work on work of another stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamWait {
    /// Track of the stream that waits.
    pub(super) track: TrackId,
    /// Its work that is launched after this time waits.
    pub(super) called: i64,
    /// The work that it waits for.
    pub(super) work: u32,
}

/// Finds the calls that wait, and the waits between streams.
pub(super) fn find(trace: &Trace, ranks: &Ranks, works: &Works) -> (Vec<Sync>, Vec<StreamWait>) {
    let finder = Finder::of(trace, ranks, works);
    let runtimes = RUNTIMES.map(|category| trace.strings.find(category));
    let mut by_name: HashMap<(StringId, bool), Waiting> = HashMap::new();
    let mut correlation = ArgReader::of(trace, CORRELATION);
    let mut syncs = Vec::new();
    for (slice, (&name, &category)) in trace.slices.name.iter().zip(&trace.slices.category).enumerate() {
        if !works.is_host(trace, slice) {
            continue;
        }
        let is_call = runtimes.contains(&Some(category));
        let of_name = || Waiting::of(trace.strings.get(name), is_call);
        let waiting = *by_name.entry((name, is_call)).or_insert_with(of_name);
        let rank = ranks.of_track(trace, trace.slices.track[slice]);
        let wait = match waiting {
            Waiting::No => None,
            Waiting::Call(blocking) if blocking.is_synchronization() => {
                let id = correlation.get(trace.slices.order[slice]).map(|id| (rank, id));
                finder.synchronization(slice, rank, id)
            }
            Waiting::Call(blocking) => finder.copy(slice, blocking),
            Waiting::Span => finder.span(slice, rank),
        };
        syncs.extend(wait.map(|wait| Sync { call: slice as u32, wait }));
    }
    (syncs, finder.stream_waits())
}

/// Way in which slices of one name wait for device work.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    /// They do not.
    No,
    /// As calls of the runtime of a device.
    Call(Blocking),
    /// As spans of a program, if device work ends in them.
    Span,
}

impl Waiting {
    fn of(name: &str, is_call: bool) -> Self {
        match is_call {
            true => Blocking::of_call(name).map_or(Self::No, Self::Call),
            false if may_wait_for_device(name) => Self::Span,
            false => Self::No,
        }
    }
}

/// Indexes of device work.
struct Finder<'a> {
    trace: &'a Trace,
    works: &'a Works,
    /// Works by rank and end.
    by_end: HashMap<Option<u32>, Vec<(i64, u32)>>,
    /// Works of each call that copies.
    of_call: HashMap<u32, u32>,
    /// Waits that torch.profiler shows, by the call.
    shown: HashMap<CallId, Shown>,
}

/// A wait that torch.profiler shows.
#[derive(Clone, Copy, Debug)]
struct Shown {
    slice: u32,
    kind: ShownKind,
    /// Stream that is waited for.
    stream: Option<TrackId>,
    /// Call that recorded the event.
    record: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShownKind {
    /// The host waits.
    Host,
    /// A stream waits for another one.
    BetweenStreams,
}

impl<'a> Finder<'a> {
    fn of(trace: &'a Trace, ranks: &Ranks, works: &'a Works) -> Self {
        let mut by_end: HashMap<Option<u32>, Vec<(i64, u32)>> = HashMap::new();
        let mut of_call = HashMap::new();
        for (place, work) in works.all.iter().enumerate() {
            let end = trace.slices.end(work.slice as usize);
            by_end.entry(work.rank).or_default().push((end, place as u32));
            if let Launch::Call(call) = work.launch {
                of_call.insert(call, place as u32);
            }
        }
        for ends in by_end.values_mut() {
            ends.sort_unstable();
        }
        Self { trace, works, by_end, of_call, shown: shown(trace, ranks, works) }
    }

    /// Returns the wait of a call for its own copy; `None` if it did not wait.
    fn copy(&self, call: usize, blocking: Blocking) -> Option<SyncWait> {
        let work = *self.of_call.get(&(call as u32))?;
        let slices = &self.trace.slices;
        let copy = self.works.all[work as usize].slice as usize;
        let is_blocked = blocking == Blocking::Copy || blocks_its_caller(self.trace.strings.get(slices.name[copy]));
        let is_inside = slices.start[call] < slices.end(copy) && slices.end(copy) <= slices.end(call);
        let ended = slices.end(copy);
        (is_blocked && is_inside).then_some(SyncWait::For { work, cause: blocking.cause(), ended })
    }

    /// Returns the reason why a synchronization took as long as it did; `None` if it was busy itself.
    fn synchronization(&self, call: usize, rank: Option<u32>, id: Option<CallId>) -> Option<SyncWait> {
        let (begin, end) = (self.trace.slices.start[call], self.trace.slices.end(call));
        let shown = id.and_then(|id| self.shown.get(&id));
        let found = self.latest(rank, (begin, end), shown);
        match found.filter(|&work| end.saturating_sub(self.end(work)) <= RETURN_MAX) {
            Some(work) => Some(SyncWait::For { work, cause: Cause::Stream, ended: self.end(work) }),
            None if end.saturating_sub(begin) <= CALL_MAX => None,
            None if self.has_work_before(rank, end) => Some(SyncWait::Unknown),
            None => Some(SyncWait::OutsideFile),
        }
    }

    /// Returns the work that a span of a program waits for: the one that ended last within it and shortly before its
    /// end, of those that the same thread launched before it. By the clock of the device, it may have ended later, up
    /// to the error of that clock.
    fn span(&self, slice: usize, rank: Option<u32>) -> Option<SyncWait> {
        let (begin, end) = (self.trace.slices.start[slice], self.trace.slices.end(slice));
        let track = self.trace.slices.track[slice];
        let is_own = |work: &Work| matches!(work.launch, Launch::Flow(from, time) if from == track && time <= begin);
        let has_ended = |work: &Work| {
            let slice = work.slice as usize;
            let earliest_end = self.trace.slices.end(slice).saturating_sub(work.clock_error);
            earliest_end <= end && self.trace.slices.start[slice] < end
        };
        let is_meant = |&work: &u32| {
            let work = &self.works.all[work as usize];
            is_own(work) && has_ended(work)
        };
        let latest = end.saturating_add(CLOCK_ERROR_MAX);
        let work = self.ended_within(rank, (begin, latest)).find(is_meant)?;
        let ended = self.end(work).min(end);
        let is_shortly_before = end.saturating_sub(ended) <= RETURN_MAX;
        is_shortly_before.then_some(SyncWait::For { work, cause: Cause::Stream, ended })
    }

    fn end(&self, work: u32) -> i64 {
        self.trace.slices.end(self.works.all[work as usize].slice as usize)
    }

    fn has_work_before(&self, rank: Option<u32>, time: i64) -> bool {
        self.by_end.get(&rank).and_then(|ends| ends.first()).is_some_and(|&(end, _)| end <= time)
    }

    /// Returns the work that ended last within a call and was launched before it.
    fn latest(&self, rank: Option<u32>, (begin, end): (i64, i64), shown: Option<&Shown>) -> Option<u32> {
        let is_meant = |work: &Work| {
            let launched = self.works.launch_time(self.trace, work);
            let is_launched = launched.is_none_or(|time| time <= begin && self.is_recorded(time, shown));
            let stream = shown.and_then(|it| it.stream);
            is_launched && stream.is_none_or(|track| track == work.track)
        };
        self.ended_within(rank, (begin, end)).find(|&work| is_meant(&self.works.all[work as usize]))
    }

    /// Returns the latest works of a rank that ended within a time, the last first.
    fn ended_within(&self, rank: Option<u32>, (begin, end): (i64, i64)) -> impl Iterator<Item = u32> {
        let ends = self.by_end.get(&rank).map_or(&[][..], Vec::as_slice);
        let n_ended = ends.partition_point(|&(ended, _)| ended <= end);
        let inside = ends[..n_ended].iter().rev().take_while(move |(ended, _)| *ended > begin);
        inside.take(EXAMINED_MAX).map(|&(_, work)| work)
    }

    /// Returns true if work that was launched at this time is before the event that a wait is for.
    fn is_recorded(&self, launched: i64, shown: Option<&Shown>) -> bool {
        let record = shown.and_then(|it| it.record);
        record.is_none_or(|call| launched <= self.trace.slices.start[call as usize])
    }

    /// Returns the waits of streams for events of other streams.
    fn stream_waits(&self) -> Vec<StreamWait> {
        let between = self.shown.values().filter(|shown| shown.kind == ShownKind::BetweenStreams);
        let mut waits: Vec<StreamWait> = between.filter_map(|shown| self.stream_wait(shown)).collect();
        waits.sort_unstable_by_key(|wait| (wait.track, wait.called, wait.work));
        waits
    }

    fn stream_wait(&self, shown: &Shown) -> Option<StreamWait> {
        let recorded = self.trace.slices.start[shown.record? as usize];
        let stream = shown.stream?;
        let all = &self.works.all;
        let [from, to] =
            [TrackId(stream.0), TrackId(stream.0 + 1)].map(|it| all.partition_point(|work| work.track < it));
        // Work of a stream runs in the order of its launches.
        let is_before = |work: &Work| self.works.launch_time(self.trace, work).is_none_or(|time| time <= recorded);
        let work = from + all[from..to].partition_point(is_before).checked_sub(1)?;
        let (slice, track) = (shown.slice as usize, self.trace.slices.track[shown.slice as usize]);
        Some(StreamWait { track, called: self.trace.slices.start[slice], work: work as u32 })
    }
}

/// Returns the waits that torch.profiler shows, by their calls.
fn shown(trace: &Trace, ranks: &Ranks, works: &Works) -> HashMap<CallId, Shown> {
    let kinds =
        [(STREAM_SYNC, ShownKind::Host), (EVENT_SYNC, ShownKind::Host), (STREAM_WAIT, ShownKind::BetweenStreams)];
    let kinds = kinds.map(|(name, kind)| (trace.strings.find(name), kind));
    let mut args = [CORRELATION, WAIT_ON_STREAM, RECORD_CORRELATION].map(|key| ArgReader::of(trace, key));
    let mut found = HashMap::new();
    for (slice, &name) in trace.slices.name.iter().enumerate() {
        let Some(&(_, kind)) = kinds.iter().find(|(known, _)| *known == Some(name)) else { continue };
        let [id, stream, record] = args.each_mut().map(|reader| reader.get(trace.slices.order[slice]));
        let Some(id) = id else { continue };
        let track = trace.slices.track[slice];
        let rank = ranks.of_track(trace, track);
        let named = stream.and_then(|stream| {
            let tid = trace.strings.find(&stream.content(&trace.strings))?;
            trace.tracks.find(trace.tracks.get(track).process, Some(tid))
        });
        let own = (kind == ShownKind::Host && works.is_device_track[track.index()]).then_some(track);
        let record = record.and_then(|record| works.calls.get(&(rank, record)).copied());
        found.insert((rank, id), Shown { slice: slice as u32, kind, stream: named.or(own), record });
    }
    found
}
