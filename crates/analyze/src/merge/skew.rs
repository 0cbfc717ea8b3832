//! Skew of ranks: which rank comes last, and how long the others wait.

use super::align::TimeMap;
use super::marks::{Groups, MarkKind, Member};
use ferrum_trace_format::spill_sort::SpillSort;
use std::io;

/// Memory budget of the sorter.
const BUDGET_BYTES: usize = 8 << 20;

/// Skew of the collectives, or steps, of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkewRow {
    /// Their name.
    pub name: String,
    /// Name of the process group; empty if the traces do not have it.
    pub group: String,
    /// Their number.
    pub n: u64,
    /// Number of ranks in the largest one.
    pub n_ranks: u32,
    /// Median of the time between the first and the last rank.
    pub p50_ns: i64,
    /// 99th percentile of that time.
    pub p99_ns: i64,
    /// Maximum of that time.
    pub max_ns: i64,
    /// Total time that ranks waited for the last one.
    pub waited_ns: i64,
    /// The one with the largest skew: its number, and the time of the last rank in the merged trace.
    pub worst: (u64, i64),
    /// Number of times that each rank was last, as index in [`Skew::ranks`], the most frequent first.
    pub last: Vec<(u32, u64)>,
    /// The ranks that take part, as indices in [`Skew::ranks`].
    pub members: Vec<u32>,
    /// True if it is certain which marks belong together. If not, some ranks have more than others, and the n-th of
    /// each is taken.
    pub is_sure: bool,
}

/// Skew of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSkew {
    /// Its label.
    pub label: String,
    /// Number of times that it took part.
    pub n: u64,
    /// Number of times that it was the last.
    pub n_last: u64,
    /// Time that it waited for others.
    pub waited_ns: i64,
    /// Total time that others waited for it.
    pub caused_ns: i64,
}

/// Skew of collectives, or steps, of all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skew {
    /// Rows by name; the longest total waiting time first.
    pub rows: Vec<SkewRow>,
    /// Ranks, in the order of the merged trace.
    pub ranks: Vec<RankSkew>,
}

impl Skew {
    /// Returns true if nothing could be compared.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Kind of marks that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// Begins of collectives: the last rank makes the others wait.
    Collectives,
    /// Ends of steps: the last rank makes the others wait.
    Steps,
}

impl Compared {
    fn is(self, kind: MarkKind) -> bool {
        matches!((self, kind), (Self::Collectives, MarkKind::Collective { .. }) | (Self::Steps, MarkKind::Step(_)))
    }

    fn time(self, member: &Member, map: &TimeMap) -> i64 {
        map.apply(if self == Self::Collectives { member.begin } else { member.end })
    }
}

/// Compares ranks.
pub(super) fn skew(compared: Compared, groups: &Groups, maps: &[TimeMap], labels: &[String]) -> io::Result<Skew> {
    let mut of_keys: Vec<Option<OfKey>> = groups.keys.iter().map(|_| None).collect();
    let mut skews = SpillSort::new(BUDGET_BYTES);
    let label = |label: &String| RankSkew { label: label.clone(), ..RankSkew::default() };
    let mut ranks: Vec<RankSkew> = labels.iter().map(label).collect();
    groups.for_each(|group| {
        if !compared.is(groups.keys[group.key as usize].kind) {
            return Ok(());
        }
        let times = group
            .members
            .iter()
            .filter_map(|member| Some((compared.time(member, maps.get(member.file as usize)?), member.participant)));
        let times: Vec<(i64, u32)> = times.collect();
        let Some(&(last, who)) = times.iter().max() else { return Ok(()) };
        let of_key = of_keys[group.key as usize].get_or_insert_with(|| OfKey::new(labels.len()));
        let skew = of_key.add(group.number, &times, (last, who));
        count(&mut ranks, &times, (last, who));
        skews.push([u64::from(group.key), skew as u64, 0, 0], &[])
    })?;
    let mut rows: Vec<SkewRow> = Vec::new();
    let mut percentiles = percentiles(skews, &of_keys)?;
    for (key, of_key) in of_keys.into_iter().enumerate() {
        let Some(of_key) = of_key else { continue };
        let (p50_ns, p99_ns) = std::mem::take(&mut percentiles[key]);
        let name = &groups.keys[key];
        let named =
            SkewRow { name: name.name.clone(), group: name.group.clone(), p50_ns, p99_ns, ..SkewRow::default() };
        rows.push(of_key.row(named, groups.is_sure[key]));
    }
    rows.sort_by(|one, other| (other.waited_ns, &one.name).cmp(&(one.waited_ns, &other.name)));
    if rows.is_empty() {
        ranks.clear();
    }
    Ok(Skew { rows, ranks })
}

/// Adds one collective or step to the skew of each rank.
fn count(ranks: &mut [RankSkew], times: &[(i64, u32)], (last, who): (i64, u32)) {
    let mut caused = 0_i64;
    for &(time, participant) in times {
        let waited = last.saturating_sub(time);
        caused = caused.saturating_add(waited);
        if let Some(rank) = ranks.get_mut(participant as usize) {
            rank.n += 1;
            rank.waited_ns = rank.waited_ns.saturating_add(waited);
        }
    }
    if let Some(rank) = ranks.get_mut(who as usize) {
        rank.n_last += 1;
        rank.caused_ns = rank.caused_ns.saturating_add(caused);
    }
}

/// Sums of one key.
struct OfKey {
    n: u64,
    n_ranks: u32,
    max: i64,
    waited: i64,
    worst: (u64, i64),
    /// Number of times last, by participant.
    n_last: Vec<u64>,
    /// True for each participant that takes part.
    takes_part: Vec<bool>,
}

impl OfKey {
    fn new(n_participants: usize) -> Self {
        Self {
            n: 0,
            n_ranks: 0,
            max: -1,
            waited: 0,
            worst: (0, 0),
            n_last: vec![0; n_participants],
            takes_part: vec![false; n_participants],
        }
    }

    /// Adds one collective or step, and returns the time between the first and the last rank.
    fn add(&mut self, number: u64, times: &[(i64, u32)], (last, who): (i64, u32)) -> i64 {
        let first = times.iter().map(|&(time, _)| time).min().unwrap_or(last);
        let skew = last.saturating_sub(first).max(0);
        self.n += 1;
        self.n_ranks = self.n_ranks.max(times.len() as u32);
        let waited = times.iter().fold(0_i64, |sum, &(time, _)| sum.saturating_add(last.saturating_sub(time)));
        self.waited = self.waited.saturating_add(waited);
        if skew > self.max {
            (self.max, self.worst) = (skew, (number, last));
        }
        if let Some(n) = self.n_last.get_mut(who as usize) {
            *n += 1;
        }
        for &(_, member) in times {
            if let Some(takes_part) = self.takes_part.get_mut(member as usize) {
                *takes_part = true;
            }
        }
        skew
    }

    fn row(self, named: SkewRow, is_sure: bool) -> SkewRow {
        let mut last: Vec<(u32, u64)> =
            self.n_last.iter().enumerate().filter(|(_, n)| **n > 0).map(|(rank, &n)| (rank as u32, n)).collect();
        last.sort_by_key(|&(rank, n)| (std::cmp::Reverse(n), rank));
        let members =
            (0_u32..).zip(&self.takes_part).filter(|(_, takes_part)| **takes_part).map(|(rank, _)| rank).collect();
        let Self { n, n_ranks, max, waited, worst, .. } = self;
        SkewRow { members, n, n_ranks, max_ns: max.max(0), waited_ns: waited, worst, last, is_sure, ..named }
    }
}

/// Returns the median and the 99th percentile by key, by nearest rank.
fn percentiles(skews: SpillSort, of_keys: &[Option<OfKey>]) -> io::Result<Vec<(i64, i64)>> {
    let mut found = vec![(0, 0); of_keys.len()];
    let mut sorted = skews.finish()?;
    let (mut of, mut nth) = (u64::MAX, 0_u64);
    while let Some(([key, skew, ..], _)) = sorted.next()? {
        (of, nth) = if key == of { (of, nth + 1) } else { (key, 1) };
        let Some(Some(of_key)) = of_keys.get(key as usize) else { continue };
        let is_at = |percent: u64| nth == (of_key.n * percent).div_ceil(100).max(1);
        if is_at(50) {
            found[key as usize].0 = skew as i64;
        }
        if is_at(99) {
            found[key as usize].1 = skew as i64;
        }
    }
    Ok(found)
}
