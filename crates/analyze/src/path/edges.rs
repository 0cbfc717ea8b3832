//! Dependencies between nodes of different threads and streams.

use super::build::{Causes, last_node_of};
use super::graph::{Edge, EdgeKind, Graph, Point};
use super::node::{Cause, Node, NodeKind};
use super::syncs::SyncWait;
use super::works::{DELAY_MAX, Launch, Work, Works};
use crate::figures::gpu::DeviceKey;
use ferrum_trace_model::{Trace, TrackId};
use hashbrown::{HashMap, HashSet};

/// Number of participants up to which each one of a collective depends on each other one. Beyond, all depend on the
/// last one only.
const PAIRED_MAX: usize = 32;
/// Number of nodes with the same start that are examined.
const EXAMINED_MAX: usize = 64;

/// Finds the dependencies of a graph that has its nodes.
pub(super) struct Edges<'a> {
    pub(super) trace: &'a Trace,
    pub(super) graph: &'a Graph,
    pub(super) works: &'a Works,
    pub(super) causes: &'a Causes,
    /// Messages with the times of the nodes that depend on them.
    pub(super) targets: &'a [(u32, i64)],
    /// First node of each work.
    pub(super) node_of_work: &'a [u32],
}

impl Edges<'_> {
    /// Returns all dependencies other than the order on a track, by target.
    pub(super) fn all(&self) -> Vec<Edge> {
        let mut edges = Vec::with_capacity(self.works.all.len());
        edges.extend(self.messages());
        edges.extend(self.launches());
        edges.extend(self.syncs());
        edges.extend(self.stream_waits());
        edges.extend(self.overlapping_works());
        self.graph_launches(&mut edges);
        self.collectives(&mut edges);
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Returns the nodes of works whose cause is not in the file: their launch is not, or they are the first of their
    /// device and start too long after their launch.
    pub(super) fn works_from_outside(&self) -> Vec<u32> {
        let slices = &self.trace.slices;
        let first = self.first_of_devices();
        let all = &self.works.all;
        let is_first_of_stream = |place: usize| place == 0 || all[place - 1].track != all[place].track;
        let is_outside = |place: usize, work: &Work| match work.launch {
            Launch::OutsideFile => is_first_of_stream(place),
            Launch::Call(call) => {
                let delay = slices.start[work.slice as usize].saturating_sub(slices.end(call as usize));
                first.contains(&place) && delay > DELAY_MAX
            }
            Launch::Flow(..) | Launch::Unknown => false,
        };
        let outside = all.iter().enumerate().filter(|(place, work)| is_outside(*place, work));
        outside.map(|(place, _)| self.node_of_work[place]).collect()
    }

    /// Returns the first work of each device.
    fn first_of_devices(&self) -> HashSet<usize> {
        let start = |place: usize| self.trace.slices.start[self.works.all[place].slice as usize];
        let mut first: HashMap<DeviceKey, usize> = HashMap::new();
        for (place, work) in self.works.all.iter().enumerate() {
            let known = first.entry(work.device).or_insert(place);
            if start(place) < start(*known) {
                *known = place;
            }
        }
        first.into_values().collect()
    }

    fn node(&self, node: u32) -> &Node {
        &self.graph.nodes[node as usize]
    }

    /// Returns the node of a track that starts at a time.
    fn node_at(&self, track: TrackId, time: i64) -> Option<u32> {
        let node = self.graph.node_from(track, time)?;
        (self.node(node).start == time).then_some(node)
    }

    /// Returns the node with which a slice begins.
    fn begin_of(&self, slice: u32) -> Option<u32> {
        self.node_at(self.trace.slices.track[slice as usize], self.trace.slices.start[slice as usize])
    }

    /// Returns the node that follows the wait of a slice, which ends at this time.
    fn node_after_wait(&self, slice: u32, time: i64) -> Option<u32> {
        let first = self.node_at(self.trace.slices.track[slice as usize], time)?;
        let at_time = self.graph.nodes[first as usize..].iter().take_while(|node| node.start == time);
        let is_after = |node: &Node| node.slice == slice && !matches!(node.kind, NodeKind::Wait(_));
        let place = at_time.take(EXAMINED_MAX).position(is_after)?;
        Some(first + place as u32)
    }

    fn last_node_of(&self, work: u32) -> u32 {
        last_node_of(self.graph, self.node_of_work, work)
    }

    fn messages(&self) -> impl Iterator<Item = Edge> {
        self.targets.iter().filter_map(|&(message, time)| {
            let it = &self.causes.messages[message as usize];
            let (source, target) = (self.node_at(it.from, it.sent)?, self.node_at(it.to, time)?);
            let is_return = self.node(target).kind == NodeKind::Return(Cause::Thread);
            let kind = if is_return { EdgeKind::Caused(Cause::Thread) } else { EdgeKind::Message };
            Some(Edge { target, source, from: Point::Start, kind })
        })
    }

    fn launches(&self) -> impl Iterator<Item = Edge> {
        let works = self.works.all.iter().zip(self.node_of_work);
        works.filter_map(|(work, &target)| {
            let source = match work.launch {
                Launch::Call(call) => self.begin_of(call),
                Launch::Flow(track, time) => self.node_at(track, time),
                Launch::OutsideFile | Launch::Unknown => None,
            };
            Some(Edge { target, source: source?, from: Point::Start, kind: EdgeKind::Launch })
        })
    }

    fn syncs(&self) -> impl Iterator<Item = Edge> {
        self.causes.syncs.iter().filter_map(|sync| {
            let SyncWait::For { work, cause, ended } = sync.wait else { return None };
            let target = self.node_after_wait(sync.call, ended)?;
            let source = self.last_node_of(work);
            Some(Edge { target, source, from: Point::Finish, kind: EdgeKind::Caused(cause) })
        })
    }

    /// Returns the dependency of work on work of another stream or an earlier one of its stream, if that has ended.
    fn after(&self, source: u32, target: u32) -> Option<Edge> {
        let has_ended = self.node(source).end <= self.node(target).start;
        has_ended.then_some(Edge { target, source, from: Point::Finish, kind: EdgeKind::Stream })
    }

    fn stream_waits(&self) -> impl Iterator<Item = Edge> {
        self.causes.stream_waits.iter().filter_map(|wait| {
            let work = self.first_launched_after(wait.track, wait.called)?;
            self.after(self.last_node_of(wait.work), self.node_of_work[work])
        })
    }

    fn first_launched_after(&self, track: TrackId, time: i64) -> Option<usize> {
        let all = &self.works.all;
        let from = all.partition_point(|work| work.track < track);
        let to = all.partition_point(|work| work.track <= track);
        let is_before = |work: &Work| self.works.launch_time(self.trace, work).is_none_or(|it| it < time);
        let place = from + all[from..to].partition_point(is_before);
        (place < to).then_some(place)
    }

    /// Returns the dependencies of work on the work of its stream that ended last, if that did not start right before
    /// it.
    fn overlapping_works(&self) -> Vec<Edge> {
        let (mut edges, mut latest) = (Vec::new(), None::<u32>);
        for (work, it) in self.works.all.iter().enumerate() {
            let (first, last) = (self.node_of_work[work], self.last_node_of(work as u32));
            let on_stream = latest.filter(|&latest| self.node(latest).track == it.track);
            let not_adjacent = on_stream.filter(|&before| before + 1 < first);
            edges.extend(not_adjacent.and_then(|before| self.after(before, first)));
            latest = on_stream.filter(|&on| self.node(on).end > self.node(last).end).or(Some(last));
        }
        edges
    }

    /// Adds the dependencies between streams within one launch of a graph.
    fn graph_launches(&self, edges: &mut Vec<Edge>) {
        let of_call = |(work, it): (usize, &Work)| match it.launch {
            Launch::Call(call) => Some((call, work as u32)),
            _ => None,
        };
        let mut launched: Vec<(u32, u32)> = self.works.all.iter().enumerate().filter_map(of_call).collect();
        launched.sort_unstable();
        for launch in launched.chunk_by(|one, other| one.0 == other.0) {
            let track = |&(_, work): &(u32, u32)| self.works.all[work as usize].track;
            if launch.iter().any(|it| track(it) != track(&launch[0])) {
                let nodes: Vec<u32> = launch.iter().map(|&(_, work)| self.node_of_work[work as usize]).collect();
                self.order_by_end(&nodes, edges);
            }
        }
    }

    /// Makes each node depend on the one that ended last before it, if that is on another stream.
    fn order_by_end(&self, nodes: &[u32], edges: &mut Vec<Edge>) {
        let (mut by_start, mut by_end) = (nodes.to_vec(), nodes.to_vec());
        by_start.sort_unstable_by_key(|&it| (self.node(it).start, it));
        by_end.sort_unstable_by_key(|&it| (self.node(it).end, it));
        let mut ended = by_end.into_iter().peekable();
        let mut latest = None;
        for target in by_start {
            while let Some(source) = ended.next_if(|&source| self.node(source).end <= self.node(target).start) {
                latest = Some(source);
            }
            let elsewhere = latest.filter(|&source| self.node(source).track != self.node(target).track);
            edges.extend(elsewhere.and_then(|source| self.after(source, target)));
        }
    }

    /// Adds the dependencies of the ranks of a collective on the begin of the others.
    fn collectives(&self, edges: &mut Vec<Edge>) {
        let start = |slice: u32| self.trace.slices.start[slice as usize];
        for it in &self.causes.collectives {
            let last = start(it.last);
            for &slice in it.slices.iter().filter(|&&slice| start(slice) < last || slice == it.last) {
                let target = if slice == it.last { self.begin_of(slice) } else { self.node_after_wait(slice, last) };
                let Some(target) = target else { continue };
                let is_source = |&&other: &&u32| other != slice && (it.slices.len() <= PAIRED_MAX || other == it.last);
                let sources = it.slices.iter().filter(is_source).filter_map(|&other| self.begin_of(other));
                let kind = EdgeKind::Caused(Cause::Rank);
                edges.extend(sources.map(|source| Edge { target, source, from: Point::Start, kind }));
            }
        }
    }
}
