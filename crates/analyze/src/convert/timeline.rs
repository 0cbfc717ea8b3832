//! Replays the collected records in time order.

use super::error::Error;
use super::hash::hash;
use super::ordered_lanes::{Due, LaneId, LanePosition, OrderedLanes, Owner};
use super::record::{EventKind, Record, time_of};
use ferrum_trace_format::spill_sort::SpillSort;
use ferrum_trace_model::{ProcessId, TrackId};

/// Receiver of the records. In each lane, begins and ends nest like brackets, in time order.
pub(super) trait TimelineSink {
    /// Maximum nesting depth of slices of a thread in one lane.
    const DEPTH_MAX: usize = usize::MAX;
    /// True if a flow that ends in a slice without `bp` ends at that slice, as in `repair`.
    const BINDS_TO_ENCLOSING: bool = false;

    /// Announces a lane, the `nth` of its owner.
    fn lane(&mut self, lane: LaneId, owner: Owner, nth: u32) -> Result<(), Error>;
    /// Returns the process of a track. Needed for async events only.
    fn process_of(&self, _track: TrackId) -> ProcessId {
        ProcessId(0)
    }
    /// Begins a slice.
    fn begin(&mut self, lane: LaneId, time: i64, slice: &Record<'_>) -> Result<(), Error>;
    /// Ends the slice of a lane that began last.
    fn end(&mut self, lane: LaneId, time: i64) -> Result<(), Error>;
    /// Adds an event without a duration. The lane is that of the slice around it, if it needs one and there is one.
    fn point(&mut self, lane: Option<LaneId>, time: i64, point: &Record<'_>) -> Result<(), Error>;
    /// Ends a track, if tracks are replayed one after the other: its lanes are gone.
    fn track_done(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// Replays records.
///
/// # Errors
///
/// Returns an error if a temporary file cannot be read, or if the sink fails.
pub(super) fn replay<S: TimelineSink>(items: SpillSort, sink: &mut S) -> Result<(), Error> {
    let mut replay = Replay { lanes: OrderedLanes::with_depth_max(S::DEPTH_MAX), due: Vec::new(), sink };
    let mut sorted = items.finish().map_err(Error::Spill)?;
    let mut major = None;
    while let Some((key, bytes)) = sorted.next().map_err(Error::Spill)? {
        let Some(record) = Record::read(bytes) else {
            continue;
        };
        if major.replace(key[0]).is_some_and(|major| major != key[0]) {
            replay.finish()?;
        }
        replay.replay(time_of(&key), &record)?;
    }
    replay.finish()
}

struct Replay<'a, S> {
    lanes: OrderedLanes,
    due: Vec<Due>,
    sink: &'a mut S,
}

impl<S: TimelineSink> Replay<'_, S> {
    fn replay(&mut self, time: i64, record: &Record<'_>) -> Result<(), Error> {
        // A slice that ends at this very time may still contain a point.
        self.lanes.end_before(time, &mut self.due);
        self.report_ends()?;
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
                self.sink.point(lane, time, record)
            }
            EventKind::FlowEndAtNext if S::BINDS_TO_ENCLOSING => {
                let lane = self.lanes.lane_around(TrackId(record.row), time);
                let kind = if lane.is_some() { EventKind::FlowEnd } else { EventKind::FlowEndAtNext };
                self.sink.point(lane, time, &Record { kind, ..*record })
            }
            _ => self.sink.point(None, time, record),
        }
    }

    fn begin(&mut self, place: LanePosition, owner: Owner, time: i64, record: &Record<'_>) -> Result<(), Error> {
        self.report_ends()?;
        if let Some(nth) = place.is_new {
            self.sink.lane(place.lane, owner, nth)?;
        }
        self.sink.begin(place.lane, time, record)
    }

    fn async_instant(&mut self, time: i64, record: &Record<'_>) -> Result<(), Error> {
        let (owner, group) = self.async_row(record);
        let lane = match self.lanes.lane_of_group(group) {
            Some(lane) => lane,
            None => {
                let place = self.lanes.place_point(owner);
                if let Some(nth) = place.is_new {
                    self.sink.lane(place.lane, owner, nth)?;
                }
                place.lane
            }
        };
        self.sink.point(Some(lane), time, record)
    }

    /// Returns the lane owner of an async operation, and the group that it shares with others of its id. Ids may be the
    /// same in two processes.
    fn async_row(&self, record: &Record<'_>) -> (Owner, u64) {
        let process = self.sink.process_of(TrackId(record.row));
        (Owner::Async(process, hash(&record.name)), hash(&(process.0, record.group)))
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.lanes.end_all(&mut self.due);
        self.report_ends()?;
        self.sink.track_done()
    }

    fn report_ends(&mut self) -> Result<(), Error> {
        for (lane, time) in self.due.drain(..) {
            self.sink.end(lane, time)?;
        }
        Ok(())
    }
}
