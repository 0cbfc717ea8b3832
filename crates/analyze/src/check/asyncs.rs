//! Asynchronous events: which begin belongs to which end.

use super::findings::Findings;
use super::labels::{Labels, decoded};
use super::rules::asyncs::{CROSSED_ASYNC, SHARED_ASYNC_ID, UNMATCHED_ASYNC};
use ferrum_trace_format::chrome::read::{Event, for_each_member};
use ferrum_trace_model::{Order, ProcessId};
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// All begins and ends of asynchronous slices: 32 bytes each.
#[derive(Debug, Default)]
pub struct AsyncLog {
    edges: Vec<AsyncEdge>,
    names: Labels,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy, Debug)]
struct AsyncEdge {
    /// Of category, scope, id, and the process if the id is local to it.
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

/// What has to be done to asynchronous events.
#[derive(Debug, Default)]
pub struct AsyncPlan {
    /// Ends without a begin.
    pub dropped: Vec<Order>,
    /// Begins without an end.
    pub unclosed: Vec<Order>,
    /// Those whose id becomes local to its process.
    pub local: Vec<Order>,
    /// Those that get an id of their own.
    pub ids: Vec<(Order, u32)>,
}

impl AsyncPlan {
    /// Whether one is left out.
    pub fn is_dropped(&self, order: Order) -> bool {
        self.dropped.binary_search(&order).is_ok()
    }

    /// Whether one has to be ended.
    pub fn is_unclosed(&self, order: Order) -> bool {
        self.unclosed.binary_search(&order).is_ok()
    }

    /// Whether the id of one becomes local.
    pub fn is_local(&self, order: Order) -> bool {
        self.local.binary_search(&order).is_ok()
    }

    /// What the id of one is made different by.
    pub fn id(&self, order: Order) -> Option<u32> {
        self.ids.binary_search_by_key(&order, |&(other, _)| other).ok().map(|place| self.ids[place].1)
    }
}

impl AsyncLog {
    /// Notes an event that has an id.
    pub fn add(&mut self, event: &Event<'_>, time: i64, process: ProcessId, order: Order) {
        let Some((id, is_local)) = id(event) else {
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

    /// Finds out which belong together.
    pub fn plan(mut self, findings: &mut Findings) -> AsyncPlan {
        let mut plan = AsyncPlan::default();
        self.edges.sort_unstable_by_key(|edge| (edge.key, edge.time, edge.order));
        for of_id in self.edges.chunk_by_mut(|one, other| one.key == other.key) {
            if is_shared(of_id) {
                findings.note_order(&SHARED_ASYNC_ID, of_id[0].order);
                plan.local.extend(of_id.iter().map(|edge| edge.order));
                of_id.sort_by_key(|edge| edge.process);
                for of_process in of_id.chunk_by(|one, other| one.process == other.process) {
                    pair(of_process, &mut plan, findings);
                }
            } else {
                pair(of_id, &mut plan, findings);
            }
        }
        plan.dropped.sort_unstable();
        plan.unclosed.sort_unstable();
        plan.local.sort_unstable();
        plan.ids.sort_unstable();
        plan
    }
}

/// The id of an asynchronous event, and whether it is one of its process only.
pub fn id(event: &Event<'_>) -> Option<(String, bool)> {
    if let Some(id2) = event.id2 {
        let mut found = None;
        for_each_member(id2, |key, value| match key.raw {
            b"local" => found = Some((value.decode().into_owned(), true)),
            b"global" => found = Some((value.decode().into_owned(), false)),
            _ => {}
        });
        if found.is_some() {
            return found;
        }
    }
    event.id.map(|id| (id.decode().into_owned(), false))
}

/// Whether several processes use an id each for itself: all that one of them begins, it ends.
fn is_shared(of_id: &[AsyncEdge]) -> bool {
    let first = of_id[0].process;
    if of_id[0].is_local || of_id.iter().all(|edge| edge.process == first) {
        return false;
    }
    let mut balances: Vec<(u32, i64, u64)> = Vec::new();
    for edge in of_id {
        let place = match balances.iter().position(|&(process, ..)| process == edge.process) {
            Some(place) => place,
            None => {
                balances.push((edge.process, 0, 0));
                balances.len() - 1
            }
        };
        let (_, balance, n_begins) = &mut balances[place];
        match edge.kind {
            AsyncKind::Begin => (*balance, *n_begins) = (*balance + 1, *n_begins + 1),
            AsyncKind::End => *balance -= 1,
            AsyncKind::Point => {}
        }
    }
    let n_beginners = balances.iter().filter(|&&(_, _, n_begins)| n_begins > 0).count();
    n_beginners > 1 && balances.iter().all(|&(_, balance, _)| balance == 0)
}

/// Pairs the begins and ends of one id: an end closes the innermost open begin of its name.
fn pair(of_id: &[AsyncEdge], plan: &mut AsyncPlan, findings: &mut Findings) {
    let mut open: Vec<&AsyncEdge> = Vec::new();
    for edge in of_id {
        match edge.kind {
            AsyncKind::Begin => open.push(edge),
            AsyncKind::Point => {}
            AsyncKind::End => match open.iter().rposition(|begin| begin.name == edge.name) {
                Some(place) => {
                    if place + 1 < open.len() {
                        // Those above will end later: the one that ends now is not around them.
                        findings.note_order(&CROSSED_ASYNC, open[place].order);
                        let id = plan.ids.len() as u32;
                        plan.ids.extend([(open[place].order, id), (edge.order, id)]);
                    }
                    open.remove(place);
                }
                None => {
                    findings.note_order(&UNMATCHED_ASYNC, edge.order);
                    plan.dropped.push(edge.order);
                }
            },
        }
    }
    for begin in open {
        findings.note_order(&UNMATCHED_ASYNC, begin.order);
        plan.unclosed.push(begin.order);
    }
}
