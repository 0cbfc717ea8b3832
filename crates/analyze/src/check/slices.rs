//! Checks slices: pairs begins and ends, and finds slices that do not nest.
//!
//! The log has 20 bytes for each complete event, begin and end. When the file has been read, it is sorted by track, and
//! each track is visited once, in time order, together with its flows.

use super::flows::{FlowLog, FlowsOfTrack};
use super::rules::slices::{
    DEEP_NESTING, MISNAMED_END, OUTER_NOT_FIRST, OVERLAP, SHARED_START, UNCLOSED_BEGIN, UNMATCHED_END, UNORDERED_BE,
    ZERO_LENGTH_PAIR, ZERO_LENGTH_TIE,
};
use super::{findings::Findings, labels::Labels};
use crate::structure::nesting_lanes::NestingLanes;
use ferrum_trace_format::chrome::read::Event;
use ferrum_trace_model::{Order, TrackId};
use hashbrown::{HashMap, HashSet};
use std::cmp::Reverse;

/// Number of levels that Perfetto draws.
pub(crate) const DEPTH_MAX: usize = 512;

/// All complete events, begins and ends of a file.
#[derive(Debug, Default)]
pub(crate) struct SliceLog {
    entries: Vec<Entry>,
    /// Durations that do not fit into an entry.
    long: HashMap<Order, i64>,
    labels: Labels,
    /// Time of the last begin or end, by track.
    last_edge: Vec<i64>,
    unordered: HashSet<u32>,
}

/// A complete event, a begin, or an end.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The time in two halves, so that there is no padding.
    time: [u32; 2],
    /// Duration of a slice, or label of a begin or end.
    payload: u32,
    /// The track, with the kind in the two highest bits.
    track: u32,
    order: Order,
}

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Complete,
    Begin,
    End,
    /// An end with arguments.
    EndWithArgs,
}

/// Stands for the begin of an end without a begin.
const NO_BEGIN: Order = Order::MAX;

const TRACK_BITS: u32 = 30;
/// Marks a duration that is in the map of long ones.
const LONG: u32 = u32::MAX;

impl Entry {
    fn new(time: i64, payload: u32, track: TrackId, edge: Edge, order: Order) -> Self {
        let time = [(time >> 32) as u32, time as u32];
        Self { time, payload, track: track.0 & ((1 << TRACK_BITS) - 1) | (edge as u32) << TRACK_BITS, order }
    }

    fn time(&self) -> i64 {
        i64::from(self.time[0] as i32) << 32 | i64::from(self.time[1])
    }

    fn track(&self) -> u32 {
        self.track & ((1 << TRACK_BITS) - 1)
    }

    fn edge(&self) -> Edge {
        match self.track >> TRACK_BITS {
            0 => Edge::Complete,
            1 => Edge::Begin,
            2 => Edge::End,
            _ => Edge::EndWithArgs,
        }
    }
}

/// Changes to slices, so that they nest.
#[derive(Debug, Default)]
pub(crate) struct SlicePlan {
    /// Slices that are not in lane 0, by order.
    pub moved: Vec<(Order, u32)>,
    /// Number of lanes of the tracks that have several.
    pub n_lanes: HashMap<u32, u32>,
    /// Begins that become complete events, by order.
    pub joined: Vec<Joined>,
    /// Ends that are left out, with their begin, or [`NO_BEGIN`] if they have none. By order.
    pub ends: Vec<(Order, Order)>,
    /// Slices that must be written after another one that follows in the file: `(inner, outer)`, by order.
    pub waiting: Vec<(Order, Order)>,
}

/// A begin and its end, joined into a complete event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    /// The begin.
    pub begin: Order,
    /// Its duration.
    pub duration: i64,
    /// True if the end has arguments.
    pub has_end_args: bool,
    /// True if there is no end.
    pub is_unclosed: bool,
}

impl SlicePlan {
    /// Returns the lane of a slice.
    pub(crate) fn lane(&self, order: Order) -> u32 {
        self.moved.binary_search_by_key(&order, |&(moved, _)| moved).map_or(0, |place| self.moved[place].1)
    }

    /// Returns the complete event that replaces a begin.
    pub(crate) fn joined(&self, order: Order) -> Option<Joined> {
        self.joined.binary_search_by_key(&order, |joined| joined.begin).ok().map(|place| self.joined[place])
    }

    /// Returns the begin that an end is joined with if the end is left out: `Some(None)` if it has no begin.
    pub(crate) fn end(&self, order: Order) -> Option<Option<Order>> {
        let place = self.ends.binary_search_by_key(&order, |&(end, _)| end).ok()?;
        Some(Some(self.ends[place].1).filter(|&begin| begin != NO_BEGIN))
    }

    /// Returns the slice that must be written before this one.
    pub(crate) fn waits_for(&self, order: Order) -> Option<Order> {
        self.waiting.binary_search_by_key(&order, |&(inner, _)| inner).ok().map(|place| self.waiting[place].1)
    }
}

impl SliceLog {
    /// Adds a complete event with usable times.
    pub(crate) fn complete(&mut self, start: i64, duration: i64, track: TrackId, order: Order) {
        let payload = self.payload(order, duration);
        self.entries.push(Entry::new(start, payload, track, Edge::Complete, order));
    }

    /// Adds a begin or an end.
    pub(crate) fn edge(&mut self, event: &Event<'_>, time: i64, track: TrackId, order: Order, findings: &mut Findings) {
        if self.last_edge.len() <= track.index() {
            self.last_edge.resize(track.index() + 1, i64::MIN);
        }
        let last = &mut self.last_edge[track.index()];
        if time < *last {
            findings.note(&UNORDERED_BE, event);
            self.unordered.insert(track.0);
        }
        *last = (*last).max(time);
        let edge = match event.phase {
            b'B' => Edge::Begin,
            _ if event.args.is_some_and(|args| args.len() > 2) => Edge::EndWithArgs,
            _ => Edge::End,
        };
        let label = self.labels.label(event);
        self.entries.push(Entry::new(time, label, track, edge, order));
    }

    /// Returns true if there are no slices.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn payload(&mut self, order: Order, duration: i64) -> u32 {
        match u32::try_from(duration) {
            Ok(short) if short != LONG => short,
            _ => {
                self.long.insert(order, duration);
                LONG
            }
        }
    }

    fn end(&self, entry: &Entry) -> i64 {
        let duration = match entry.payload {
            LONG => self.long.get(&entry.order).copied().unwrap_or(0),
            short => i64::from(short),
        };
        entry.time().saturating_add(duration)
    }

    /// Finds slices that do not nest. `last` is the end of the trace. Flows are bound to the slices around them; those
    /// that are not in the first lane of their track are returned with their lane.
    pub(crate) fn plan(
        mut self,
        last: i64,
        flows: &mut FlowLog,
        findings: &mut Findings,
    ) -> (SlicePlan, Vec<(Order, u32)>) {
        let mut moved_flows = Vec::new();
        let mut plan = SlicePlan::default();
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by_key(|entry| (entry.track(), entry.time(), entry.order));
        let mut scratch = NestingLanes::with_depth_max(DEPTH_MAX);
        // From the last track to the first, so that the memory of visited tracks can be freed.
        while let Some(last_entry) = entries.last() {
            let track = last_entry.track();
            let begin = entries.partition_point(|entry| entry.track() < track);
            let of_track = &mut entries[begin..];
            let (n_slices, mut pairs) = self.pair(of_track, last, &mut plan, findings);
            let slices = &mut of_track[..n_slices];
            slices.sort_unstable_by_key(|slice| (slice.time(), Reverse(self.end(slice)), slice.order));
            let flows = flows.of_track(TrackId(track));
            scratch.clear();
            let (lanes, run) = (&mut scratch, Vec::new());
            let track_state = Track { log: &self, pairs: &mut pairs, plan: &mut plan, findings, lanes, flows, run };
            moved_flows.extend(track_state.place(slices));
            if scratch.len() > 1 {
                plan.n_lanes.insert(track, scratch.len());
            }
            pairs.join(&of_track[..n_slices], &self, &mut plan);
            entries.truncate(begin);
            if entries.len() < entries.capacity() / 2 {
                entries.shrink_to_fit();
            }
        }
        plan.moved.sort_unstable();
        plan.joined.sort_unstable_by_key(|joined| joined.begin);
        plan.ends.sort_unstable();
        plan.waiting.sort_unstable();
        (plan, moved_flows)
    }

    /// Turns the begins and ends of a track, which are in time order, into slices. The slices are put in front. Returns
    /// their number, and the pairs.
    fn pair(
        &mut self,
        of_track: &mut [Entry],
        last: i64,
        plan: &mut SlicePlan,
        findings: &mut Findings,
    ) -> (usize, Pairs) {
        let is_unordered = self.unordered.contains(&of_track[0].track());
        let mut pairs = Pairs::default();
        let mut open: Vec<usize> = Vec::new();
        let mut n_slices = 0;
        for n in 0..of_track.len() {
            let entry = of_track[n];
            match entry.edge() {
                Edge::Complete => {}
                Edge::Begin => open.push(n_slices),
                Edge::End | Edge::EndWithArgs => {
                    match open.pop() {
                        Some(begin) => {
                            let begin = &mut of_track[begin];
                            let is_misnamed = !self.labels.is_end_of(begin.payload, entry.payload);
                            if is_misnamed {
                                findings.note_order(&MISNAMED_END, entry.order);
                            }
                            begin.payload = self.payload(begin.order, entry.time().saturating_sub(begin.time()));
                            pairs.add(begin.order, &entry, is_misnamed || is_unordered);
                        }
                        None => {
                            findings.note_order(&UNMATCHED_END, entry.order);
                            plan.ends.push((entry.order, NO_BEGIN));
                        }
                    }
                    continue;
                }
            }
            of_track[n_slices] = entry;
            n_slices += 1;
        }
        for begin in open {
            let begin = &mut of_track[begin];
            findings.note_order(&UNCLOSED_BEGIN, begin.order);
            begin.payload = self.payload(begin.order, last.saturating_sub(begin.time()).max(0));
            pairs.unclosed.insert(begin.order);
        }
        pairs.sort();
        (n_slices, pairs)
    }
}

/// Pairs of begins and ends of one track.
#[derive(Debug, Default)]
struct Pairs {
    /// `(begin, end, end has arguments)`, by begin.
    pairs: Vec<(Order, Order, bool)>,
    unclosed: HashSet<Order>,
    /// Begins that have to become complete events.
    joined: HashSet<Order>,
}

impl Pairs {
    fn add(&mut self, begin: Order, end: &Entry, is_joined: bool) {
        self.pairs.push((begin, end.order, end.edge() == Edge::EndWithArgs));
        if is_joined {
            self.joined.insert(begin);
        }
    }

    fn sort(&mut self) {
        self.pairs.sort_unstable();
    }

    fn is_begin(&self, order: Order) -> bool {
        self.pairs.binary_search_by_key(&order, |&(begin, ..)| begin).is_ok()
    }

    /// Returns the end of a begin, if the end has arguments.
    fn end_with_args(&self, order: Order) -> Option<Order> {
        let place = self.pairs.binary_search_by_key(&order, |&(begin, ..)| begin).ok()?;
        let (_, end, has_args) = self.pairs[place];
        has_args.then_some(end)
    }

    /// Adds to the plan the begins that become complete events.
    fn join(self, slices: &[Entry], log: &SliceLog, plan: &mut SlicePlan) {
        if self.joined.is_empty() && self.unclosed.is_empty() {
            return;
        }
        for slice in slices.iter().filter(|slice| slice.edge() == Edge::Begin) {
            let begin = slice.order;
            let is_unclosed = self.unclosed.contains(&begin);
            if !is_unclosed && !self.joined.contains(&begin) {
                continue;
            }
            let pair =
                self.pairs.binary_search_by_key(&begin, |&(begin, ..)| begin).ok().map(|place| self.pairs[place]);
            let has_end_args = pair.is_some_and(|(.., has_args)| has_args);
            let duration = log.end(slice).saturating_sub(slice.time());
            plan.joined.push(Joined { begin, duration, has_end_args, is_unclosed });
            plan.ends.extend(pair.map(|(begin, end, _)| (end, begin)));
        }
    }
}

/// One track while its slices are placed.
struct Track<'a> {
    log: &'a SliceLog,
    pairs: &'a mut Pairs,
    plan: &'a mut SlicePlan,
    findings: &'a mut Findings,
    lanes: &'a mut NestingLanes,
    flows: FlowsOfTrack<'a>,
    /// Known slices that begin at the same time, outer ones first.
    run: Vec<RunSlice>,
}

#[derive(Clone, Copy)]
struct RunSlice {
    lane: u32,
    start: i64,
    end: i64,
    order: Order,
    is_begin: bool,
}

impl Track<'_> {
    fn place(mut self, slices: &[Entry]) -> Vec<(Order, u32)> {
        // Begins and ends that will be joined are complete events too.
        let has_complete = slices.iter().any(|slice| !self.is_pair(slice.order, slice.edge() == Edge::Begin));
        for slice in slices {
            let (start, end, order) = (slice.time(), self.log.end(slice), slice.order);
            if self.run.first().is_some_and(|first| first.start != start) {
                self.finish_run();
            }
            let is_begin = slice.edge() == Edge::Begin;
            if is_begin && has_complete && start == end {
                self.findings.note_order(&ZERO_LENGTH_PAIR, order);
                self.join(order, is_begin);
            }
            let lane = self.lanes.place(start, end);
            if lane > 0 {
                let rule = if self.lanes.is_too_deep(0, end) { &DEEP_NESTING } else { &OVERLAP };
                self.findings.note_order(rule, order);
                self.plan.moved.push((order, lane));
                self.join(order, is_begin);
            }
            self.run.push(RunSlice { lane, start, end, order, is_begin });
        }
        self.finish_run();
        self.flows.finish();
        self.flows.moved
    }

    /// Decides in which order the slices of one begin are written, and binds flows to them. All slices that begin at
    /// this time are known.
    fn finish_run(&mut self) {
        let mut run = std::mem::take(&mut self.run);
        let Some(start) = run.first().map(|slice| slice.start) else {
            return;
        };
        self.flows.bind_before(start);
        if run.len() > 1 {
            self.note_zero_length_ties(&run);
            run.sort_by_key(|slice| slice.lane);
            for of_lane in run.chunk_by(|one, other| one.lane == other.lane) {
                self.join_misordered(of_lane);
                self.join_shared_starts(of_lane);
                self.order_after_outer(of_lane);
            }
        }
        for slice in &run {
            let is_pair = self.is_pair(slice.order, slice.is_begin);
            if is_pair {
                // An event before a `B` of the same time is not in it.
                self.flows.bind_at(start, slice.order);
            }
            // Perfetto ends a slice that began with `B` before it binds flows of the same time.
            self.flows.slice(slice.lane, if is_pair { slice.end.saturating_sub(1).max(start) } else { slice.end });
        }
        run.clear();
        self.run = run;
    }

    fn note_zero_length_ties(&mut self, run: &[RunSlice]) {
        for slice in run.iter().filter(|slice| slice.start == slice.end && !slice.is_begin) {
            self.findings.note_order(&ZERO_LENGTH_TIE, slice.order);
        }
    }

    /// Returns true if a slice is written as begin and end.
    fn is_pair(&self, order: Order, is_begin: bool) -> bool {
        is_begin && !self.pairs.joined.contains(&order) && self.pairs.is_begin(order)
    }

    fn join(&mut self, order: Order, is_begin: bool) {
        if is_begin {
            self.pairs.joined.insert(order);
        }
    }

    /// Joins slices that begin together if the outer one is not written first.
    fn join_misordered(&mut self, of_lane: &[RunSlice]) {
        let mut latest = of_lane[0];
        for slice in &of_lane[1..] {
            if latest.order > slice.order {
                self.findings.note_order(&OUTER_NOT_FIRST, slice.order);
                self.join(slice.order, slice.is_begin);
                self.join(latest.order, latest.is_begin);
            } else {
                latest = *slice;
            }
        }
    }

    /// Joins begins at the time of a complete event, which Perfetto treats as the outer one, regardless of its
    /// position.
    fn join_shared_starts(&mut self, of_lane: &[RunSlice]) {
        let mut shortest_complete = i64::MAX;
        for slice in of_lane.iter().rev() {
            if !self.is_pair(slice.order, slice.is_begin) {
                shortest_complete = shortest_complete.min(slice.end);
            } else if shortest_complete < slice.end {
                self.findings.note_order(&SHARED_START, slice.order);
                self.join(slice.order, true);
            }
        }
    }

    /// Makes slices wait for outer ones that follow in the file.
    fn order_after_outer(&mut self, of_lane: &[RunSlice]) {
        let mut outer = of_lane[0].order;
        let mut outer_written_at = self.written_at(&of_lane[0]);
        for slice in &of_lane[1..] {
            let mut written_at = self.written_at(slice);
            if outer_written_at > written_at {
                // A begin that waits would come after its end.
                self.join(slice.order, slice.is_begin);
                written_at = self.written_at(slice);
            }
            if outer_written_at > written_at {
                self.plan.waiting.push((slice.order, outer));
            }
            outer = slice.order;
            outer_written_at = outer_written_at.max(written_at);
        }
    }

    /// Returns the event after which a slice can be written: its end, if the arguments of that are joined to those of
    /// the begin.
    fn written_at(&self, slice: &RunSlice) -> Order {
        let is_joined = slice.is_begin && self.pairs.joined.contains(&slice.order);
        let end = is_joined.then(|| self.pairs.end_with_args(slice.order)).flatten();
        end.map_or(slice.order, |end| end.max(slice.order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_returns_the_values_it_was_made_from() {
        for time in [0, 1, -1, i64::MIN, i64::MAX, 1 << 32, -(1 << 33) + 5] {
            for edge in [Edge::Complete, Edge::Begin, Edge::End, Edge::EndWithArgs] {
                let entry = Entry::new(time, 7, TrackId(12), edge, 3);
                assert_eq!((entry.time(), entry.track(), entry.edge()), (time, 12, edge));
            }
        }
        assert_eq!(size_of::<Entry>(), 20);
    }
}
