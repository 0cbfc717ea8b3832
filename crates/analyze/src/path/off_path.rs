//! Work in a window that is not on its critical path.

use super::graph::Graph;
use super::node::{NONE, NodeKind};
use super::piece::Piece;
use super::retime::{Order, cost_within};
use super::slack::slacks;
use super::window::Window;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::{HashMap, HashSet};
use std::cmp::Reverse;

/// Work of one name that is not on the path. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffPathRow {
    /// The name.
    pub name: StringId,
    /// True for work of a device.
    pub is_device: bool,
    /// Number of pieces of work.
    pub count: u64,
    /// Sum of their times.
    pub total: i64,
    /// Smallest slack of one of them: the time by which it can take longer without making the window longer.
    pub slack: i64,
}

/// Returns the work on which the end of a window depends and that is not on its path, the least slack first.
pub(super) fn off_path(
    trace: &Trace,
    graph: &Graph,
    window: &Window,
    order: &Order,
    pieces: &[Piece],
) -> Vec<OffPathRow> {
    let on_path: HashSet<u32> = pieces.iter().filter_map(|piece| piece.slice).collect();
    let mut rows: HashMap<(StringId, bool), OffPathRow> = HashMap::new();
    for (&node, slack) in order.nodes.iter().zip(slacks(graph, window, order)) {
        let it = &graph.nodes[node as usize];
        let time = cost_within(window, node, it);
        let is_work = matches!(it.kind, NodeKind::Host | NodeKind::Device) && it.slice != NONE && time > 0;
        if !is_work || on_path.contains(&it.slice) {
            continue;
        }
        let (name, is_device) = (trace.slices.name[it.slice as usize], it.is_device());
        let new = OffPathRow { name, is_device, count: 0, total: 0, slack: i64::MAX };
        let row = rows.entry((name, is_device)).or_insert(new);
        row.count += 1;
        row.total = row.total.saturating_add(time);
        row.slack = row.slack.min(slack);
    }
    let mut rows: Vec<OffPathRow> = rows.into_values().collect();
    rows.sort_unstable_by_key(|row| (row.slack, Reverse(row.total), row.name));
    rows
}
