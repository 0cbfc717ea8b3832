//! Joins the columns of the pieces of a file.

use super::columns::{BeginEnds, Columns};
use super::losses::Losses;
use super::renumbering::{Limits, NewNumbers, Renumbering};
use crate::Error;
use ferrum_trace_model::{ArgColumn, Order, Trace};

/// The columns of all pieces so far.
#[derive(Debug, Default)]
pub(crate) struct Merge {
    pub trace: Trace,
    pub begin_ends: BeginEnds,
    pub losses: Losses,
    pub fields: Vec<(String, Vec<u8>)>,
    numbering: Renumbering,
}

impl Merge {
    pub(crate) fn new(wanted: &[String], limits: Limits) -> Self {
        let mut merge = Self { numbering: Renumbering::new(limits), ..Self::default() };
        let empty = |key: &String| ArgColumn { key: key.clone(), ..Default::default() };
        merge.trace.args = wanted.iter().map(empty).collect();
        merge
    }

    /// Adds the next piece.
    pub(crate) fn append(&mut self, part: &mut Columns<'_>) -> Result<(), Error> {
        self.losses.append(std::mem::take(&mut part.losses));
        self.fields.append(&mut part.fields);
        let n_before = self.trace.census.events;
        if Order::try_from(n_before + part.trace.census.events).is_err() {
            return Err(Error::malformed(0, "fewer than 4,294,967,296 events", "more"));
        }
        let numbers = self.numbering.number(&mut self.trace, part, n_before as Order);
        self.trace.census.beyond.on_tracks += numbers.remove_events(part);
        let Columns { trace: part, begin_ends, .. } = part;
        append_slices(&mut self.trace, part, &numbers);
        append_points(&mut self.trace, part, &numbers);
        append_counters(&mut self.trace, part, &numbers);
        append_args(&mut self.trace, part, &numbers);
        append_census(&mut self.trace, part);
        append_begin_ends(&mut self.begin_ends, begin_ends, &numbers);
        Ok(())
    }

    /// Counts the names that were replaced because they are beyond the limit.
    pub(crate) fn count_replaced_names(&mut self) {
        let Trace { slices, instants, flows, asyncs, counters, .. } = &self.trace;
        let columns = [
            [&slices.name, &slices.category],
            [&instants.name, &instants.category],
            [&flows.name, &flows.category],
            [&asyncs.name, &asyncs.category],
            [&counters.name, &counters.series],
            [&self.begin_ends.name, &self.begin_ends.category],
        ];
        let names = columns.into_iter().flatten();
        self.trace.census.beyond.names = names.map(|names| self.numbering.n_replaced(names)).sum();
    }
}

fn append_slices(all: &mut Trace, part: &Trace, numbers: &NewNumbers) {
    let (all, part) = (&mut all.slices, &part.slices);
    all.start.extend_from_slice(&part.start);
    all.duration.extend_from_slice(&part.duration);
    numbers.names(&mut all.name, &part.name);
    numbers.names(&mut all.category, &part.category);
    numbers.tracks(&mut all.track, &part.track);
    numbers.orders(&mut all.order, &part.order);
}

fn append_begin_ends(all: &mut BeginEnds, part: &BeginEnds, numbers: &NewNumbers) {
    all.time.extend_from_slice(&part.time);
    numbers.names(&mut all.name, &part.name);
    numbers.names(&mut all.category, &part.category);
    numbers.tracks(&mut all.track, &part.track);
    numbers.orders(&mut all.order, &part.order);
    all.is_begin.extend_from_slice(&part.is_begin);
}

fn append_points(all: &mut Trace, part: &Trace, numbers: &NewNumbers) {
    let (instants, new) = (&mut all.instants, &part.instants);
    instants.time.extend_from_slice(&new.time);
    numbers.names(&mut instants.name, &new.name);
    numbers.names(&mut instants.category, &new.category);
    numbers.tracks(&mut instants.track, &new.track);
    numbers.orders(&mut instants.order, &new.order);
    let (flows, new) = (&mut all.flows, &part.flows);
    flows.time.extend_from_slice(&new.time);
    numbers.names(&mut flows.name, &new.name);
    numbers.names(&mut flows.category, &new.category);
    numbers.tracks(&mut flows.track, &new.track);
    numbers.values(&mut flows.id, &new.id);
    flows.end.extend_from_slice(&new.end);
    let (asyncs, new) = (&mut all.asyncs, &part.asyncs);
    asyncs.time.extend_from_slice(&new.time);
    numbers.names(&mut asyncs.name, &new.name);
    numbers.names(&mut asyncs.category, &new.category);
    numbers.tracks(&mut asyncs.track, &new.track);
    numbers.values(&mut asyncs.id, &new.id);
    asyncs.end.extend_from_slice(&new.end);
    asyncs.is_legacy.extend_from_slice(&new.is_legacy);
    numbers.orders(&mut asyncs.order, &new.order);
}

fn append_counters(all: &mut Trace, part: &Trace, numbers: &NewNumbers) {
    let (all, part) = (&mut all.counters, &part.counters);
    all.time.extend_from_slice(&part.time);
    numbers.names(&mut all.name, &part.name);
    numbers.names(&mut all.series, &part.series);
    numbers.tracks(&mut all.track, &part.track);
    all.value.extend_from_slice(&part.value);
}

fn append_args(all: &mut Trace, part: &Trace, numbers: &NewNumbers) {
    for (all, part) in all.args.iter_mut().zip(&part.args) {
        numbers.orders(&mut all.order, &part.order);
        numbers.values(&mut all.value, &part.value);
    }
}

fn append_census(all: &mut Trace, part: &Trace) {
    let (all, part) = (&mut all.census, &part.census);
    all.events += part.events;
    for (all, part) in all.phases.iter_mut().zip(&part.phases) {
        *all += part;
    }
    if let (Some(first), Some(last)) = (part.first, part.last) {
        all.note_time(first, last);
    }
    all.anomalies.unusable += part.anomalies.unusable;
}
