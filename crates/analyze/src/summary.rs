//! Where the time went: slices in groups.

use crate::share_out::share_out;
use crate::{Distribution, Nesting, Selected};
use ferrum_trace_model::{ProcessId, StringId, Trace, TrackId};
use hashbrown::HashMap;

/// What slices can be grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupBy {
    /// Their names.
    Name,
    /// Their categories.
    Category,
    /// Their tracks.
    Track,
    /// Their processes.
    Process,
}

/// What rows can be sorted by: the largest first, names in the order of the alphabet. Rows that are equal in it are in
/// the order of what they are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// The sum of durations.
    #[default]
    Total,
    /// The sum of self times.
    SelfTime,
    /// How many slices there are.
    Count,
    /// The mean duration.
    Mean,
    /// The longest duration.
    Max,
    /// The duration that 99 of 100 do not exceed.
    P99,
    /// What a row is called.
    Name,
}

/// How to make a [`Summary`].
#[derive(Clone, Debug)]
pub struct SummaryOptions {
    /// What makes a group: slices in which all of these are the same.
    pub by: Vec<GroupBy>,
    /// The order of the rows.
    pub sort: SortBy,
    /// How many rows to keep, all if `None`.
    pub top: Option<usize>,
}

impl Default for SummaryOptions {
    fn default() -> Self {
        Self { by: vec![GroupBy::Name], sort: SortBy::default(), top: None }
    }
}

/// Slices in groups.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The groups, sorted, as many as were asked for.
    pub rows: Vec<Row>,
    /// The sum of the groups that are not among the rows.
    pub rest: Rest,
    /// The sum of all groups.
    pub all: Rest,
    /// From the first event of the trace to the end of the last, in nanoseconds; whatever was selected.
    pub wall: i64,
}

/// What is the same for all slices of a row. What they were not grouped by is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// Their name.
    pub name: Option<StringId>,
    /// Their category.
    pub category: Option<StringId>,
    /// Their track.
    pub track: Option<TrackId>,
    /// Their process.
    pub process: Option<ProcessId>,
}

/// One group. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// What its slices have in common.
    pub key: Key,
    /// How many there are.
    pub count: u64,
    /// The sum of their durations; slices that lie in each other both count.
    pub total: i64,
    /// The sum of their self times. The self time of a slice is the same whichever slices are selected.
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
    /// How many groups.
    pub n_rows: usize,
    /// How many slices.
    pub count: u64,
    /// The sum of their durations.
    pub total: i64,
    /// The sum of their self times.
    pub self_time: i64,
}

impl Summary {
    /// What part of the trace's wall time some time is: 1.0 is all of it. It may be more, on several tracks.
    pub fn share_of_wall(&self, time: i64) -> f64 {
        ratio(time, self.wall)
    }

    /// What part of the sum of all self times some time is.
    pub fn share_of_self(&self, time: i64) -> f64 {
        ratio(time, self.all.self_time)
    }
}

/// Zero if there is nothing to divide by.
fn ratio(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Rest {
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
    let mut rows = rows(trace, nesting, selected, &options.by);
    let all = Rest::of(&rows);
    sort(trace, &mut rows, options.sort);
    let rest = Rest::of(&rows[options.top.map_or(rows.len(), |top| top.min(rows.len()))..]);
    rows.truncate(rows.len() - rest.n_rows);
    Summary { rows, rest, all, wall: trace.census.span() }
}

/// No group: of slices that are not selected.
const NO_GROUP: u32 = u32::MAX;

fn rows(trace: &Trace, nesting: &Nesting, selected: &Selected, by: &[GroupBy]) -> Vec<Row> {
    let (group_of, mut rows) = group(trace, nesting, selected, by);
    let mut durations = durations_by_group(trace, &group_of, &rows);
    distribute(&mut rows, &mut durations);
    rows
}

/// The group of each slice, and the groups with their sums.
fn group(trace: &Trace, nesting: &Nesting, selected: &Selected, by: &[GroupBy]) -> (Vec<u32>, Vec<Row>) {
    let slices = &trace.slices;
    let [by_name, by_category, by_track, by_process] =
        [GroupBy::Name, GroupBy::Category, GroupBy::Track, GroupBy::Process].map(|kind| by.contains(&kind));
    let mut groups: HashMap<Key, u32> = HashMap::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut group_of = vec![NO_GROUP; slices.len()];
    for slice in selected.iter() {
        let track = slices.track[slice];
        let key = Key {
            name: by_name.then(|| slices.name[slice]),
            category: by_category.then(|| slices.category[slice]),
            track: by_track.then_some(track),
            process: by_process.then(|| trace.tracks.get(track).process),
        };
        let group = *groups.entry(key).or_insert_with(|| {
            rows.push(Row { key, ..Row::default() });
            rows.len() as u32 - 1
        });
        group_of[slice] = group;
        let row = &mut rows[group as usize];
        row.count += 1;
        row.total = row.total.saturating_add(slices.duration[slice]);
        row.self_time = row.self_time.saturating_add(nesting.self_time[slice]);
    }
    (group_of, rows)
}

/// The durations of all slices of the first row, then of the second, and so on.
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

/// Finds how the durations of each row are distributed.
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
        |trip| {
            for (row, own) in trip {
                row.durations = Distribution::of(own);
            }
        },
    );
}

fn sort(trace: &Trace, rows: &mut [Row], by: SortBy) {
    rows.sort_by(|row, other| {
        let by_key = || compare_keys(trace, &row.key, &other.key);
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

/// By name, category, process and track, as far as rows have them.
fn compare_keys(trace: &Trace, key: &Key, other: &Key) -> std::cmp::Ordering {
    let text = |id: Option<StringId>| id.map(|id| trace.strings.get(id));
    (text(key.name).cmp(&text(other.name)))
        .then_with(|| text(key.category).cmp(&text(other.category)))
        .then_with(|| key.process.cmp(&other.process))
        .then_with(|| key.track.cmp(&other.track))
}
