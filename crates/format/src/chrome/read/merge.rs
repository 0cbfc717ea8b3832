//! Puts the columns of the parts of a file together.

use super::columns::{Columns, Edges};
use super::losses::Losses;
use crate::Error;
use ferrum_trace_model::{ArgColumn, Order, StringId, Trace, TrackId};

/// The columns of all parts so far.
#[derive(Debug, Default)]
pub struct Merge {
    pub trace: Trace,
    pub edges: Edges,
    pub losses: Losses,
    pub fields: Vec<(String, Vec<u8>)>,
}

impl Merge {
    pub fn new(wanted: &[String]) -> Self {
        let mut merge = Self::default();
        let empty = |key: &String| ArgColumn { key: key.clone(), ..Default::default() };
        merge.trace.args = wanted.iter().map(empty).collect();
        merge
    }

    /// Adds the next part.
    pub fn append(&mut self, part: &mut Columns<'_>) -> Result<(), Error> {
        self.losses.append(std::mem::take(&mut part.losses));
        self.fields.append(&mut part.fields);
        let Columns { trace: part, edges, .. } = part;
        let n_before = self.trace.census.events;
        if Order::try_from(n_before + part.census.events).is_err() {
            return Err(Error::form(0, "fewer than 4,294,967,296 events", "more"));
        }
        let numbers = self.numbers(part, n_before as Order);
        append_slices(&mut self.trace, part, &numbers);
        append_points(&mut self.trace, part, &numbers);
        append_counters(&mut self.trace, part, &numbers);
        append_args(&mut self.trace, part, &numbers);
        append_census(&mut self.trace, part);
        append_edges(&mut self.edges, edges, &numbers);
        Ok(())
    }

    /// What the part's numbers are in the whole. What it says of processes and tracks is taken over.
    fn numbers(&mut self, part: &Trace, n_before: Order) -> Numbers {
        let Trace { strings, tracks, .. } = &mut self.trace;
        let texts: Vec<StringId> = part.strings.iter().map(|(_, text)| strings.intern(text)).collect();
        let text = |id: Option<StringId>| id.map(|id| texts[id.index()]);
        for (_, process) in part.tracks.processes() {
            let id = tracks.process(text(process.pid));
            let known = tracks.get_process_mut(id);
            known.name = text(process.name).or(known.name);
            known.labels = text(process.labels).or(known.labels);
            known.sort_index = process.sort_index.or(known.sort_index);
        }
        let number_track = |(_, track): (TrackId, &ferrum_trace_model::Track)| {
            let pid = part.tracks.get_process(track.process).pid;
            let id = tracks.track(text(pid), text(track.tid));
            let known = tracks.get_mut(id);
            known.name = text(track.name).or(known.name);
            known.sort_index = track.sort_index.or(known.sort_index);
            id
        };
        let track_ids = part.tracks.iter().map(number_track).collect();
        Numbers { texts, tracks: track_ids, n_before }
    }
}

struct Numbers {
    texts: Vec<StringId>,
    tracks: Vec<TrackId>,
    n_before: Order,
}

impl Numbers {
    fn texts(&self, all: &mut Vec<StringId>, part: &[StringId]) {
        all.extend(part.iter().map(|id| self.texts[id.index()]));
    }

    fn tracks(&self, all: &mut Vec<TrackId>, part: &[TrackId]) {
        all.extend(part.iter().map(|id| self.tracks[id.index()]));
    }

    fn orders(&self, all: &mut Vec<Order>, part: &[Order]) {
        all.extend(part.iter().map(|order| order + self.n_before));
    }
}

fn append_slices(all: &mut Trace, part: &Trace, numbers: &Numbers) {
    let (all, part) = (&mut all.slices, &part.slices);
    all.start.extend_from_slice(&part.start);
    all.duration.extend_from_slice(&part.duration);
    numbers.texts(&mut all.name, &part.name);
    numbers.texts(&mut all.category, &part.category);
    numbers.tracks(&mut all.track, &part.track);
    numbers.orders(&mut all.order, &part.order);
}

fn append_edges(all: &mut Edges, part: &Edges, numbers: &Numbers) {
    all.time.extend_from_slice(&part.time);
    numbers.texts(&mut all.name, &part.name);
    numbers.texts(&mut all.category, &part.category);
    numbers.tracks(&mut all.track, &part.track);
    numbers.orders(&mut all.order, &part.order);
    all.is_begin.extend_from_slice(&part.is_begin);
}

fn append_points(all: &mut Trace, part: &Trace, numbers: &Numbers) {
    let (instants, new) = (&mut all.instants, &part.instants);
    instants.time.extend_from_slice(&new.time);
    numbers.texts(&mut instants.name, &new.name);
    numbers.texts(&mut instants.category, &new.category);
    numbers.tracks(&mut instants.track, &new.track);
    numbers.orders(&mut instants.order, &new.order);
    let (flows, new) = (&mut all.flows, &part.flows);
    flows.time.extend_from_slice(&new.time);
    numbers.texts(&mut flows.name, &new.name);
    numbers.texts(&mut flows.category, &new.category);
    numbers.tracks(&mut flows.track, &new.track);
    numbers.texts(&mut flows.id, &new.id);
    flows.end.extend_from_slice(&new.end);
    let (asyncs, new) = (&mut all.asyncs, &part.asyncs);
    asyncs.time.extend_from_slice(&new.time);
    numbers.texts(&mut asyncs.name, &new.name);
    numbers.texts(&mut asyncs.category, &new.category);
    numbers.tracks(&mut asyncs.track, &new.track);
    numbers.texts(&mut asyncs.id, &new.id);
    asyncs.end.extend_from_slice(&new.end);
    asyncs.is_legacy.extend_from_slice(&new.is_legacy);
    numbers.orders(&mut asyncs.order, &new.order);
}

fn append_counters(all: &mut Trace, part: &Trace, numbers: &Numbers) {
    let (all, part) = (&mut all.counters, &part.counters);
    all.time.extend_from_slice(&part.time);
    numbers.texts(&mut all.name, &part.name);
    numbers.texts(&mut all.series, &part.series);
    numbers.tracks(&mut all.track, &part.track);
    all.value.extend_from_slice(&part.value);
}

fn append_args(all: &mut Trace, part: &Trace, numbers: &Numbers) {
    for (all, part) in all.args.iter_mut().zip(&part.args) {
        numbers.orders(&mut all.order, &part.order);
        numbers.texts(&mut all.value, &part.value);
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
