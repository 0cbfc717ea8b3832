//! Aligns the clocks of files.
//!
//! Files with the same monotonic clock share it exactly. All others are mapped to the clock of the first file, the
//! reference: by the wall clock, by facts of order (see [`clock_fit`](super::clock_fit)), or not at all.

use super::clock_fit::{ClockLine, Facts, Fit};
use super::handovers::HandOvers;
use super::marks::{Groups, Member};
use super::survey::{Anchor, Surveyed};
use hashbrown::HashMap;
use std::io;

/// Method of alignment to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// The best available: the monotonic clock, the wall clock of one host, order, the wall clock, the start.
    #[default]
    Auto,
    /// The wall clock alone.
    Wall,
    /// The start: all files begin together.
    Start,
    /// None: times stay as they are in the files.
    Nothing,
}

/// Method by which a file was aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlignedBy {
    /// The file is the reference that others are aligned with.
    Reference,
    /// The monotonic clock of the reference.
    Monotonic,
    /// The wall clock of the host that both files come from.
    HostWall,
    /// Facts of order: events that cannot have happened in another order.
    Order,
    /// The wall clocks of two hosts.
    Wall,
    /// The start: it begins when the reference does.
    Start,
    /// None.
    Nothing,
}

impl AlignedBy {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Monotonic => "monotonic clock",
            Self::HostWall => "wall clock of the host",
            Self::Order => "order",
            Self::Wall => "wall clock",
            Self::Start => "start",
            Self::Nothing => "nothing",
        }
    }
}

/// Alignment of a file, and its quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// The method.
    pub by: AlignedBy,
    /// Nanoseconds that were added to its first time.
    pub offset_ns: i64,
    /// Nanoseconds by which one of its seconds is longer on the reference clock.
    pub drift_ppb: i64,
    /// Largest error of its times in nanoseconds; `None` if it is unknown.
    pub error_ns: Option<u64>,
    /// Number of facts of order about it.
    pub n_facts: u64,
    /// True if these contradict each other, so that they were not used.
    pub is_contradictory: bool,
}

/// Mapping from the times of a file to those of the merged file.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeMap {
    base: i64,
    lines: Vec<ClockLine>,
    zero: i128,
}

impl TimeMap {
    /// Returns a time in the merged file.
    pub(super) fn apply(&self, time: i64) -> i64 {
        clamped(self.on_reference(time) - self.zero)
    }

    fn on_reference(&self, time: i64) -> i128 {
        let on_clock = i128::from(time) + i128::from(self.base);
        self.lines.iter().fold(on_clock, |time, line| line.apply(time))
    }

    /// Returns true if durations change.
    pub(super) fn has_drift(&self) -> bool {
        self.lines.iter().any(|line| line.drift_ppb != 0)
    }

    /// Returns true if its clock is that of the reference.
    pub(super) fn is_exact(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the time of the file that is zero in the merged one, if durations do not change.
    pub(super) fn zero_of_file(&self) -> i128 {
        self.zero - self.on_reference(0)
    }
}

/// Alignment of all files.
#[derive(Debug)]
pub(super) struct Aligned {
    /// Mappings by file.
    pub maps: Vec<TimeMap>,
    /// Alignments by file.
    pub alignments: Vec<Alignment>,
    /// Time zero of the merged file, in nanoseconds since 1970.
    pub start_unix_ns: Option<i128>,
}

/// A clock that one or more files share.
#[derive(Debug)]
struct Node {
    anchor: Anchor,
    /// First and last time, by its clock.
    span: (i64, i64),
    /// Nanoseconds between the times of its first file and its own times.
    base: i64,
}

struct Clocks {
    nodes: Vec<Node>,
    /// Node of each file, and the nanoseconds that are added to the file's times.
    of_file: Vec<(usize, i64)>,
}

impl Clocks {
    fn of(files: &[Surveyed], align: Align) -> Self {
        let mut clocks = Self { nodes: Vec::new(), of_file: Vec::new() };
        let mut by_boot: HashMap<&str, usize> = HashMap::new();
        for file in files {
            let monotonic = file.anchor.monotonic.as_ref().filter(|_| align == Align::Auto);
            let base = monotonic.map_or(0, |(_, start)| *start);
            let (first, last) = file.span.unwrap_or_default();
            let span = (first.saturating_add(base), last.saturating_add(base));
            let known = monotonic.and_then(|(boot, _)| by_boot.get(boot.as_str()).copied());
            let node = known.unwrap_or_else(|| {
                clocks.nodes.push(Node { anchor: file.anchor.clone(), span, base });
                clocks.nodes.len() - 1
            });
            if let Some((boot, _)) = monotonic {
                by_boot.insert(boot, node);
            }
            let all = &mut clocks.nodes[node].span;
            *all = (all.0.min(span.0), all.1.max(span.1));
            clocks.of_file.push((node, base));
        }
        clocks
    }

    fn span(&self, files: &[Surveyed], member: &Member) -> Option<ClockSpan> {
        let (node, begin) = self.time(member.file, member.begin)?;
        let (_, end) = self.time(member.file, member.end)?;
        Some(ClockSpan { node, begin, end, coarseness: files.get(member.file as usize)?.coarseness() })
    }

    fn time(&self, file: u32, time: i64) -> Option<(usize, i64)> {
        let &(node, base) = self.of_file.get(file as usize)?;
        Some((node, time.saturating_add(base)))
    }
}

impl Node {
    /// Returns the time since 1970 at time zero of the clock.
    fn unix(&self) -> Option<i128> {
        Some(i128::from(self.anchor.unix?) - i128::from(self.base))
    }
}

/// Part of a rank in a collective, by a clock.
struct ClockSpan {
    node: usize,
    begin: i64,
    end: i64,
    /// Error of the times if they are written in microseconds.
    coarseness: i64,
}

/// Facts about each pair of clocks: of the second, by the first.
#[derive(Default)]
struct AllFacts {
    pairs: HashMap<(usize, usize), Facts>,
}

impl AllFacts {
    /// Adds the fact that an event at a time of one clock happened no later than an event at a time of another. Both
    /// times together may be off by `slack`.
    fn add(&mut self, clocks: &Clocks, before: (usize, i64), after: (usize, i64), slack: i64) {
        if before.0 == after.0 {
            return;
        }
        let of_after = self.facts(clocks, before.0, after.0);
        of_after.at_least(after.1, before.1.saturating_sub(after.1).saturating_sub(slack));
        let of_before = self.facts(clocks, after.0, before.0);
        of_before.at_most(before.1, after.1.saturating_sub(before.1).saturating_add(slack));
    }

    fn facts(&mut self, clocks: &Clocks, by: usize, of: usize) -> &mut Facts {
        self.pairs.entry((by, of)).or_insert_with(|| Facts::new(clocks.nodes[of].span))
    }

    /// Adds the facts of a collective: no rank ends it before all have begun it.
    fn add_collective(&mut self, clocks: &Clocks, files: &[Surveyed], members: &[Member]) {
        let mut spans: Vec<ClockSpan> = members.iter().filter_map(|member| clocks.span(files, member)).collect();
        spans.sort_unstable_by_key(|span| span.node);
        // The latest begin and the earliest end are sufficient for ranks with the same clock.
        spans.dedup_by(|other, kept| {
            let is_same = other.node == kept.node;
            if is_same {
                kept.begin = kept.begin.max(other.begin);
                kept.end = kept.end.min(other.end);
                kept.coarseness = kept.coarseness.max(other.coarseness);
            }
            is_same
        });
        // Only with the first of them, so that the work does not grow with the square of the ranks.
        let Some((first, others)) = spans.split_first() else { return };
        for other in others {
            let slack = first.coarseness.saturating_add(other.coarseness);
            self.add(clocks, (first.node, first.begin), (other.node, other.end), slack);
            self.add(clocks, (other.node, other.begin), (first.node, first.end), slack);
        }
    }
}

/// Mapping of one clock to the reference.
#[derive(Clone, Debug)]
struct Way {
    by: AlignedBy,
    lines: Vec<ClockLine>,
    error: Option<u64>,
    n_facts: u64,
    is_contradictory: bool,
}

impl Way {
    fn new(by: AlignedBy, lines: Vec<ClockLine>, error: Option<u64>) -> Self {
        Self { by, lines, error, n_facts: 0, is_contradictory: false }
    }
}

/// Aligns all files.
pub(super) fn align(
    files: &[Surveyed],
    groups: &Groups,
    hand_overs: HandOvers,
    new_places: &[u32],
    align: Align,
) -> io::Result<Aligned> {
    let clocks = Clocks::of(files, align);
    let mut facts = AllFacts::default();
    if align == Align::Auto && clocks.nodes.len() > 1 {
        groups.for_each(|group| {
            if is_usable(files, groups, group.key as usize) {
                facts.add_collective(&clocks, files, group.members);
            }
            Ok(())
        })?;
        hand_overs.for_each(|hand_over| {
            let files_of = [hand_over.sent.0, hand_over.arrived.0].map(|place| new_places[place as usize]);
            let (sent, arrived) =
                (clocks.time(files_of[0], hand_over.sent.1), clocks.time(files_of[1], hand_over.arrived.1));
            if let (Some(sent), Some(arrived)) = (sent, arrived) {
                let slack = files_of.map(|file| files[file as usize].coarseness());
                facts.add(&clocks, sent, arrived, slack[0] + slack[1]);
            }
        })?;
    }
    let ways = ways(&clocks, &facts, align);
    Ok(aligned(files, &clocks, &ways, align))
}

/// Returns true if collectives of a key are usable as facts: it must be certain which ones belong together.
fn is_usable(files: &[Surveyed], groups: &Groups, key: usize) -> bool {
    let may_be_miscounted = !groups.is_numbered[key] && files.iter().any(|file| file.is_incomplete);
    let may_be_mixed_up = groups.keys[key].group.is_empty() && files.iter().any(|file| file.has_groups);
    groups.keys[key].waits_for_all() && groups.is_sure[key] && !may_be_miscounted && !may_be_mixed_up
}

fn aligned(files: &[Surveyed], clocks: &Clocks, ways: &[Way], align: Align) -> Aligned {
    let mut maps: Vec<TimeMap> =
        clocks.of_file.iter().map(|&(node, base)| TimeMap { base, lines: ways[node].lines.clone(), zero: 0 }).collect();
    let firsts = maps.iter().zip(files).filter_map(|(map, file)| Some(map.on_reference(file.span?.0)));
    // Without alignment there is no common first time.
    let zero = firsts.min().filter(|_| align != Align::Nothing).unwrap_or(0);
    for map in &mut maps {
        map.zero = zero;
    }
    let alignments = maps.iter().zip(files).zip(&clocks.of_file).enumerate().map(|(n, ((map, file), &(node, _)))| {
        let way = &ways[node];
        let first = file.span.map_or(0, |(first, _)| first);
        Alignment {
            by: match way.by {
                AlignedBy::Reference if n > 0 => AlignedBy::Monotonic,
                by => by,
            },
            offset_ns: clamped(i128::from(map.apply(first)) - i128::from(first)),
            drift_ppb: map.lines.iter().map(|line| line.drift_ppb).sum(),
            error_ns: way.error,
            n_facts: way.n_facts,
            is_contradictory: way.is_contradictory,
        }
    });
    let alignments = alignments.collect();
    let start_unix_ns = clocks.nodes.first().and_then(Node::unix).map(|unix| unix + zero);
    Aligned { maps, alignments, start_unix_ns }
}

/// Returns the mapping of each clock to the first.
fn ways(clocks: &Clocks, facts: &AllFacts, align: Align) -> Vec<Way> {
    let reference = Way::new(AlignedBy::Reference, Vec::new(), Some(0));
    let mut ways: Vec<Option<Way>> = vec![None; clocks.nodes.len()];
    if let Some(first) = ways.first_mut() {
        *first = Some(reference.clone());
    }
    let bounds = bounds(clocks, facts);
    // The clock with the smallest error first: it helps to bound the others.
    while let Some((node, way)) = next_bounded(&bounds, &ways) {
        ways[node] = Some(way);
    }
    let unbounded = |node: usize| unbounded(clocks, facts, node, align);
    ways.into_iter().enumerate().map(|(node, way)| way.unwrap_or_else(|| unbounded(node))).collect()
}

/// Bound of one clock by another.
struct Bound {
    by: usize,
    of: usize,
    by_what: AlignedBy,
    line: ClockLine,
    error: u64,
    n_facts: u64,
}

/// Returns all pairs of clocks that facts bound.
fn bounds(clocks: &Clocks, facts: &AllFacts) -> Vec<Bound> {
    let of_pair = |(&(by, of), facts): (&(usize, usize), &Facts)| {
        let (by_what, line, error) = bounded(clocks, facts, by, of)?;
        Some(Bound { by, of, by_what, line, error, n_facts: facts.len() })
    };
    facts.pairs.iter().filter_map(of_pair).collect()
}

/// Returns the unmapped clock that the mapped ones bound best.
fn next_bounded(bounds: &[Bound], ways: &[Option<Way>]) -> Option<(usize, Way)> {
    let error = |bound: &Bound| {
        let known = ways[bound.by].as_ref().filter(|_| ways[bound.of].is_none())?;
        // A mapping by way of another clock may stretch the error by its drift, and each mapping is rounded.
        let stretched = if known.lines.is_empty() { 0 } else { bound.error / 1000 };
        Some(known.error?.saturating_add(bound.error).saturating_add(stretched).saturating_add(1))
    };
    let candidates = bounds.iter().filter_map(|bound| Some((error(bound)?, bound.of, bound.by, bound)));
    let (error, of, _, bound) = candidates.min_by_key(|&(error, of, by, _)| (error, of, by))?;
    let known = ways[bound.by].as_ref()?;
    let mut lines = vec![bound.line];
    lines.extend_from_slice(&known.lines);
    let by = if known.by == AlignedBy::Reference { bound.by_what } else { AlignedBy::Order };
    Some((of, Way { n_facts: bound.n_facts, ..Way::new(by, lines, Some(error)) }))
}

/// Returns the bound of a clock by another one that follows from facts, if there is one.
fn bounded(clocks: &Clocks, facts: &Facts, by: usize, of: usize) -> Option<(AlignedBy, ClockLine, u64)> {
    let (one, other) = (&clocks.nodes[by], &clocks.nodes[of]);
    // The wall clock of one host is one clock, and more precise than order, unless order contradicts it.
    if let Some(offset) = host_wall_offset(one, other)
        && let Ok(offset) = i64::try_from(offset)
        && let Fit::Bounded { line, error } = facts.judge(offset)
    {
        return Some((AlignedBy::HostWall, line, error));
    }
    match facts.fit() {
        Fit::Bounded { line, error } => Some((AlignedBy::Order, line, error)),
        Fit::Open { .. } | Fit::Contradictory => None,
    }
}

/// Returns the offset between two clocks by the wall clock.
fn wall_offset(one: &Node, other: &Node) -> Option<i128> {
    Some(other.unix()? - one.unix()?)
}

fn host_wall_offset(one: &Node, other: &Node) -> Option<i128> {
    let is_same = one.anchor.host.is_some() && one.anchor.host == other.anchor.host;
    wall_offset(one, other).filter(|_| is_same)
}

/// Aligns a clock with an unknown error.
fn unbounded(clocks: &Clocks, facts: &AllFacts, node: usize, align: Align) -> Way {
    let Some(reference) = clocks.nodes.first() else {
        return Way::new(AlignedBy::Nothing, Vec::new(), None);
    };
    let of_node = &clocks.nodes[node];
    let start_offset = i128::from(reference.span.0) - i128::from(of_node.span.0);
    let (by, offset) = match (align, wall_offset(reference, of_node)) {
        (Align::Nothing, _) => (AlignedBy::Nothing, 0),
        (Align::Start, _) | (_, None) => (AlignedBy::Start, start_offset),
        (Align::Auto | Align::Wall, Some(offset)) => {
            let is_same = host_wall_offset(reference, of_node).is_some();
            (if is_same { AlignedBy::HostWall } else { AlignedBy::Wall }, offset)
        }
    };
    let known = facts.pairs.get(&(0, node));
    let fit = known.map(Facts::fit);
    let offset = match fit {
        // A bound on one side is respected.
        Some(Fit::Open { low, high }) => {
            let offset = low.map_or(offset, |low| offset.max(i128::from(low)));
            high.map_or(offset, |high| offset.min(i128::from(high)))
        }
        _ => offset,
    };
    Way {
        n_facts: known.map_or(0, Facts::len),
        is_contradictory: fit == Some(Fit::Contradictory),
        ..Way::new(by, vec![ClockLine::constant(offset)], None)
    }
}

fn clamped(nanos: i128) -> i64 {
    nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}
