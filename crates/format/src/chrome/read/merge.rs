//! Joins the columns of the pieces of a file.

use super::column_pool::ColumnPool;
use super::columns::{BeginEnds, Columns};
use super::losses::Losses;
use super::renumbering::{Limits, NewNumbers, Renumbering};
use crate::Error;
use ferrum_trace_model::{ArgColumn, Order, Trace};

/// The columns of all pieces so far.
#[derive(Debug)]
pub(crate) struct Merge<'p, 'w> {
    pub trace: Trace,
    pub begin_ends: BeginEnds,
    pub losses: Losses,
    pub fields: Vec<(String, Vec<u8>)>,
    numbering: Renumbering,
    pool: &'p ColumnPool<'w>,
}

impl<'p, 'w> Merge<'p, 'w> {
    /// Creates empty columns with one for each argument in `wanted`. The columns of pieces go back to `pool`.
    pub(crate) fn new(wanted: &[String], limits: Limits, pool: &'p ColumnPool<'w>) -> Self {
        let empty = |key: &String| ArgColumn { key: key.clone(), ..Default::default() };
        Self {
            trace: Trace { args: wanted.iter().map(empty).collect(), ..Trace::default() },
            begin_ends: BeginEnds::default(),
            losses: Losses::default(),
            fields: Vec::new(),
            numbering: Renumbering::new(limits),
            pool,
        }
    }

    /// Adds the next piece.
    pub(crate) fn append(&mut self, mut piece: Columns<'w>) -> Result<(), Error> {
        self.losses.append(std::mem::take(&mut piece.losses));
        self.fields.append(&mut piece.fields);
        let n_before = self.trace.census.events;
        if Order::try_from(n_before + piece.trace.census.events).is_err() {
            return Err(Error::malformed(0, "fewer than 4,294,967,296 events", "more"));
        }
        let numbers = self.numbering.number(&mut self.trace, &piece, n_before as Order);
        self.trace.census.beyond.on_tracks += numbers.remove_events(&mut piece);
        append_slices(&mut self.trace, &piece.trace, &numbers);
        append_points(&mut self.trace, &piece.trace, &numbers);
        append_counters(&mut self.trace, &piece.trace, &numbers);
        append_args(&mut self.trace, &piece.trace, &numbers);
        append_census(&mut self.trace, &piece.trace);
        append_begin_ends(&mut self.begin_ends, &piece.begin_ends, &numbers);
        self.pool.give_back(piece);
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

fn append_slices(all: &mut Trace, piece: &Trace, numbers: &NewNumbers) {
    let (all, piece) = (&mut all.slices, &piece.slices);
    all.start.extend_from_slice(&piece.start);
    all.duration.extend_from_slice(&piece.duration);
    numbers.names(&mut all.name, &piece.name);
    numbers.names(&mut all.category, &piece.category);
    numbers.tracks(&mut all.track, &piece.track);
    numbers.orders(&mut all.order, &piece.order);
}

fn append_begin_ends(all: &mut BeginEnds, piece: &BeginEnds, numbers: &NewNumbers) {
    all.time.extend_from_slice(&piece.time);
    numbers.names(&mut all.name, &piece.name);
    numbers.names(&mut all.category, &piece.category);
    numbers.tracks(&mut all.track, &piece.track);
    numbers.orders(&mut all.order, &piece.order);
    all.is_begin.extend_from_slice(&piece.is_begin);
}

fn append_points(all: &mut Trace, piece: &Trace, numbers: &NewNumbers) {
    let (instants, new) = (&mut all.instants, &piece.instants);
    instants.time.extend_from_slice(&new.time);
    numbers.names(&mut instants.name, &new.name);
    numbers.names(&mut instants.category, &new.category);
    numbers.tracks(&mut instants.track, &new.track);
    numbers.orders(&mut instants.order, &new.order);
    let (flows, new) = (&mut all.flows, &piece.flows);
    flows.time.extend_from_slice(&new.time);
    numbers.names(&mut flows.name, &new.name);
    numbers.names(&mut flows.category, &new.category);
    numbers.tracks(&mut flows.track, &new.track);
    numbers.values(&mut flows.id, &new.id);
    flows.end.extend_from_slice(&new.end);
    let (asyncs, new) = (&mut all.asyncs, &piece.asyncs);
    asyncs.time.extend_from_slice(&new.time);
    numbers.names(&mut asyncs.name, &new.name);
    numbers.names(&mut asyncs.category, &new.category);
    numbers.tracks(&mut asyncs.track, &new.track);
    numbers.values(&mut asyncs.id, &new.id);
    asyncs.end.extend_from_slice(&new.end);
    asyncs.is_legacy.extend_from_slice(&new.is_legacy);
    numbers.orders(&mut asyncs.order, &new.order);
}

fn append_counters(all: &mut Trace, piece: &Trace, numbers: &NewNumbers) {
    let (all, piece) = (&mut all.counters, &piece.counters);
    all.time.extend_from_slice(&piece.time);
    numbers.names(&mut all.name, &piece.name);
    numbers.names(&mut all.series, &piece.series);
    numbers.tracks(&mut all.track, &piece.track);
    all.value.extend_from_slice(&piece.value);
}

fn append_args(all: &mut Trace, piece: &Trace, numbers: &NewNumbers) {
    for (all, piece) in all.args.iter_mut().zip(&piece.args) {
        numbers.orders(&mut all.order, &piece.order);
        numbers.args(&mut all.value, &piece.value);
    }
}

fn append_census(all: &mut Trace, piece: &Trace) {
    let (all, piece) = (&mut all.census, &piece.census);
    all.events += piece.events;
    for (all, piece) in all.phases.iter_mut().zip(&piece.phases) {
        *all += piece;
    }
    if let (Some(first), Some(last)) = (piece.first, piece.last) {
        all.note_time(first, last);
    }
    all.anomalies.unusable += piece.anomalies.unusable;
}
