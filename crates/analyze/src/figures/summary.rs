//! Slices in groups, with their total and self times.

use super::keys::{GroupBy, Key, Keys, LabelSets, compare_keys};
use super::labels::Labels;
use super::percentile::Distribution;
use crate::structure::nesting::Nesting;
use crate::structure::select::Selected;
use crate::structure::share_out::share_out;
use ferrum_trace_model::Trace;
use hashbrown::HashMap;

/// Sort orders of rows: the largest first, names alphabetically. Rows that are equal in it are sorted by their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// The sum of durations.
    #[default]
    Total,
    /// The sum of self times.
    SelfTime,
    /// The number of slices.
    Count,
    /// The mean duration.
    Mean,
    /// The longest duration.
    Max,
    /// The 99th percentile of the durations.
    P99,
    /// The name of the row.
    Name,
}

/// Options of [`summarize`].
#[derive(Clone, Debug)]
pub struct SummaryOptions {
    /// Properties that the slices of a group share.
    pub by: Vec<GroupBy>,
    /// The order of the rows.
    pub sort: SortBy,
    /// Maximum number of rows; `None` for all.
    pub top: Option<usize>,
    /// Maximum number of separate groups. Later ones in the trace form one group, which is always part of the rest.
    pub groups_max: usize,
}

/// One group for each name that a reader distinguishes, one for no name, one for all other names.
const GROUPS_MAX: usize = (1 << 20) + 2;

impl Default for SummaryOptions {
    fn default() -> Self {
        Self { by: vec![GroupBy::Name], sort: SortBy::default(), top: None, groups_max: GROUPS_MAX }
    }
}

/// Slices in groups.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The groups, sorted, at most [`SummaryOptions::top`].
    pub rows: Vec<Row>,
    /// The sum of the groups that are not among the rows.
    pub rest: Rest,
    /// Number of slices that are in groups beyond [`SummaryOptions::groups_max`].
    pub n_beyond: u64,
    /// The sum of all groups.
    pub all: Rest,
    /// The length of the selected range of time, as far as the trace covers it, in nanoseconds. Without a range: from
    /// the first event of the trace to the end of the last.
    pub wall: i64,
    /// The labels of the rows.
    pub labels: LabelSets,
}

/// One group. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Key that the slices share.
    pub key: Key,
    /// Number of slices.
    pub count: u64,
    /// Sum of their durations. Nested slices both count.
    pub total: i64,
    /// Sum of their self times. The selection does not affect the self time of a slice.
    pub self_time: i64,
    /// Their durations.
    pub durations: Distribution,
}

impl Row {
    /// The mean duration, in nanoseconds.
    pub fn mean(&self) -> f64 {
        ratio(self.total, self.count as i64)
    }
}

/// The sum of several groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Number of groups.
    pub n_rows: usize,
    /// Number of slices.
    pub count: u64,
    /// The sum of their durations.
    pub total: i64,
    /// The sum of their self times.
    pub self_time: i64,
}

impl Summary {
    /// Returns the ratio of a time to [`wall`](Self::wall). It may exceed 1.0 if there are several tracks.
    pub fn share_of_wall(&self, time: i64) -> f64 {
        ratio(time, self.wall)
    }
}

/// Returns `part / whole`, or zero if `whole` is zero.
pub(crate) fn ratio(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Rest {
    fn add(&mut self, other: Self) {
        self.n_rows += other.n_rows;
        self.count += other.count;
        self.total = self.total.saturating_add(other.total);
        self.self_time = self.self_time.saturating_add(other.self_time);
    }

    fn of(rows: &[Row]) -> Self {
        let mut sum = Self { n_rows: rows.len(), ..Self::default() };
        for row in rows {
            sum.count += row.count;
            sum.total = sum.total.saturating_add(row.total);
            sum.self_time = sum.self_time.saturating_add(row.self_time);
        }
        sum
    }
}

/// Groups the selected slices of a trace.
pub fn summarize(trace: &Trace, nesting: &Nesting, selected: &Selected, options: &SummaryOptions) -> Summary {
    let mut keys = Keys::new(trace, &options.by, &[]);
    let grouped = group(&nesting.self_time, selected, &mut keys, options.groups_max);
    rows_of(trace, grouped, keys.sets, selected.wall(), options)
}

/// Groups the selected slices of a trace by these labels too. The labels of a row are those that
/// [`labels`](Summary::labels) has for its key.
///
/// Takes the self times of all slices, to free their memory before more is needed for the distribution of durations.
pub fn summarize_labeled(
    trace: &Trace,
    self_time: Vec<i64>,
    selected: &Selected,
    labels: &[Labels],
    options: &SummaryOptions,
) -> Summary {
    let mut keys = Keys::new(trace, &options.by, labels);
    let grouped = group(&self_time, selected, &mut keys, options.groups_max);
    drop(self_time);
    rows_of(trace, grouped, keys.sets, selected.wall(), options)
}

fn rows_of(trace: &Trace, grouped: Grouped, labels: LabelSets, wall: i64, options: &SummaryOptions) -> Summary {
    let Grouped { group_of, mut rows, beyond } = grouped;
    let mut durations = durations_by_group(trace, &group_of, &rows);
    drop(group_of);
    distribute(&mut rows, &mut durations);
    let mut all = Rest::of(&rows);
    all.add(beyond);
    sort(trace, &labels, &mut rows, options.sort);
    let mut rest = Rest::of(&rows[options.top.map_or(rows.len(), |top| top.min(rows.len()))..]);
    rows.truncate(rows.len() - rest.n_rows);
    rest.add(beyond);
    Summary { rows, rest, n_beyond: beyond.count, all, wall, labels }
}

/// No group: the slice is not selected, or its group is beyond the limit.
const NO_GROUP: u32 = u32::MAX;

/// Group of each slice, and the groups with their sums.
struct Grouped {
    group_of: Vec<u32>,
    rows: Vec<Row>,
    /// Sum of all groups beyond the limit.
    beyond: Rest,
}

fn group(self_time: &[i64], selected: &Selected, keys: &mut Keys<'_>, groups_max: usize) -> Grouped {
    let slices = &keys.trace.slices;
    let mut groups: HashMap<Key, u32> = HashMap::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut beyond = Rest::default();
    let mut group_of = vec![NO_GROUP; slices.len()];
    for slice in selected.iter() {
        let key = keys.of_slice(slice, groups_max);
        if rows.len() >= groups_max && !groups.contains_key(&key) {
            let (total, self_time) = (slices.duration[slice], self_time[slice]);
            beyond.add(Rest { n_rows: usize::from(beyond.count == 0), count: 1, total, self_time });
            continue;
        }
        let group = *groups.entry(key).or_insert_with(|| {
            rows.push(Row { key, ..Row::default() });
            rows.len() as u32 - 1
        });
        group_of[slice] = group;
        let row = &mut rows[group as usize];
        row.count += 1;
        row.total = row.total.saturating_add(slices.duration[slice]);
        row.self_time = row.self_time.saturating_add(self_time[slice]);
    }
    Grouped { group_of, rows, beyond }
}

/// Returns the durations of all slices of the first row, then of the second, and so on.
fn durations_by_group(trace: &Trace, group_of: &[u32], rows: &[Row]) -> Vec<i64> {
    let mut next = Vec::with_capacity(rows.len());
    let mut n_slices = 0;
    for row in rows {
        next.push(n_slices);
        n_slices += row.count as usize;
    }
    let mut durations = vec![0; n_slices];
    for (&group, &duration) in group_of.iter().zip(&trace.slices.duration) {
        if group != NO_GROUP {
            let place = &mut next[group as usize];
            durations[*place] = duration;
            *place += 1;
        }
    }
    durations
}

/// Computes the percentiles of the durations of each row.
fn distribute(rows: &mut [Row], durations: &mut [i64]) {
    let n_workers = std::thread::available_parallelism().map_or(1, usize::from);
    let size = durations.len();
    let mut rest = durations;
    let parts = rows.iter_mut().map(|row| {
        let (own, later) = std::mem::take(&mut rest).split_at_mut(row.count as usize);
        rest = later;
        (row, own)
    });
    share_out(
        parts,
        size,
        |(_, own)| own.len(),
        n_workers,
        |batch| {
            for (row, own) in batch {
                row.durations = Distribution::of(own);
            }
        },
    );
}

fn sort(trace: &Trace, labels: &LabelSets, rows: &mut [Row], by: SortBy) {
    rows.sort_by(|row, other| {
        let by_key = || compare_keys(trace, labels, &row.key, &other.key);
        match by {
            SortBy::Total => other.total.cmp(&row.total),
            SortBy::SelfTime => other.self_time.cmp(&row.self_time),
            SortBy::Count => other.count.cmp(&row.count),
            SortBy::Mean => other.mean().total_cmp(&row.mean()),
            SortBy::Max => other.durations.max.cmp(&row.durations.max),
            SortBy::P99 => other.durations.p99.cmp(&row.durations.p99),
            SortBy::Name => std::cmp::Ordering::Equal,
        }
        .then_with(by_key)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::glob::Glob;
    use crate::structure::select::Selection;
    use crate::test_traces;
    use ferrum_trace_model::{OTHER_NAMES, ProcessId, Slice, StringId};
    use proptest::prelude::*;

    fn two_threads() -> Trace {
        test_traces::trace(&[
            ("1", "1", "engine", "step", 0, 100),
            ("1", "1", "op", "gemm", 10, 40),
            ("1", "1", "op", "gemm", 50, 60),
            ("1", "2", "op", "gemm", 0, 20),
            ("2", "1", "op", "attn", 0, 5),
        ])
    }

    fn summary(trace: &Trace, selection: &Selection, options: &SummaryOptions) -> Summary {
        summarize(trace, &Nesting::of(trace), &selection.apply(trace), options)
    }

    fn by(by: &[GroupBy]) -> SummaryOptions {
        SummaryOptions { by: by.to_vec(), ..SummaryOptions::default() }
    }

    fn names(trace: &Trace, summary: &Summary) -> Vec<String> {
        summary.rows.iter().map(|row| trace.strings.get(row.key.name.unwrap()).to_owned()).collect()
    }

    #[test]
    fn a_row_sums_the_slices_of_one_name() {
        let trace = two_threads();
        let summary = summary(&trace, &Selection::default(), &SummaryOptions::default());
        assert_eq!(names(&trace, &summary), ["step", "gemm", "attn"]);
        let gemm = summary.rows[1];
        assert_eq!((gemm.count, gemm.total, gemm.self_time, gemm.mean()), (3, 60, 60, 20.0));
        assert_eq!(gemm.durations, Distribution { min: 10, p50: 20, p95: 30, p99: 30, max: 30 });
        assert_eq!((summary.rows[0].total, summary.rows[0].self_time), (100, 60));
        assert_eq!(summary.all, Rest { n_rows: 3, count: 5, total: 165, self_time: 125 });
        assert_eq!((summary.rest, summary.wall), (Rest::default(), 100));
        assert_eq!(summary.share_of_wall(60), 0.6);
    }

    #[test]
    fn slices_are_grouped_by_any_property() {
        let trace = two_threads();
        let n_rows = |kinds: &[GroupBy]| summary(&trace, &Selection::default(), &by(kinds)).rows.len();
        assert_eq!(n_rows(&[GroupBy::Category]), 2);
        assert_eq!(n_rows(&[GroupBy::Track]), 3);
        assert_eq!(n_rows(&[GroupBy::Process]), 2);
        assert_eq!(n_rows(&[GroupBy::Name, GroupBy::Track]), 4);
        assert_eq!(n_rows(&[GroupBy::Process, GroupBy::Category]), 3);
        assert_eq!(n_rows(&[]), 1);
        let of_process = summary(&trace, &Selection::default(), &by(&[GroupBy::Process])).rows[0];
        assert_eq!((of_process.key.process, of_process.key.name), (Some(ProcessId(0)), None));
    }

    #[test]
    fn rows_are_sorted_and_the_rest_is_counted() {
        let trace = two_threads();
        let sorted = |sort, top| {
            let options = SummaryOptions { sort, top, ..SummaryOptions::default() };
            summary(&trace, &Selection::default(), &options)
        };
        let order = |sort| names(&trace, &sorted(sort, None));
        assert_eq!(order(SortBy::Count), ["gemm", "attn", "step"]);
        assert_eq!(order(SortBy::SelfTime), ["gemm", "step", "attn"]);
        assert_eq!(order(SortBy::Mean), ["step", "gemm", "attn"]);
        assert_eq!(order(SortBy::Max), ["step", "gemm", "attn"]);
        assert_eq!(order(SortBy::P99), ["step", "gemm", "attn"]);
        assert_eq!(order(SortBy::Name), ["attn", "gemm", "step"]);
        let top = sorted(SortBy::Total, Some(1));
        assert_eq!((top.rows.len(), top.rest), (1, Rest { n_rows: 2, count: 4, total: 65, self_time: 65 }));
        assert_eq!(sorted(SortBy::Total, Some(0)).rest, top.all);
        assert_eq!(sorted(SortBy::Total, Some(9)).rest, Rest::default());
    }

    #[test]
    fn other_names_are_a_row_when_there_are_too_many_names() {
        let names_max = ferrum_trace_format::chrome::read::Limits::default().names;
        let mut trace = Trace::default();
        let track = trace.tracks.track(None, None);
        let texts = (0..names_max).map(|n| n.to_string()).chain([String::new(), OTHER_NAMES.to_owned()]);
        for (order, text) in texts.enumerate() {
            let name = trace.strings.intern(&text);
            let (start, duration) = (order as i64 * 10, if text == OTHER_NAMES { 5 } else { 1 });
            trace.slices.push(Slice { start, duration, name, category: StringId::EMPTY, track, order: order as u32 });
        }
        let options = SummaryOptions { top: Some(1), ..SummaryOptions::default() };
        let summary = summary(&trace, &Selection::default(), &options);
        assert_eq!((names(&trace, &summary), summary.n_beyond), (vec![OTHER_NAMES.to_owned()], 0));
    }

    #[test]
    fn groups_beyond_the_limit_are_one_and_part_of_the_rest() {
        let trace = two_threads();
        let options = SummaryOptions { groups_max: 2, ..SummaryOptions::default() };
        let all = summary(&trace, &Selection::default(), &SummaryOptions::default());
        let limited = summary(&trace, &Selection::default(), &options);
        assert_eq!(names(&trace, &limited), ["step", "gemm"]);
        assert_eq!((limited.rows.as_slice(), limited.all), (&all.rows[..2], all.all));
        assert_eq!((limited.rest, limited.n_beyond), (Rest { n_rows: 1, count: 1, total: 5, self_time: 5 }, 1));
    }

    #[test]
    fn the_selection_does_not_change_self_times() {
        let trace = two_threads();
        let selection = Selection { names: vec![Glob::new("step")], ..Selection::default() };
        let summary = summary(&trace, &selection, &SummaryOptions::default());
        assert_eq!((summary.rows.len(), summary.rows[0].self_time, summary.wall), (1, 60, 100));
    }

    #[test]
    fn a_trace_without_slices_has_no_rows() {
        let trace = Trace::default();
        let summary = summary(&trace, &Selection::default(), &SummaryOptions::default());
        assert!(summary.rows.is_empty());
        assert_eq!(summary.share_of_wall(1), 0.0);
    }

    proptest! {
        #[test]
        fn the_sums_do_not_depend_on_the_grouping(
            slices in prop::collection::vec((0_u8..3, 0_u8..3, 0_u8..3, 0_u8..3, 0_i64..50, 0_i64..20), 0..80),
            kinds in prop::sample::subsequence(
                vec![GroupBy::Name, GroupBy::Category, GroupBy::Track, GroupBy::Process], 0..=4),
            top in 0_usize..6,
        ) {
            let texts = ["a", "b", "c"];
            let slices: Vec<_> = slices
                .into_iter()
                .map(|(pid, tid, category, name, start, duration)| {
                    let [pid, tid, category, name] = [pid, tid, category, name].map(|n| texts[usize::from(n)]);
                    (pid, tid, category, name, start, start + duration)
                })
                .collect();
            let trace = test_traces::trace(&slices);
            let nesting = Nesting::of(&trace);
            let options = SummaryOptions { by: kinds, top: Some(top), ..SummaryOptions::default() };
            let summary = summarize(&trace, &nesting, &Selected::all(&trace), &options);
            prop_assert_eq!(summary.all.count as usize, slices.len());
            prop_assert_eq!(summary.all.total, trace.slices.duration.iter().sum::<i64>());
            prop_assert_eq!(summary.all.self_time, nesting.total_self());
            let shown = Rest::of(&summary.rows);
            prop_assert_eq!(shown.total + summary.rest.total, summary.all.total);
            prop_assert_eq!(shown.n_rows + summary.rest.n_rows, summary.all.n_rows);
            for row in &summary.rows {
                let Distribution { min, p50, p95, p99, max } = row.durations;
                prop_assert!(min <= p50 && p50 <= p95 && p95 <= p99 && p99 <= max);
            }
        }
    }
}
