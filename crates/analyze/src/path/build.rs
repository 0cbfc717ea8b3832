//! Builds the graph of a trace.

use super::collectives::{Collective, collectives};
use super::edges::Edges;
use super::graph::Graph;
use super::kinds::Kinds;
use super::messages::{Message, async_messages, flow_launches, flow_messages};
use super::node::{Cause, Node, NodeKind};
use super::ranks::Ranks;
use super::segments::{Cut, CutReason, Cutter};
use super::syncs::{self, StreamWait, Sync, SyncWait};
use super::works::{Launch, Work, Works};
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{Trace, TrackId};
use hashbrown::HashMap;

/// The graph of a trace, and the device work and ranks in it.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) graph: Graph,
    pub(crate) works: Works,
    pub(crate) ranks: Ranks,
    /// First node of each work.
    pub(crate) node_of_work: Vec<u32>,
}

impl Built {
    /// Returns the last node of a work: it has two if it waits for another rank.
    pub(super) fn last_node_of(&self, work: u32) -> u32 {
        last_node_of(&self.graph, &self.node_of_work, work)
    }
}

/// Returns the last node of a work: it has two if it waits for another rank.
pub(super) fn last_node_of(graph: &Graph, node_of_work: &[u32], work: u32) -> u32 {
    let first = node_of_work[work as usize];
    first + u32::from(matches!(graph.nodes[first as usize].kind, NodeKind::Wait(_)))
}

/// Builds the graph of a trace.
pub(crate) fn build(trace: &Trace, nesting: &Nesting) -> Built {
    let ranks = Ranks::of(trace);
    let mut messages = flow_messages(trace);
    let works = Works::of(trace, &ranks, &flow_launches(&messages));
    messages.extend(async_messages(trace));
    let to_thread = |it: &Message| !works.is_device_track[it.to.index()] && !works.is_device_track[it.from.index()];
    messages.retain(to_thread);
    let (syncs, stream_waits) = syncs::find(trace, &ranks, &works);
    let collectives = collectives(trace);
    let causes = Causes { messages, syncs, stream_waits, collectives };
    let mut builder = Builder::new(trace, &works, &causes);
    builder.add_nodes(nesting);
    let Builder { mut graph, targets, node_of_work, .. } = builder;
    let edges =
        Edges { trace, graph: &graph, works: &works, causes: &causes, targets: &targets, node_of_work: &node_of_work };
    (graph.edges, graph.outside) = (edges.all(), edges.works_from_outside());
    graph.find_typical();
    Built { graph, works, ranks, node_of_work }
}

/// Everything that makes one thread or stream depend on another.
#[derive(Debug)]
pub(super) struct Causes {
    pub(super) messages: Vec<Message>,
    pub(super) syncs: Vec<Sync>,
    pub(super) stream_waits: Vec<StreamWait>,
    pub(super) collectives: Vec<Collective>,
}

/// Cuts threads and streams into nodes.
struct Builder<'a> {
    trace: &'a Trace,
    works: &'a Works,
    causes: &'a Causes,
    graph: Graph,
    /// Messages with the times of the nodes that depend on them.
    targets: Vec<(u32, i64)>,
    node_of_work: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(trace: &'a Trace, works: &'a Works, causes: &'a Causes) -> Self {
        Self { trace, works, causes, graph: Graph::default(), targets: Vec::new(), node_of_work: Vec::new() }
    }

    fn add_nodes(&mut self, nesting: &Nesting) {
        let cuts = self.cuts();
        let kinds = Kinds::of(self.trace, self.works, &self.causes.syncs);
        let (barriers, ends) = (self.barriers(), self.ends());
        let mut cutter = Cutter::new(self.trace, &kinds);
        let (mut next_cut, mut next_work) = (0, 0);
        for (track, _) in self.trace.tracks.iter() {
            self.graph.first_of_track.push(cutter.nodes.len() as u32);
            let n_cuts = cuts[next_cut..].iter().take_while(|(on, _)| *on == track).count();
            let own: Vec<Cut> = cuts[next_cut..next_cut + n_cuts].iter().map(|(_, cut)| *cut).collect();
            next_cut += n_cuts;
            if !self.works.is_device_track[track.index()] {
                cutter.track(nesting, track, &own);
                continue;
            }
            while let Some(work) = self.works.all.get(next_work).filter(|work| work.track == track) {
                self.node_of_work.push(cutter.nodes.len() as u32);
                let waits_until = barriers.get(&work.slice).copied();
                let end = ends.get(&(next_work as u32)).copied();
                cutter.nodes.extend(device_nodes(self.trace, work, waits_until, end));
                next_work += 1;
            }
        }
        self.graph.first_of_track.push(cutter.nodes.len() as u32);
        (self.graph.nodes, self.targets) = (cutter.nodes, cutter.targets);
        self.graph.is_device_track.clone_from(&self.works.is_device_track);
    }

    /// Returns the cuts of all threads, by track and time.
    fn cuts(&self) -> Vec<(TrackId, Cut)> {
        let mut cuts = Vec::new();
        for (message, it) in self.causes.messages.iter().enumerate() {
            let message = message as u32;
            cuts.push((it.from, Cut { time: it.sent, reason: CutReason::Send }));
            cuts.push((it.to, Cut { time: it.sent, reason: CutReason::Wake { message, received: it.received } }));
            cuts.push((it.to, Cut { time: it.received, reason: CutReason::Receive { message, sent: it.sent } }));
        }
        let flows = self.works.all.iter().filter_map(|work| match work.launch {
            Launch::Flow(track, time) => Some((track, Cut { time, reason: CutReason::Send })),
            _ => None,
        });
        cuts.extend(flows);
        cuts.extend(self.causes.syncs.iter().filter_map(|sync| self.sync_cut(sync)));
        let barriers = self.barriers();
        let on_threads = barriers.iter().filter(|(slice, _)| self.works.is_host(self.trace, **slice as usize));
        cuts.extend(on_threads.map(|(&slice, &time)| {
            let track = self.trace.slices.track[slice as usize];
            (track, Cut { time, reason: CutReason::Caused { slice, cause: Cause::Rank } })
        }));
        cuts.sort_by_key(|(track, cut)| (*track, cut.time));
        cuts
    }

    fn sync_cut(&self, sync: &Sync) -> Option<(TrackId, Cut)> {
        let SyncWait::For { cause, ended, .. } = sync.wait else { return None };
        let track = self.trace.slices.track[sync.call as usize];
        let reason = CutReason::Caused { slice: sync.call, cause };
        Some((track, Cut { time: ended, reason }))
    }

    /// Returns the ends of works that a wait states more precisely than the device's clock.
    fn ends(&self) -> HashMap<u32, i64> {
        let of_sync = |sync: &Sync| match sync.wait {
            SyncWait::For { work, ended, .. } if ended < self.works.end(self.trace, work) => Some((work, ended)),
            _ => None,
        };
        self.causes.syncs.iter().filter_map(of_sync).collect()
    }

    /// Returns the time at which the last rank begins a collective, for the slices of ranks that wait for it.
    fn barriers(&self) -> HashMap<u32, i64> {
        let start = |slice: u32| self.trace.slices.start[slice as usize];
        let waits = self.causes.collectives.iter().flat_map(|it| {
            let last = start(it.last);
            it.slices.iter().filter(move |slice| start(**slice) < last).map(move |&slice| (slice, last))
        });
        waits.collect()
    }
}

/// Returns the nodes of a work: a wait for the last rank of a collective, if any, and the work.
fn device_nodes(
    trace: &Trace,
    work: &Work,
    waits_until: Option<i64>,
    ended: Option<i64>,
) -> impl Iterator<Item = Node> {
    let slice = work.slice as usize;
    let (start, end) = (trace.slices.start[slice], ended.unwrap_or(trace.slices.end(slice)));
    let node = |start, end, kind| Node { start, end, slice: work.slice, track: work.track, kind };
    let wait = waits_until.map(|time| node(start, time, NodeKind::Wait(Cause::Rank)));
    wait.into_iter().chain([node(waits_until.unwrap_or(start), end, NodeKind::Device)])
}
