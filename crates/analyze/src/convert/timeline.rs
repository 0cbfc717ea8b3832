//! Plays what was collected, in the order of time.

use super::error::Error;
use super::hash::hash;
use super::ordered_lanes::{Due, LaneId, LanePosition, OrderedLanes, Owner};
use super::record::{EventKind, Record, time_of};
use ferrum_trace_format::spill_sort::SpillSort;
use ferrum_trace_model::{ProcessId, TrackId};

/// Whom a trace is played to. Of one lane, begins and ends come as if they were brackets, each at a time not before the last.
pub(super) trait Stage {
    /// Number of slices of a thread that may be inside of each other in one lane.
    const DEPTH_MAX: usize = usize::MAX;
    /// True if an arrow that ends in a slice, without saying that it binds to it, ends at that slice, as `repair` has it.
    const BINDS_TO_ENCLOSING: bool = false;

    /// A lane that will be used, the `nth` of its owner.
    fn lane(&mut self, lane: LaneId, owner: Owner, nth: u32) -> Result<(), Error>;
    /// Returns the process of a track, where asynchronous things are played.
    fn process_of(&self, _track: TrackId) -> ProcessId {
        ProcessId(0)
    }
    /// A slice begins.
    fn begin(&mut self, lane: LaneId, time: i64, slice: &Record<'_>) -> Result<(), Error>;
    /// What began last in a lane ends.
    fn end(&mut self, lane: LaneId, time: i64) -> Result<(), Error>;
    /// Something without a length. The lane is that of the slice around it, if it looks for one and there is one.
    fn point(&mut self, lane: Option<LaneId>, time: i64, point: &Record<'_>) -> Result<(), Error>;
    /// All of a track has been played, where tracks come one after the other: its lanes are gone.
    fn track_done(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// Plays records.
///
/// # Errors
///
/// If a temporary file cannot be read, or the stage says so.
pub(super) fn play<S: Stage>(items: SpillSort, stage: &mut S) -> Result<(), Error> {
    let mut player = Player { lanes: OrderedLanes::with_depth_max(S::DEPTH_MAX), due: Vec::new(), stage };
    let mut sorted = items.finish().map_err(Error::Spill)?;
    let mut major = None;
    while let Some((key, bytes)) = sorted.next().map_err(Error::Spill)? {
        let Some(record) = Record::read(bytes) else {
            continue;
        };
        if major.replace(key[0]).is_some_and(|major| major != key[0]) {
            player.finish()?;
        }
        player.play(time_of(&key), &record)?;
    }
    player.finish()
}

struct Player<'a, S> {
    lanes: OrderedLanes,
    due: Vec<Due>,
    stage: &'a mut S,
}

impl<S: Stage> Player<'_, S> {
    fn play(&mut self, time: i64, record: &Record<'_>) -> Result<(), Error> {
        // What ends at this very time may still be what a point belongs to.
        self.lanes.end_before(time, &mut self.due);
        self.tell_ends()?;
        match record.kind {
            EventKind::Slice => {
                let track = TrackId(record.row);
                let place = self.lanes.place_on_track(track, time, record.end, &mut self.due);
                self.begin(place, Owner::Track(track), time, record)
            }
            EventKind::AsyncSlice => {
                let (owner, group) = self.async_row(record);
                let place = self.lanes.place_async(owner, group, time, record.end, &mut self.due);
                self.begin(place, owner, time, record)
            }
            EventKind::AsyncInstant => self.async_instant(time, record),
            EventKind::FlowBegin | EventKind::FlowStep | EventKind::FlowEnd => {
                let lane = self.lanes.lane_around(TrackId(record.row), time);
                self.stage.point(lane, time, record)
            }
            EventKind::FlowEndAtNext if S::BINDS_TO_ENCLOSING => {
                let lane = self.lanes.lane_around(TrackId(record.row), time);
                let kind = if lane.is_some() { EventKind::FlowEnd } else { EventKind::FlowEndAtNext };
                self.stage.point(lane, time, &Record { kind, ..*record })
            }
            _ => self.stage.point(None, time, record),
        }
    }

    fn begin(&mut self, place: LanePosition, owner: Owner, time: i64, record: &Record<'_>) -> Result<(), Error> {
        self.tell_ends()?;
        if let Some(nth) = place.is_new {
            self.stage.lane(place.lane, owner, nth)?;
        }
        self.stage.begin(place.lane, time, record)
    }

    fn async_instant(&mut self, time: i64, record: &Record<'_>) -> Result<(), Error> {
        let (owner, group) = self.async_row(record);
        let lane = match self.lanes.lane_of_group(group) {
            Some(lane) => lane,
            None => {
                let place = self.lanes.place_point(owner);
                if let Some(nth) = place.is_new {
                    self.stage.lane(place.lane, owner, nth)?;
                }
                place.lane
            }
        };
        self.stage.point(Some(lane), time, record)
    }

    /// Lane of an async operation, and the group that it shares with others of its id. Ids may be the same in two processes.
    fn async_row(&self, record: &Record<'_>) -> (Owner, u64) {
        let process = self.stage.process_of(TrackId(record.row));
        (Owner::Async(process, hash(&record.name)), hash(&(process.0, record.group)))
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.lanes.end_all(&mut self.due);
        self.tell_ends()?;
        self.stage.track_done()
    }

    fn tell_ends(&mut self) -> Result<(), Error> {
        for (lane, time) in self.due.drain(..) {
            self.stage.end(lane, time)?;
        }
        Ok(())
    }
}
