//! Nodes of the graph: pieces of work, and waits.

use ferrum_trace_model::TrackId;

/// Index of no node or slice.
pub(crate) const NONE: u32 = u32::MAX;

/// A piece of work of a thread or of a device stream, or a part of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Start in the recording.
    pub(crate) start: i64,
    /// End in the recording.
    pub(crate) end: i64,
    /// Its slice: the innermost one at that time; [`NONE`] for a point between slices.
    pub(crate) slice: u32,
    /// Track of the thread or stream.
    pub(crate) track: TrackId,
    /// Its kind.
    pub(crate) kind: NodeKind,
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// Work of a thread.
    Host,
    /// A kernel or a copy.
    Device,
    /// Wait until the cause arrives. It takes no time of its own: the node after it starts when the cause has arrived.
    Wait(Cause),
    /// Time between the arrival of the cause and the end of the slice that waited.
    Return(Cause),
    /// Acquisition of a lock.
    Lock,
    /// Wait whose cause is unknown.
    Uncaused,
    /// Wait for device work that is not in the file.
    OutsideFile,
}

/// Cause that ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cause {
    /// Work on a device stream.
    Stream,
    /// A copy.
    Copy,
    /// Another thread.
    Thread,
    /// Another rank.
    Rank,
}

impl Node {
    /// Returns the time that the node takes after its start, if no dependency delays it.
    pub(crate) fn cost(&self) -> i64 {
        match self.kind {
            NodeKind::Wait(_) => 0,
            _ => self.end.saturating_sub(self.start),
        }
    }

    /// Returns the time from which the next node may start: the end, or the start of a wait.
    pub(crate) fn finish(&self) -> i64 {
        self.start.saturating_add(self.cost())
    }

    /// Returns true if the node is work of a device.
    pub(crate) fn is_device(&self) -> bool {
        self.kind == NodeKind::Device
    }
}
