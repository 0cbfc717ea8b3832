//! Keys of groups: the properties that the slices of a group share.

use super::labels::{Label, Labels};
use crate::structure::async_ops::AsyncOp;
use ferrum_trace_model::{ProcessId, StringId, Trace, TrackId};
use hashbrown::HashMap;
use std::cmp::Ordering;

/// Properties by which slices can be grouped.
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

/// Properties that all slices of a row share. A property that they were not grouped by is `None`.
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
    /// The index of their labels in [`LabelSets`]; zero if they were not grouped by labels.
    labels: u32,
}

/// Combinations of labels, numbered in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub struct LabelSets {
    sets: Vec<Vec<Option<Label>>>,
    numbers: HashMap<Vec<Option<Label>>, u32>,
}

/// Number of a combination beyond the limit.
const BEYOND: u32 = u32::MAX;

impl LabelSets {
    /// Returns the labels of a row, in the order in which they were requested.
    pub fn get(&self, key: &Key) -> &[Option<Label>] {
        self.sets.get(key.labels as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns true if any combination has the label with this index.
    pub fn has(&self, index: usize) -> bool {
        self.sets.iter().any(|set| set.get(index).is_some_and(Option::is_some))
    }

    /// Returns the number of a combination. At most `max` combinations are numbered.
    fn number(&mut self, labels: impl Iterator<Item = Option<Label>>, max: usize) -> u32 {
        let labels: Vec<Option<Label>> = labels.collect();
        if let Some(&number) = self.numbers.get(&labels) {
            return number;
        }
        if self.sets.len() >= max {
            return BEYOND;
        }
        let number = self.sets.len() as u32;
        self.sets.push(labels.clone());
        self.numbers.insert(labels, number);
        number
    }
}

/// Builds the keys of groups.
pub(crate) struct Keys<'a> {
    pub trace: &'a Trace,
    by_name: bool,
    by_category: bool,
    by_track: bool,
    by_process: bool,
    labels: &'a [Labels],
    pub sets: LabelSets,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(trace: &'a Trace, by: &[GroupBy], labels: &'a [Labels]) -> Self {
        let [by_name, by_category, by_track, by_process] =
            [GroupBy::Name, GroupBy::Category, GroupBy::Track, GroupBy::Process].map(|kind| by.contains(&kind));
        Self { trace, by_name, by_category, by_track, by_process, labels, sets: LabelSets::default() }
    }

    /// Returns the key of the group of a slice. At most `sets_max` combinations of labels are told apart.
    #[inline]
    pub(crate) fn of_slice(&mut self, slice: usize, sets_max: usize) -> Key {
        let slices = &self.trace.slices;
        let key = self.key(slices.name[slice], slices.category[slice], slices.track[slice]);
        if self.labels.is_empty() {
            return key;
        }
        let labels = self.labels.iter().map(|labels| labels.of_slice(self.trace, slice));
        Key { labels: self.sets.number(labels, sets_max), ..key }
    }

    /// Returns the key of the group of an async operation.
    pub(crate) fn of_op(&mut self, op: &AsyncOp) -> Key {
        let key = self.key(op.name, op.category, op.track);
        let labels = self.labels.iter().map(|labels| labels.of_op(self.trace, op));
        Key { labels: self.sets.number(labels, usize::MAX), ..key }
    }

    #[inline]
    fn key(&self, name: StringId, category: StringId, track: TrackId) -> Key {
        Key {
            name: self.by_name.then_some(name),
            category: self.by_category.then_some(category),
            track: self.by_track.then_some(track),
            process: self.by_process.then(|| self.trace.tracks.get(track).process),
            labels: 0,
        }
    }
}

/// Compares by name, category, labels, process and track, as far as the rows have them.
pub(crate) fn compare_keys(trace: &Trace, sets: &LabelSets, key: &Key, other: &Key) -> Ordering {
    let text = |id: Option<StringId>| id.map(|id| trace.strings.get(id));
    (text(key.name).cmp(&text(other.name)))
        .then_with(|| text(key.category).cmp(&text(other.category)))
        .then_with(|| compare_labels(trace, sets.get(key), sets.get(other)))
        .then_with(|| key.process.cmp(&other.process))
        .then_with(|| key.track.cmp(&other.track))
}

fn compare_labels(trace: &Trace, labels: &[Option<Label>], others: &[Option<Label>]) -> Ordering {
    let pairs = labels.iter().zip(others).map(|(&label, &other)| Label::compare(trace, label, other));
    pairs.fold(Ordering::Equal, Ordering::then)
}
