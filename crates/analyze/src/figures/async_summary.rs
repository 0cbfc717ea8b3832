//! Groups async operations and sums up their durations.

use super::keys::{Key, Keys, LabelSets, compare_keys};
use super::labels::Labels;
use super::percentile::Distribution;
use super::summary::{SortBy, SummaryOptions, ratio};
use crate::structure::async_ops::{AsyncOp, BusyTime};
use ferrum_trace_model::Trace;
use hashbrown::HashMap;

/// Async operations in groups.
#[derive(Clone, Debug, Default)]
pub struct AsyncSummary {
    /// The groups, sorted, at most [`SummaryOptions::top`].
    pub rows: Vec<AsyncRow>,
    /// The sum of the groups that are not among the rows.
    pub rest: AsyncRest,
    /// The sum of all groups.
    pub all: AsyncRest,
    /// The labels of the rows.
    pub labels: LabelSets,
}

/// One group. Times are nanoseconds, of the operations that are finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncRow {
    /// Key that the operations share. Track and process are those of their begins.
    pub key: Key,
    /// The number of operations, unfinished ones included.
    pub count: u64,
    /// The number of operations that have no end in the trace.
    pub n_unfinished: u64,
    /// The sum of the durations.
    pub total: i64,
    /// The durations.
    pub durations: Distribution,
    /// The sum of busy and idle times, if any operation of the group has them.
    pub busy: Option<BusyTime>,
}

impl AsyncRow {
    /// The mean duration of the finished operations, in nanoseconds.
    pub fn mean(&self) -> f64 {
        ratio(self.total, (self.count - self.n_unfinished) as i64)
    }

    /// Returns true if any operation is finished.
    pub fn has_durations(&self) -> bool {
        self.count > self.n_unfinished
    }
}

/// The sum of several groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncRest {
    /// The number of groups.
    pub n_rows: usize,
    /// The number of operations, unfinished ones included.
    pub count: u64,
    /// The number of unfinished operations.
    pub n_unfinished: u64,
    /// The sum of the durations.
    pub total: i64,
}

impl AsyncRest {
    fn of(rows: &[AsyncRow]) -> Self {
        let mut sum = Self { n_rows: rows.len(), ..Self::default() };
        for row in rows {
            sum.count += row.count;
            sum.n_unfinished += row.n_unfinished;
            sum.total = sum.total.saturating_add(row.total);
        }
        sum
    }
}

/// Groups async operations according to `options`. They have no self time: sorting by it sorts by total.
pub fn summarize_asyncs(trace: &Trace, ops: &[AsyncOp], options: &SummaryOptions) -> AsyncSummary {
    summarize_asyncs_labeled(trace, ops, &[], options)
}

/// Groups async operations by these labels too. Of all labels, they have only arguments.
pub fn summarize_asyncs_labeled(
    trace: &Trace,
    ops: &[AsyncOp],
    labels: &[Labels],
    options: &SummaryOptions,
) -> AsyncSummary {
    let mut keys = Keys::new(trace, &options.by, labels);
    let mut rows = rows(ops, &mut keys);
    let labels = keys.sets;
    let all = AsyncRest::of(&rows);
    rows.sort_by(|row, other| {
        match options.sort {
            SortBy::Total | SortBy::SelfTime => other.total.cmp(&row.total),
            SortBy::Count => other.count.cmp(&row.count),
            SortBy::Mean => other.mean().total_cmp(&row.mean()),
            SortBy::Max => other.durations.max.cmp(&row.durations.max),
            SortBy::P99 => other.durations.p99.cmp(&row.durations.p99),
            SortBy::Name => std::cmp::Ordering::Equal,
        }
        .then_with(|| compare_keys(trace, &labels, &row.key, &other.key))
    });
    let n_kept = options.top.map_or(rows.len(), |top| top.min(rows.len()));
    let rest = AsyncRest::of(&rows[n_kept..]);
    rows.truncate(n_kept);
    AsyncSummary { rows, rest, all, labels }
}

fn rows(ops: &[AsyncOp], keys: &mut Keys<'_>) -> Vec<AsyncRow> {
    let mut groups: HashMap<Key, usize> = HashMap::new();
    let mut rows: Vec<(AsyncRow, Vec<i64>)> = Vec::new();
    for op in ops {
        let key = keys.of_op(op);
        let group = *groups.entry(key).or_insert_with(|| {
            rows.push((AsyncRow { key, ..AsyncRow::default() }, Vec::new()));
            rows.len() - 1
        });
        let (row, durations) = &mut rows[group];
        row.count += 1;
        match op.duration() {
            Some(duration) => {
                row.total = row.total.saturating_add(duration);
                durations.push(duration);
            }
            None => row.n_unfinished += 1,
        }
        if let Some(BusyTime { busy, idle }) = op.busy {
            let sum = row.busy.get_or_insert_default();
            sum.busy = sum.busy.saturating_add(busy);
            sum.idle = sum.idle.saturating_add(idle);
        }
    }
    let distributed =
        |(row, mut durations): (AsyncRow, Vec<i64>)| AsyncRow { durations: Distribution::of(&mut durations), ..row };
    rows.into_iter().map(distributed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::keys::GroupBy;
    use ferrum_trace_model::Trace;

    /// Operations of these names, durations and busy times; one without a duration is unfinished.
    fn ops(trace: &mut Trace, ops: &[(&str, Option<i64>, Option<i64>)]) -> Vec<AsyncOp> {
        let category = trace.strings.intern("c");
        let track = trace.tracks.track(None, None);
        let mut made = Vec::new();
        for (order, &(name, duration, busy)) in ops.iter().enumerate() {
            made.push(AsyncOp {
                start: 10,
                end: duration.map(|duration| 10 + duration),
                name: trace.strings.intern(name),
                category,
                id: category,
                track,
                order: order as u32,
                busy: busy.zip(duration).map(|(busy, duration)| BusyTime { busy, idle: duration - busy }),
            });
        }
        made
    }

    #[test]
    fn a_row_sums_operations_of_one_name() {
        let mut trace = Trace::default();
        let ops = ops(
            &mut trace,
            &[
                ("a", Some(10), Some(4)),
                ("b", Some(1), None),
                ("a", None, None),
                ("a", Some(30), None),
                ("c", None, None),
            ],
        );
        let summary = summarize_asyncs(&trace, &ops, &SummaryOptions { top: Some(2), ..SummaryOptions::default() });
        let [a, b] = summary.rows[..] else { panic!("{summary:?}") };
        assert_eq!((a.count, a.n_unfinished, a.total, a.mean()), (3, 1, 40, 20.0));
        assert_eq!(a.durations, Distribution { min: 10, p50: 10, p95: 30, p99: 30, max: 30 });
        assert_eq!((a.busy, b.busy), (Some(BusyTime { busy: 4, idle: 6 }), None));
        assert_eq!(trace.strings.get(b.key.name.unwrap()), "b");
        assert_eq!(summary.rest, AsyncRest { n_rows: 1, count: 1, n_unfinished: 1, total: 0 });
        assert_eq!(summary.all, AsyncRest { n_rows: 3, count: 5, n_unfinished: 2, total: 41 });
    }

    #[test]
    fn operations_are_grouped_by_any_key_and_sorted() {
        let mut trace = Trace::default();
        let ops = ops(&mut trace, &[("a", Some(9), None), ("b", Some(5), None), ("b", Some(6), None)]);
        let by_category = SummaryOptions { by: vec![GroupBy::Category], ..SummaryOptions::default() };
        assert_eq!(summarize_asyncs(&trace, &ops, &by_category).rows[0].count, 3);
        let first = |sort| {
            let options = SummaryOptions { sort, ..SummaryOptions::default() };
            trace.strings.get(summarize_asyncs(&trace, &ops, &options).rows[0].key.name.unwrap()).to_owned()
        };
        let sorts =
            [SortBy::Total, SortBy::SelfTime, SortBy::Count, SortBy::Mean, SortBy::Max, SortBy::P99, SortBy::Name];
        assert_eq!(sorts.map(first), ["b", "b", "b", "a", "a", "a", "a"]);
    }
}
