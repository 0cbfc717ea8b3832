//! Pairs the begins and ends of async events.

use super::findings::Findings;
use super::labels::{Labels, decoded};
use super::rules::asyncs::{CROSSED_ASYNC, SHARED_ASYNC_ID, UNMATCHED_ASYNC};
use crate::structure::nesting_lanes::NestingLanes;
use ferrum_trace_format::chrome::read::Event;
use ferrum_trace_model::{Order, ProcessId};
use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher;

/// All begins and ends of async slices: 32 bytes each.
#[derive(Debug, Default)]
pub(crate) struct AsyncLog {
    edges: Vec<AsyncEdge>,
    names: Labels,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy, Debug)]
struct AsyncEdge {
    /// Hash of category, scope, id, and the process if the id is local to it.
    key: u64,
    time: i64,
    order: Order,
    name: u32,
    process: u32,
    kind: AsyncKind,
    is_local: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AsyncKind {
    Begin,
    Point,
    End,
}

/// Changes to async events.
#[derive(Debug, Default)]
pub(crate) struct AsyncPlan {
    /// Ends without a begin.
    pub dropped: Vec<Order>,
    /// Begins without an end.
    pub unclosed: Vec<Order>,
    /// Events whose id becomes local to their process.
    pub local: Vec<Order>,
    /// Events that get a new id.
    pub ids: Vec<(Order, u32)>,
}

impl AsyncPlan {
    /// Returns true if the event is left out.
    pub(crate) fn is_dropped(&self, order: Order) -> bool {
        self.dropped.binary_search(&order).is_ok()
    }

    /// Returns true if the begin has no end.
    pub(crate) fn is_unclosed(&self, order: Order) -> bool {
        self.unclosed.binary_search(&order).is_ok()
    }

    /// Returns true if the id becomes local.
    pub(crate) fn is_local(&self, order: Order) -> bool {
        self.local.binary_search(&order).is_ok()
    }

    /// Returns the number that makes the new id different, if there is a new id.
    pub(crate) fn id(&self, order: Order) -> Option<u32> {
        self.ids.binary_search_by_key(&order, |&(other, _)| other).ok().map(|place| self.ids[place].1)
    }
}

impl AsyncLog {
    /// Adds an event that has an id.
    pub(crate) fn add(&mut self, event: &Event<'_>, time: i64, process: ProcessId, order: Order) {
        let Some((id, is_local)) = event.async_id() else {
            return;
        };
        let owner = is_local.then_some(process);
        let key = self.hasher.hash_one((decoded(event.category), decoded(event.id_scope), id, owner));
        let kind = match event.phase {
            b'b' | b'S' => AsyncKind::Begin,
            b'e' | b'F' => AsyncKind::End,
            _ => AsyncKind::Point,
        };
        let name = self.names.name(event);
        self.edges.push(AsyncEdge { key, time, order, name, process: process.0, kind, is_local });
    }

    /// Pairs the events, and plans the changes.
    pub(crate) fn plan(mut self, findings: &mut Findings) -> AsyncPlan {
        let mut plan = AsyncPlan::default();
        self.edges.sort_unstable_by_key(|edge| (edge.key, edge.time, edge.order));
        for of_id in self.edges.chunk_by(|one, other| one.key == other.key) {
            let pairing = Pairing::of(of_id);
            pairing.note_unmatched(&mut plan, findings);
            let shared = pairing.is_shared();
            if shared {
                findings.note_order(&SHARED_ASYNC_ID, of_id[0].order);
            }
            pairing.separate(shared, &mut plan, findings);
        }
        plan.dropped.sort_unstable();
        plan.unclosed.sort_unstable();
        plan.local.sort_unstable();
        plan.ids.sort_unstable();
        plan
    }
}

/// Begins and ends of one id, in time order.
struct Pairing<'a> {
    edges: &'a [AsyncEdge],
    /// Index of the partner of each event.
    other: Vec<Option<usize>>,
}

impl<'a> Pairing<'a> {
    /// Pairs the events. An end closes the innermost open begin of its name: of its own process, if there is one.
    fn of(edges: &'a [AsyncEdge]) -> Self {
        let mut other: Vec<Option<usize>> = vec![None; edges.len()];
        let mut of_process: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
        let mut of_name: HashMap<u32, Vec<usize>> = HashMap::new();
        for (n, edge) in edges.iter().enumerate() {
            match edge.kind {
                AsyncKind::Begin => {
                    of_process.entry((edge.name, edge.process)).or_default().push(n);
                    of_name.entry(edge.name).or_default().push(n);
                }
                AsyncKind::Point => {}
                AsyncKind::End => {
                    // Each begin is in both lists, and closed in one of them only.
                    let innermost = |open: Option<&mut Vec<usize>>| {
                        let open = open?;
                        while open.pop_if(|begin| other[*begin].is_some()).is_some() {}
                        open.pop()
                    };
                    let own = innermost(of_process.get_mut(&(edge.name, edge.process)));
                    if let Some(begin) = own.or_else(|| innermost(of_name.get_mut(&edge.name))) {
                        (other[begin], other[n]) = (Some(n), Some(begin));
                    }
                }
            }
        }
        Self { edges, other }
    }

    fn note_unmatched(&self, plan: &mut AsyncPlan, findings: &mut Findings) {
        for (edge, other) in self.edges.iter().zip(&self.other) {
            let list = match edge.kind {
                AsyncKind::Begin => &mut plan.unclosed,
                AsyncKind::End => &mut plan.dropped,
                AsyncKind::Point => continue,
            };
            if other.is_none() {
                findings.note_order(&UNMATCHED_ASYNC, edge.order);
                list.push(edge.order);
            }
        }
    }

    /// Returns true if the slice that begins here ends in another process.
    fn is_across(&self, n: usize) -> bool {
        self.other[n].is_some_and(|other| self.edges[other].process != self.edges[n].process)
    }

    /// Returns true if several processes use the id independently.
    fn is_shared(&self) -> bool {
        let mut own = (0..self.edges.len())
            .filter(|&n| self.edges[n].kind == AsyncKind::Begin && !self.edges[n].is_local && !self.is_across(n))
            .map(|n| self.edges[n].process);
        own.next().is_some_and(|first| own.any(|process| process != first))
    }

    /// Gives new ids to slices that overlap others partly. If the id is shared, the slices of each process are
    /// separated on their own, and slices across processes keep their id.
    fn separate(&self, is_shared: bool, plan: &mut AsyncPlan, findings: &mut Findings) {
        let mut lanes: HashMap<Option<u32>, NestingLanes> = HashMap::new();
        for (n, edge) in self.edges.iter().enumerate() {
            let owner = (is_shared && !self.is_across(n)).then_some(edge.process);
            if owner.is_some() {
                plan.local.push(edge.order);
            }
            if edge.kind != AsyncKind::Begin {
                continue;
            }
            // Indices in the list replace times. A slice without an end gets one after all others, the last begin
            // first.
            let end = self.other[n].unwrap_or(2 * self.edges.len() - n);
            let lane = lanes.entry(owner).or_default().place(n as i64, end as i64);
            if lane > 0 {
                findings.note_order(&CROSSED_ASYNC, edge.order);
                plan.ids.push((edge.order, lane));
                plan.ids.extend(self.other[n].map(|other| (self.edges[other].order, lane)));
            }
        }
    }
}
