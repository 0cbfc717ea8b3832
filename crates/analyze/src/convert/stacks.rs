//! Self times by stack: a tree of names.

use super::collect::{Collected, Wanted, collect};
use super::error::Error;
use super::ordered_lanes::{LaneId, Owner};
use super::record::{NEVER, Record};
use super::summary::Summary;
use super::timeline::{TimelineSink, replay};
use crate::flame_graph::Frames;
use crate::visible::{REPLACEMENT, is_hidden};
use ferrum_trace_model::{StringId, Strings, Tracks};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::io::Read;

/// Maximum number of different stacks, at about 100 bytes each for the table entry and the name.
const NODES_MAX: usize = 1 << 20;

/// Maximum number of frames of a stack, process and thread included. Deeper frames are replaced by one frame, named
/// [`DEEPER`]: a line repeats all frames of its stack, so without a bound the output grows with the square of the
/// depth.
const DEPTH_MAX: u32 = 512;

/// Name of the frame that replaces all frames below the deepest.
const DEEPER: &str = "(deeper frames)";

/// Maximum total length of the lines of all stacks: a few long names in many stacks give long lines again and again.
const LINES_BYTES_MAX: u64 = 256 << 20;

/// Index of a stack.
type NodeId = u32;

/// The empty stack, which all others begin with.
const ROOT: NodeId = 0;

struct Node {
    parent: NodeId,
    name: StringId,
    /// The category of its first slice.
    category: StringId,
    self_ns: i64,
    n_slices: u32,
    /// Number of frames of its stack.
    depth: u32,
    /// Length of the line of its stack, at most [`LINES_BYTES_MAX`].
    line_bytes: u32,
}

impl Node {
    fn new(parent: NodeId, (name, category): (StringId, StringId)) -> Self {
        Self { parent, name, category, self_ns: 0, n_slices: 0, depth: 0, line_bytes: 0 }
    }
}

/// Stacks with their self times. A stack begins with process and thread.
pub(super) struct Stacks {
    nodes: Vec<Node>,
    children: HashMap<(NodeId, StringId), NodeId>,
    /// Names in the spelling of the output.
    names: Strings,
    /// Total length of the lines of all stacks.
    lines_bytes: u64,
}

/// Reads the stacks of a trace.
pub(super) fn read(input: impl Read) -> Result<(Stacks, Summary), Error> {
    let Collected { items, strings, tracks, n_events, left, losses, recordings, .. } =
        collect(input, Wanted::SlicesByTrack)?;
    let mut sink = StacksSink {
        stacks: Stacks::new(),
        tracks: &tracks,
        strings: &strings,
        lanes: Vec::new(),
        summary: Summary { n_events, left, losses, recordings, ..Summary::default() },
    };
    replay(items, &mut sink)?;
    // Only new stacks are looked up.
    sink.stacks.children = HashMap::new();
    Ok((sink.stacks, sink.summary))
}

impl Stacks {
    fn new() -> Self {
        let root = Node::new(ROOT, (StringId::EMPTY, StringId::EMPTY));
        Self { nodes: vec![root], children: HashMap::new(), names: Strings::default(), lines_bytes: 0 }
    }

    /// Visits every stack with a self time: its names joined by semicolons, and the time.
    pub(super) fn for_each<E>(&self, mut take: impl FnMut(&str, i64) -> Result<(), E>) -> Result<(), E> {
        let mut path = Vec::new();
        let mut line = String::new();
        for node in self.nodes.iter().filter(|node| node.self_ns > 0) {
            self.path_to(node, &mut path);
            line.clear();
            for (n, &name) in path.iter().rev().enumerate() {
                if n > 0 {
                    line.push(';');
                }
                line.push_str(self.names.get(name));
            }
            take(&line, node.self_ns)?;
        }
        Ok(())
    }

    /// Collects the names of a stack, the last one first.
    fn path_to(&self, node: &Node, path: &mut Vec<StringId>) {
        path.clear();
        path.push(node.name);
        let mut at = node.parent;
        while at != ROOT {
            let node = &self.nodes[at as usize];
            path.push(node.name);
            at = node.parent;
        }
    }

    /// Returns the stack with one more name; `None` if there are too many already. A new stack gets the category.
    fn child(&mut self, parent: NodeId, name: &str, category: &str) -> Option<NodeId> {
        let is_full = self.nodes.len() >= NODES_MAX || self.lines_bytes >= LINES_BYTES_MAX;
        let name = clean(name);
        let name = if is_full { self.names.find(&name)? } else { self.names.intern(&name) };
        if let Some(&child) = self.children.get(&(parent, name)) {
            return Some(child);
        }
        if is_full {
            return None;
        }
        let child = self.nodes.len() as NodeId;
        let Node { depth, line_bytes, .. } = self.nodes[parent as usize];
        let line_bytes = u64::from(line_bytes) + 1 + self.names.get(name).len() as u64;
        self.lines_bytes += line_bytes;
        let line_bytes = line_bytes.min(LINES_BYTES_MAX) as u32;
        let category = self.names.intern(category);
        self.nodes.push(Node { depth: depth + 1, line_bytes, ..Node::new(parent, (name, category)) });
        self.children.insert((parent, name), child);
        Some(child)
    }

    fn is_deepest(&self, node: NodeId) -> bool {
        self.nodes[node as usize].depth >= DEPTH_MAX
    }

    fn add(&mut self, node: NodeId, time: i64) {
        let self_ns = &mut self.nodes[node as usize].self_ns;
        *self_ns = self_ns.saturating_add(time);
    }
}

impl Frames for Stacks {
    fn len(&self) -> usize {
        self.nodes.len()
    }

    fn parent(&self, frame: usize) -> usize {
        self.nodes[frame].parent as usize
    }

    fn name(&self, frame: usize) -> &str {
        self.names.get(self.nodes[frame].name)
    }

    fn category(&self, frame: usize) -> &str {
        self.names.get(self.nodes[frame].category)
    }

    fn self_ns(&self, frame: usize) -> u64 {
        u64::try_from(self.nodes[frame].self_ns).unwrap_or(0)
    }

    fn n_slices(&self, frame: usize) -> u64 {
        self.nodes[frame].n_slices.into()
    }
}

/// Replaces the characters of a name that have a meaning in the output, and those that cannot be seen.
fn clean(name: &str) -> Cow<'_, str> {
    let is_special = |letter: char| letter == ';' || is_hidden(letter);
    if !name.contains(is_special) {
        return name.into();
    }
    let clean = |letter: char| match letter {
        ';' => ':',
        '\u{2028}' | '\u{2029}' => ' ',
        letter if letter.is_control() => ' ',
        letter if is_hidden(letter) => REPLACEMENT,
        letter => letter,
    };
    name.chars().map(clean).collect::<String>().into()
}

struct StacksSink<'a> {
    stacks: Stacks,
    tracks: &'a Tracks,
    strings: &'a Strings,
    lanes: Vec<Lane>,
    summary: Summary,
}

/// Stack of a lane's thread, and the stacks of its open slices.
struct Lane {
    thread: NodeId,
    open: Vec<NodeId>,
    is_moved: bool,
}

impl StacksSink<'_> {
    /// Returns the stack of a slice, or the one that its time is added to.
    fn node_below(&mut self, parent: NodeId, name: &str, category: &str) -> NodeId {
        let left = &mut self.summary.left;
        if self.stacks.is_deepest(parent) {
            left.deep_frames += 1;
            return parent;
        }
        let is_last = self.stacks.nodes[parent as usize].depth + 1 == DEPTH_MAX;
        left.deep_frames += u64::from(is_last);
        let node = self.stacks.child(parent, if is_last { DEEPER } else { name }, if is_last { "" } else { category });
        left.cut_stacks += u64::from(node.is_none());
        node.unwrap_or(parent)
    }
}

impl TimelineSink for StacksSink<'_> {
    fn lane(&mut self, _lane: LaneId, owner: Owner, nth: u32) -> Result<(), Error> {
        let mut thread = ROOT;
        if let Owner::Track(track) = owner {
            let process = self.tracks.process_label(self.tracks.get(track).process, self.strings);
            let label = self.tracks.label(track, self.strings);
            let process = self.stacks.child(ROOT, &process, "").unwrap_or(ROOT);
            thread = self.stacks.child(process, &label, "").unwrap_or(process);
        }
        self.lanes.push(Lane { thread, open: Vec::new(), is_moved: nth > 0 });
        Ok(())
    }

    fn begin(&mut self, lane: LaneId, time: i64, slice: &Record<'_>) -> Result<(), Error> {
        let Lane { thread, ref open, is_moved } = self.lanes[lane as usize];
        let around = open.last().copied();
        let parent = around.unwrap_or(thread);
        self.summary.n_slices += 1;
        self.summary.n_moved += u64::from(is_moved);
        // A slice without an end has no duration.
        if slice.end == NEVER {
            self.lanes[lane as usize].open.push(parent);
            return Ok(());
        }
        let node = self.node_below(parent, slice.name, slice.category);
        let duration = slice.end.saturating_sub(time);
        if let Some(around) = around {
            self.stacks.add(around, -duration);
        }
        self.stacks.add(node, duration);
        let n_slices = &mut self.stacks.nodes[node as usize].n_slices;
        *n_slices = n_slices.saturating_add(1);
        self.lanes[lane as usize].open.push(node);
        Ok(())
    }

    fn end(&mut self, lane: LaneId, _time: i64) -> Result<(), Error> {
        self.lanes[lane as usize].open.pop();
        Ok(())
    }

    fn point(&mut self, _lane: Option<LaneId>, _time: i64, _point: &Record<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn track_done(&mut self) -> Result<(), Error> {
        self.lanes.clear();
        Ok(())
    }
}
