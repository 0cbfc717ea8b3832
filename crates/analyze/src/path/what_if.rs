//! Changes of operations (`--what-if`), and the times that follow from them.

use super::build::Built;
use super::categories::Categories;
use super::graph::{Dependency, EdgeKind, Point};
use super::node::{NONE, Node, NodeKind};
use super::retime::Change;
use super::walk::kind_of_node;
use super::window::Window;
use super::{Piece, PieceKind};
use crate::figures::gpu::DeviceWork;
use crate::ops::ClassId;
use crate::structure::glob::Glob;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// Words that are no names of operations.
const WORDS: [&str; 5] = ["launch", "gaps", "host", "device", "copies"];
/// Prefix of the name of a rank.
const RANK: &str = "rank";
/// Number of names that an error lists.
const LISTED_MAX: usize = 12;

/// Changes, as in `attention=0.5x,launch=0,rank3=rank0`.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    changes: Vec<(String, Amount)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    /// The time is multiplied.
    Factor(f64),
    /// The operations of a rank take as long as those of another.
    LikeRank(u32),
}

impl WhatIf {
    /// Parses changes.
    ///
    /// # Errors
    ///
    /// Returns a description of the first change that is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let changes = text.split(',').map(str::trim).map(parse_change).collect::<Result<_, _>>()?;
        Ok(Self { changes })
    }
}

fn parse_change(text: &str) -> Result<(String, Amount), String> {
    let (name, amount) = text.rsplit_once('=').ok_or_else(|| format!("expected NAME=FACTOR, found `{text}`"))?;
    let (name, amount) = (name.trim(), amount.trim());
    if name.is_empty() {
        return Err(format!("expected a name before the `=`, found `{text}`"));
    }
    if let Some(rank) = rank_number(amount) {
        return match rank_number(name) {
            Some(_) => Ok((name.to_owned(), Amount::LikeRank(rank))),
            None => Err(format!("expected a rank before `={amount}`, found `{name}`")),
        };
    }
    let expected = || format!("expected a factor such as `0.5x` or `0`, or a rank, found `{amount}`");
    let factor: f64 = amount.strip_suffix('x').unwrap_or(amount).trim().parse().map_err(|_| expected())?;
    let is_plain_number = !amount.ends_with('x') && factor != 0.0;
    if !(0.0..=1e6).contains(&factor) || is_plain_number {
        return Err(expected());
    }
    Ok((name.to_owned(), Amount::Factor(factor)))
}

fn rank_number(text: &str) -> Option<u32> {
    text.strip_prefix(RANK)?.parse().ok()
}

/// Changes of a graph.
#[derive(Debug)]
pub(super) struct Changes<'a> {
    built: &'a Built,
    /// Factor of each slice; empty if no slice changes.
    of_slice: Vec<f64>,
    launch: f64,
    gaps: f64,
    copy_waits: f64,
    /// Costs of nodes that take as long as nodes of another rank.
    costs: HashMap<u32, i64>,
}

impl Change for Changes<'_> {
    fn cost(&self, node: u32, it: &Node, cost: i64) -> i64 {
        if let Some(&cost) = self.costs.get(&node) {
            return cost;
        }
        let is_idle = kind_of_node(it) == PieceKind::Unexplained;
        let is_copy_wait = kind_of_node(it) == PieceKind::CopyWait;
        let own = self.factor(it.slice);
        let factor = if is_idle { own * self.gaps } else { own };
        scaled(cost, if is_copy_wait { factor * self.copy_waits } else { factor })
    }

    fn lag(&self, _: u32, it: &Dependency) -> i64 {
        let nodes = &self.built.graph.nodes;
        match (it.kind, it.from) {
            (EdgeKind::Launch, _) => scaled(it.lag, self.launch),
            (EdgeKind::Program, _) => scaled(it.lag, self.gaps),
            (EdgeKind::Stream, Point::Finish) => scaled(it.lag, self.gaps),
            // The work before still runs.
            (EdgeKind::Stream, Point::Start) => scaled(it.lag, self.factor(nodes[it.source as usize].slice)),
            (EdgeKind::Message | EdgeKind::Caused(_), _) => it.lag,
        }
    }
}

impl<'a> Changes<'a> {
    /// Finds the slices that changes concern.
    ///
    /// # Errors
    ///
    /// Returns a description of the first name that nothing in the trace has.
    pub(super) fn of(
        trace: &Trace,
        nesting: &Nesting,
        built: &'a Built,
        window: &Window,
        categories: &mut Categories,
        what_if: &WhatIf,
    ) -> Result<Self, String> {
        let mut changes =
            Self { built, of_slice: Vec::new(), launch: 1.0, gaps: 1.0, copy_waits: 1.0, costs: HashMap::new() };
        for (name, amount) in &what_if.changes {
            match *amount {
                Amount::Factor(factor) => changes.scale(trace, nesting, categories, name, factor)?,
                Amount::LikeRank(rank) => changes.imitate(trace, window, name, rank)?,
            }
        }
        Ok(changes)
    }

    fn factor(&self, slice: u32) -> f64 {
        self.of_slice.get(slice as usize).copied().unwrap_or(1.0)
    }

    fn scale(
        &mut self,
        trace: &Trace,
        nesting: &Nesting,
        categories: &mut Categories,
        name: &str,
        factor: f64,
    ) -> Result<(), String> {
        match name {
            "launch" => self.launch = factor,
            "gaps" => self.gaps = factor,
            "copies" => self.copy_waits = factor,
            _ => {}
        }
        let matcher = Matcher::of(name, categories);
        let n_changed = self.mark(trace, nesting, categories, &matcher, factor);
        if n_changed == 0 && !WORDS.contains(&name) {
            return Err(unknown(trace, categories, self.built, name));
        }
        Ok(())
    }

    /// Sets the factor of all slices that match, and on threads of the slices in them. Returns the number of slices
    /// that match.
    fn mark(
        &mut self,
        trace: &Trace,
        nesting: &Nesting,
        categories: &mut Categories,
        matcher: &Matcher,
        factor: f64,
    ) -> usize {
        self.of_slice.resize(trace.slices.len(), 1.0);
        let mut is_changed = vec![false; trace.slices.len()];
        let mut n_changed = 0;
        for (track, _) in trace.tracks.iter() {
            let is_device = self.built.works.is_device_track[track.index()];
            nesting.walk(trace, track, |slice, around| {
                let is_own = matcher.matches(trace, self.built, categories, slice, is_device);
                let is_inside = !is_device && around.last().is_some_and(|&outer| is_changed[outer as usize]);
                n_changed += usize::from(is_own);
                is_changed[slice as usize] = is_own || (is_inside && matcher.is_inherited());
            });
        }
        for (slice, _) in is_changed.iter().enumerate().filter(|(_, is_changed)| **is_changed) {
            self.of_slice[slice] = factor;
        }
        n_changed
    }

    /// Makes the n-th node of each name on one rank as long as that on another.
    fn imitate(&mut self, trace: &Trace, window: &Window, name: &str, model: u32) -> Result<(), String> {
        let (ranks, rank) = (self.built.ranks.all(), rank_number(name).unwrap_or(NONE));
        if let Some(missing) = [rank, model].into_iter().find(|it| !ranks.contains(it)) {
            let known: Vec<String> = ranks.iter().map(|it| format!("`{RANK}{it}`")).collect();
            let known = if known.is_empty() { "no ranks".to_owned() } else { known.join(", ") };
            return Err(format!("no rank `{RANK}{missing}`: the trace has {known}"));
        }
        let built = self.built;
        let of_rank = |wanted: u32| nodes_of_rank(trace, built, window, wanted);
        let (own, models) = (of_rank(rank), of_rank(model));
        for (key, nodes) in own {
            let Some(models) = models.get(&key) else { continue };
            let costs = models.iter().map(|&node| built.graph.nodes[node as usize].cost());
            self.costs.extend(nodes.into_iter().zip(costs));
        }
        Ok(())
    }
}

/// Returns the nodes of a rank in a window, by name and side, in time order.
fn nodes_of_rank(trace: &Trace, built: &Built, window: &Window, rank: u32) -> HashMap<(StringId, bool), Vec<u32>> {
    let graph = &built.graph;
    let mut found: HashMap<(StringId, bool), Vec<u32>> = HashMap::new();
    let tracks = trace.tracks.iter().map(|(track, _)| track);
    for track in tracks.filter(|&track| built.ranks.of_track(trace, track) == Some(rank)) {
        for node in graph.of_track(track) {
            let it = &graph.nodes[node];
            let is_inside = window.from <= it.start && it.start < window.to;
            if is_inside && it.slice != NONE && !matches!(it.kind, NodeKind::Wait(_)) {
                let key = (trace.slices.name[it.slice as usize], it.is_device());
                found.entry(key).or_default().push(node as u32);
            }
        }
    }
    for nodes in found.values_mut() {
        nodes.sort_unstable_by_key(|&node| graph.nodes[node as usize].start);
    }
    found
}

fn scaled(time: i64, factor: f64) -> i64 {
    if factor == 1.0 { time } else { (time as f64 * factor).round() as i64 }
}

/// Slices that a name of a change means.
enum Matcher {
    Host,
    Device,
    Copies,
    Class(ClassId),
    Name(Glob),
    Nothing,
}

impl Matcher {
    fn of(name: &str, categories: &Categories) -> Self {
        match name {
            "host" => Self::Host,
            "device" => Self::Device,
            "copies" => Self::Copies,
            "gaps" => Self::Nothing,
            _ => categories.find(name).map_or_else(|| Self::Name(Glob::new(name)), Self::Class),
        }
    }

    fn matches(&self, trace: &Trace, built: &Built, categories: &mut Categories, slice: u32, is_device: bool) -> bool {
        let is_work = !is_device || built.works.of_slice[slice as usize] != NONE;
        is_work
            && match self {
                Self::Host => !is_device,
                Self::Device => is_device,
                Self::Copies => is_device && is_copy(trace, slice),
                Self::Class(class) => {
                    let own = categories.class(trace, slice);
                    categories.is_within(own, *class)
                }
                Self::Name(glob) => glob.matches(trace.strings.get(trace.slices.name[slice as usize])),
                Self::Nothing => false,
            }
    }

    /// Returns true if slices inside a slice that matches change too.
    fn is_inherited(&self) -> bool {
        matches!(self, Self::Class(_) | Self::Name(_))
    }
}

fn is_copy(trace: &Trace, slice: u32) -> bool {
    let text = |id| trace.strings.get(id);
    let (name, category) = (trace.slices.name[slice as usize], trace.slices.category[slice as usize]);
    let is_of_torch = [crate::kineto::MEMCPY, crate::kineto::MEMCPY_2021].contains(&text(category));
    is_of_torch || DeviceWork::of(text(name), text(category)) == DeviceWork::Copy
}

/// Returns the message for a name that nothing has.
fn unknown(trace: &Trace, categories: &mut Categories, built: &Built, name: &str) -> String {
    let (mut classes, mut names): (Vec<String>, Vec<(i64, StringId)>) = (Vec::new(), Vec::new());
    let mut totals: HashMap<StringId, i64> = HashMap::new();
    for node in built.graph.nodes.iter().filter(|node| node.slice != NONE) {
        let total = totals.entry(trace.slices.name[node.slice as usize]).or_default();
        *total = total.saturating_add(node.cost());
        let class = categories.class(trace, node.slice);
        let class = categories.name(class);
        if class != super::categories::OTHER && !classes.iter().any(|known| known == class) {
            classes.push(class.to_owned());
        }
    }
    names.extend(totals.into_iter().map(|(name, total)| (total, name)));
    names.sort_unstable_by_key(|&(total, name)| (std::cmp::Reverse(total), name));
    classes.sort_unstable();
    let quoted = |names: Vec<String>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let largest = names.iter().take(LISTED_MAX).map(|&(_, name)| trace.strings.get(name).to_owned()).collect();
    let words = WORDS.map(str::to_owned).to_vec();
    format!(
        "nothing is named `{name}`: there are the words {}, the categories {} and names such as {}",
        quoted(words),
        quoted(classes),
        quoted(largest)
    )
}

/// Change that removes all time of one row of a path.
pub(super) struct WithoutRow<'a> {
    pub(super) trace: &'a Trace,
    pub(super) built: &'a Built,
    pub(super) kind: PieceKind,
    pub(super) name: Option<StringId>,
}

impl WithoutRow<'_> {
    fn is_own(&self, kind: PieceKind, slice: u32) -> bool {
        let name = (slice != NONE).then(|| self.trace.slices.name[slice as usize]);
        (kind, name) == (self.kind, self.name)
    }
}

impl Change for WithoutRow<'_> {
    fn cost(&self, _: u32, it: &Node, cost: i64) -> i64 {
        if self.is_own(kind_of_node(it), it.slice) { 0 } else { cost }
    }

    fn lag(&self, target: u32, it: &Dependency) -> i64 {
        let (kind, slice) = super::walk::kind_of_lag(&self.built.graph, target, it, it.lag);
        if self.is_own(kind, slice) { 0 } else { it.lag }
    }
}

/// Median of the lengths of all steps, in nanoseconds. Of an even number, the shorter of the two in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MedianChange {
    /// In the recording.
    pub before: i64,
    /// After the change.
    pub after: i64,
}

/// Result of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Length of the window after the change, in nanoseconds.
    pub duration: i64,
    /// Median length of all steps before and after the change; `None` if there are no steps.
    pub steps: Option<MedianChange>,
    /// Pieces of its critical path.
    pub pieces: Vec<Piece>,
    /// Sums over these pieces.
    pub totals: super::PathTotals,
    /// The resource that it is bound by.
    pub bound: super::Bound,
}
