//! Checks flows: joins their events, and finds those outside slices.

use super::events::{flow_number, is_flow_id};
use super::findings::Findings;
use super::labels::decoded;
use super::rule::Rule;
use super::rules::flows::{DUPLICATE_FLOW, FLOW_FAN_OUT, FLOW_OUTSIDE_SLICE, FLOW_WITHOUT_BP, FLOW_WITHOUT_START};
use ferrum_trace_format::chrome::read::Event;
use ferrum_trace_model::{Order, TrackId};
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// All events of flows of a file: 24 bytes each.
#[derive(Debug, Default)]
pub(crate) struct FlowLog {
    ends: Vec<FlowEnd>,
    hasher: DefaultHashBuilder,
    /// Largest numeric id.
    id_max: i64,
    is_sorted: bool,
}

#[derive(Clone, Copy, Debug)]
struct FlowEnd {
    time: i64,
    /// Hash of category, name and id; a collision of 64 bits is practically impossible.
    key: u64,
    order: Order,
    /// The track, and flag bits above it.
    track: u32,
}

const TRACK_BITS: u32 = 25;
const STEP: u32 = 1 << TRACK_BITS;
const FINISH: u32 = 2 << TRACK_BITS;
const HAS_BP: u32 = 4 << TRACK_BITS;
const HAS_TEXT_ID: u32 = 8 << TRACK_BITS;
const IS_INSIDE: u32 = 16 << TRACK_BITS;
/// A slice with `bind_id`.
const IS_SLICE: u32 = 64 << TRACK_BITS;
/// The event binds to the slice that begins next.
const BINDS_NEXT: u32 = 32 << TRACK_BITS;

impl FlowEnd {
    fn track(&self) -> u32 {
        self.track & ((1 << TRACK_BITS) - 1)
    }

    /// Sort rank among events of the same time. Slices of one time are not always written in file order, so begins come
    /// first.
    fn rank(&self) -> u32 {
        if self.is(IS_SLICE) { self.track & (STEP | FINISH) } else { 0 }
    }

    fn is(&self, bits: u32) -> bool {
        self.track & bits != 0
    }
}

/// Changes to flows.
#[derive(Debug, Default)]
pub(crate) struct FlowPlan {
    /// Events that are left out, and the reason.
    pub dropped: Vec<(Order, &'static Rule)>,
    /// Events that get another id.
    pub ids: Vec<(Order, i64)>,
    /// Begins that are written again with other ids.
    pub copies: Vec<(Order, i64)>,
    /// Events that move to the lane of the slice they are in.
    pub moved: Vec<(Order, u32)>,
    /// Ends that need `bp`.
    pub unbound: Vec<Order>,
}

impl FlowPlan {
    /// Returns the reason why an event is left out, if it is.
    pub(crate) fn dropped(&self, order: Order) -> Option<&'static Rule> {
        self.dropped.binary_search_by_key(&order, |&(other, _)| other).ok().map(|place| self.dropped[place].1)
    }

    /// Returns the new id of an event.
    pub(crate) fn id(&self, order: Order) -> Option<i64> {
        self.ids.binary_search_by_key(&order, |&(other, _)| other).ok().map(|place| self.ids[place].1)
    }

    /// Returns the ids with which a begin is written again.
    pub(crate) fn copies(&self, order: Order) -> impl Iterator<Item = i64> + '_ {
        let begin = self.copies.partition_point(|&(other, _)| other < order);
        self.copies[begin..].iter().take_while(move |&&(other, _)| other == order).map(|&(_, id)| id)
    }

    /// Returns the lane of an event.
    pub(crate) fn lane(&self, order: Order) -> u32 {
        self.moved.binary_search_by_key(&order, |&(other, _)| other).map_or(0, |place| self.moved[place].1)
    }

    /// Returns true if an end needs `bp`.
    pub(crate) fn needs_bp(&self, order: Order) -> bool {
        self.unbound.binary_search(&order).is_ok()
    }
}

impl FlowLog {
    /// Adds an event that has an id.
    pub(crate) fn add(&mut self, event: &Event<'_>, time: i64, track: TrackId, order: Order) {
        let Some(id) = event.id else {
            return;
        };
        self.id_max = self.id_max.max(flow_number(id).unwrap_or(0));
        let key = self.hasher.hash_one((decoded(event.category), decoded(event.name), id.decode()));
        let mut bits = match event.phase {
            b't' => STEP,
            b'f' => FINISH,
            _ => 0,
        };
        if event.binding_point.is_some_and(|point| point.plain() == Some(b"e")) {
            bits |= HAS_BP;
        }
        if !is_flow_id(id) {
            bits |= HAS_TEXT_ID;
        }
        let track = track.0 & ((1 << TRACK_BITS) - 1) | bits;
        self.ends.push(FlowEnd { time, key, order, track });
    }

    /// Adds a slice with `flow_in` or `flow_out`.
    pub(crate) fn add_slice(&mut self, event: &Event<'_>, time: i64, track: TrackId, order: Order) {
        let Some(id) = event.bind_id else {
            return;
        };
        let mut bits = match (event.flow_in, event.flow_out) {
            (false, true) => 0,
            (true, true) => STEP,
            (true, false) => FINISH,
            (false, false) => return,
        };
        self.id_max = self.id_max.max(flow_number(id).unwrap_or(0));
        if !is_flow_id(id) {
            bits |= HAS_TEXT_ID;
        }
        let key = self.hasher.hash_one(("bind_id", id.decode()));
        let track = track.0 & ((1 << TRACK_BITS) - 1) | bits | IS_SLICE | IS_INSIDE | HAS_BP;
        self.ends.push(FlowEnd { time, key, order, track });
    }

    /// Returns the flows of a track, to be bound while its slices are visited.
    pub(crate) fn of_track(&mut self, track: TrackId) -> FlowsOfTrack<'_> {
        if !self.is_sorted {
            self.ends.sort_unstable_by_key(|end| (end.track(), end.time, end.order));
            self.is_sorted = true;
        }
        let begin = self.ends.partition_point(|end| end.track() < track.0);
        let rest = &mut self.ends[begin..];
        let n = rest.partition_point(|end| end.track() == track.0);
        FlowsOfTrack { ends: &mut rest[..n], next: 0, lane_ends: Vec::new(), waiting: Vec::new(), moved: Vec::new() }
    }

    /// Joins the events and plans the changes, after all tracks have been visited.
    pub(crate) fn plan(mut self, mut moved: Vec<(Order, u32)>, findings: &mut Findings) -> FlowPlan {
        moved.sort_unstable();
        let mut plan = FlowPlan { moved, ..FlowPlan::default() };
        self.ends.sort_unstable_by_key(|end| (end.key, end.time, end.rank(), end.order));
        let mut next_id = self.id_max.saturating_add(1).max(1);
        for flow in self.ends.chunk_by(|one, other| one.key == other.key) {
            Chain {
                next_id: &mut next_id,
                plan: &mut plan,
                findings,
                start: Start::None,
                id: None,
                has_ended: false,
                is_id_used: false,
            }
            .follow(flow);
        }
        plan.dropped.sort_unstable_by_key(|&(order, _)| order);
        plan.ids.sort_unstable();
        plan.copies.sort_unstable();
        plan.unbound.sort_unstable();
        plan
    }
}

/// Flows of one track while its slices are visited.
pub(crate) struct FlowsOfTrack<'a> {
    ends: &'a mut [FlowEnd],
    next: usize,
    /// Latest end of a slice that has begun, by lane.
    lane_ends: Vec<i64>,
    /// Ends that bind to the slice that begins next.
    waiting: Vec<usize>,
    /// Events that are in another lane than the first.
    pub moved: Vec<(Order, u32)>,
}

impl FlowsOfTrack<'_> {
    /// Binds the events before `time`: all slices that begin before it are known.
    pub(crate) fn bind_before(&mut self, time: i64) {
        while let Some(end) = self.ends.get(self.next)
            && end.time < time
        {
            self.bind();
        }
    }

    /// Binds the events at `time` that precede an event in the file.
    pub(crate) fn bind_at(&mut self, time: i64, order: Order) {
        while let Some(end) = self.ends.get(self.next)
            && end.time == time
            && end.order < order
        {
            self.bind();
        }
    }

    /// Binds the next event to an open slice.
    fn bind(&mut self) {
        let end = &mut self.ends[self.next];
        if end.is(IS_SLICE) {
            self.next += 1;
            return;
        }
        match self.lane_ends.iter().position(|&lane_end| lane_end >= end.time) {
            Some(lane) => {
                end.track |= IS_INSIDE;
                if lane > 0 {
                    self.moved.push((end.order, lane as u32));
                }
            }
            None if end.is(FINISH) && !end.is(HAS_BP) => self.waiting.push(self.next),
            None => {}
        }
        self.next += 1;
    }

    /// Adds a slice of a lane that lasts until `end`.
    pub(crate) fn slice(&mut self, lane: u32, end: i64) {
        let lane = lane as usize;
        if self.lane_ends.len() <= lane {
            self.lane_ends.resize(lane + 1, i64::MIN);
        }
        self.lane_ends[lane] = self.lane_ends[lane].max(end);
        if lane == 0 {
            for waiting in self.waiting.drain(..) {
                self.ends[waiting].track |= BINDS_NEXT;
            }
        }
    }

    /// Binds the remaining events: all slices are known.
    pub(crate) fn finish(&mut self) {
        while self.next < self.ends.len() {
            self.bind();
        }
    }
}

/// The flow that is followed, among those that share category, name and id.
struct Chain<'a> {
    next_id: &'a mut i64,
    plan: &'a mut FlowPlan,
    findings: &'a mut Findings,
    start: Start,
    /// The new id, if it cannot keep its own.
    id: Option<i64>,
    has_ended: bool,
    /// True if an earlier flow had the same id.
    is_id_used: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// No begin yet.
    None,
    /// The begin is left out.
    Dropped,
    /// The begin is written.
    At(Order),
}

impl Chain<'_> {
    fn follow(mut self, flow: &[FlowEnd]) {
        for end in flow {
            if end.is(STEP | FINISH) { self.go_on(end) } else { self.start(end) }
        }
    }

    fn new_id(&mut self) -> i64 {
        let id = *self.next_id;
        *self.next_id = self.next_id.wrapping_add(1);
        id
    }

    fn start(&mut self, end: &FlowEnd) {
        if !end.is(IS_INSIDE) {
            self.start = Start::Dropped;
            return self.leave_out(end, &FLOW_OUTSIDE_SLICE);
        }
        if self.is_id_used {
            self.findings.note_order(&DUPLICATE_FLOW, end.order);
        }
        self.id = (self.is_id_used || end.is(HAS_TEXT_ID)).then(|| self.new_id());
        self.is_id_used = true;
        self.start = Start::At(end.order);
        self.has_ended = false;
        self.keep(end);
    }

    fn go_on(&mut self, end: &FlowEnd) {
        let is_bound = end.is(IS_INSIDE | BINDS_NEXT);
        let start = match self.start {
            Start::At(start) if is_bound => start,
            Start::At(_) | Start::Dropped if !is_bound => return self.leave_out(end, &FLOW_OUTSIDE_SLICE),
            _ => return self.leave_out(end, &FLOW_WITHOUT_START),
        };
        if self.has_ended && !end.is(IS_SLICE) {
            self.findings.note_order(&FLOW_FAN_OUT, end.order);
            let id = self.new_id();
            self.id = Some(id);
            self.plan.copies.push((start, id));
        }
        self.has_ended = end.is(FINISH);
        if end.is(FINISH) && end.is(IS_INSIDE) && !end.is(HAS_BP) {
            self.findings.note_order(&FLOW_WITHOUT_BP, end.order);
            self.plan.unbound.push(end.order);
        }
        self.keep(end);
    }

    fn leave_out(&mut self, end: &FlowEnd, rule: &'static Rule) {
        self.findings.note_order(rule, end.order);
        self.plan.dropped.push((end.order, rule));
    }

    fn keep(&mut self, end: &FlowEnd) {
        if let Some(id) = self.id {
            self.plan.ids.push((end.order, id));
        }
    }
}
