//! Cuts the slices of a thread into nodes.
//!
//! Each moment belongs to the innermost slice. A node ends where a slice begins or ends, and at each cut: a moment at
//! which something outside of the thread interacts with it.
//!
//! ```text
//! outer   |----------------------|
//! inner       |---sync---|
//! cut                ^                the device work that `sync` waits for has ended
//! nodes   |---|--wait|---|-------|
//! ```

use super::node::{Cause, NONE, Node, NodeKind};
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{Trace, TrackId};

/// A moment at which the nodes of a thread are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) time: i64,
    pub(super) reason: CutReason,
}

/// Reason of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutReason {
    /// The thread sends a message.
    Send,
    /// A message is sent to the thread, which records it at `received`. The thread may wait for it.
    Wake { message: u32, received: i64 },
    /// The thread records a message, which was sent at `sent`.
    Receive { message: u32, sent: i64 },
    /// The cause of the wait of a slice arrives.
    Caused { slice: u32, cause: Cause },
}

/// Longest time between the end of a wait and the moment at which the thread records the message that ended it.
const RECORD_MAX: i64 = 100_000;

/// Properties of slices that the cutting needs.
pub(super) trait SliceKinds {
    /// Returns true if the slice is work of a thread.
    fn is_work(&self, slice: u32) -> bool;
    /// Returns the kind of the nodes of a slice.
    fn kind(&self, slice: u32) -> NodeKind;
}

/// Cuts the slices of one thread after the other.
pub(super) struct Cutter<'a, K> {
    pub(super) trace: &'a Trace,
    pub(super) kinds: &'a K,
    pub(super) nodes: Vec<Node>,
    /// Messages with the time of the node that depends on them.
    pub(super) targets: Vec<(u32, i64)>,
    open: Vec<Open>,
    track: TrackId,
    first: usize,
    now: i64,
}

/// An open slice.
#[derive(Clone, Copy, Debug)]
struct Open {
    slice: u32,
    start: i64,
    end: i64,
    kind: NodeKind,
}

impl<'a, K: SliceKinds> Cutter<'a, K> {
    pub(super) fn new(trace: &'a Trace, kinds: &'a K) -> Self {
        Self {
            trace,
            kinds,
            nodes: Vec::with_capacity(trace.slices.len()),
            targets: Vec::new(),
            open: Vec::new(),
            track: TrackId(0),
            first: 0,
            now: i64::MIN,
        }
    }

    /// Adds the nodes of a thread. The cuts must be sorted by time.
    pub(super) fn track(&mut self, nesting: &Nesting, track: TrackId, cuts: &[Cut]) {
        (self.track, self.first, self.now) = (track, self.nodes.len(), i64::MIN);
        self.open.clear();
        let (mut cuts, kinds) = (cuts.iter().peekable(), self.kinds);
        for &slice in nesting.of_track(track).iter().filter(|slice| kinds.is_work(**slice)) {
            let start = self.trace.slices.start[slice as usize];
            while let Some(cut) = cuts.next_if(|cut| cut.time < start) {
                self.cut(cut);
            }
            self.begin(slice, start);
        }
        for cut in cuts {
            self.cut(cut);
        }
        self.advance(i64::MAX);
    }

    fn begin(&mut self, slice: u32, start: i64) {
        self.advance(start);
        let end = self.trace.slices.end(slice as usize);
        // A slice that a later one overlaps partly ends there, as for self times.
        while self.open.pop_if(|top| top.end < end).is_some() {}
        let kind = self.kinds.kind(slice);
        if end > start {
            self.open.push(Open { slice, start, end, kind });
        } else {
            self.push(start, start, slice, kind);
        }
    }

    /// Adds the nodes up to a time.
    fn advance(&mut self, until: i64) {
        while let Some(&top) = self.open.last() {
            let end = top.end.min(until);
            if self.now.max(top.start) < end {
                self.push(self.now.max(top.start), end, top.slice, top.kind);
            }
            self.now = self.now.max(end);
            if top.end > until {
                break;
            }
            self.open.pop();
        }
        self.now = self.now.max(until);
    }

    fn push(&mut self, start: i64, end: i64, slice: u32, kind: NodeKind) {
        self.nodes.push(Node { start, end, slice, track: self.track, kind });
    }

    fn cut(&mut self, cut: &Cut) {
        self.advance(cut.time);
        match cut.reason {
            CutReason::Send => self.mark_point(cut.time),
            CutReason::Caused { slice, cause } => self.caused(cut.time, slice, cause),
            CutReason::Wake { message, received } => self.wake(cut.time, message, received),
            CutReason::Receive { message, sent } => self.receive(cut.time, message, sent),
        }
    }

    /// Adds a node without duration if no slice is open, so that a node starts at this time.
    fn mark_point(&mut self, time: i64) {
        if self.open.is_empty() {
            self.push(time, time, NONE, NodeKind::Host);
        }
    }

    fn caused(&mut self, time: i64, slice: u32, cause: Cause) {
        self.mark_waiting(slice, cause);
        match self.open.last_mut() {
            Some(top) if top.slice == slice => top.kind = after(top.kind, cause),
            _ => self.push(time, time, slice, after(NodeKind::Host, cause)),
        }
    }

    /// Makes the latest nodes of a slice a wait.
    fn mark_waiting(&mut self, slice: u32, cause: Cause) {
        let own = &mut self.nodes[self.first..];
        for node in own.iter_mut().rev().take_while(|node| node.slice == slice) {
            node.kind = NodeKind::Wait(cause);
        }
    }

    /// Ends the wait of the innermost slice if it waits and the message is recorded shortly after it.
    fn wake(&mut self, time: i64, message: u32, received: i64) {
        let Some(&top) = self.open.last() else { return };
        let is_waiting = matches!(top.kind, NodeKind::Uncaused | NodeKind::Lock | NodeKind::Return(Cause::Thread));
        if is_waiting && received <= top.end.saturating_add(RECORD_MAX) {
            self.caused(time, top.slice, Cause::Thread);
            self.targets.push((message, time));
        }
    }

    /// Adds a dependency on a message: of the outermost slice that began after it was sent, or of this moment.
    fn receive(&mut self, time: i64, message: u32, sent: i64) {
        self.mark_point(time);
        let outermost = self.open.iter().find(|open| open.start >= sent);
        self.targets.push((message, outermost.map_or(time, |open| open.start)));
    }
}

/// Returns the kind of the rest of a slice after the cause of its wait has arrived. A collective works then.
fn after(kind: NodeKind, cause: Cause) -> NodeKind {
    match cause {
        Cause::Rank => kind,
        _ => NodeKind::Return(cause),
    }
}
