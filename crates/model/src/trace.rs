//! A trace in memory: a table of columns for each kind of event.

use crate::{ArgValue, StringId, Strings, TrackId, Tracks};

/// The position of an event in its file, counted in events from zero.
pub type Order = u32;

/// A trace. Times are nanoseconds as stated in the file; the first event may have any time.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// All texts that the columns refer to.
    pub strings: Strings,
    /// Processes and tracks.
    pub tracks: Tracks,
    /// Events with a duration on a track.
    pub slices: Slices,
    /// Events without a duration on a track.
    pub instants: Points,
    /// Points of flows between slices.
    pub flows: Flows,
    /// Begins, steps and ends of async events, such as requests and tasks.
    pub asyncs: Asyncs,
    /// Values of counters.
    pub counters: Counters,
    /// The requested arguments, in the order of the request.
    pub args: Vec<ArgColumn>,
    /// Counts of the events in the file.
    pub census: Census,
}

impl Trace {
    /// Removes everything except the list of requested arguments; keeps the memory.
    pub fn clear(&mut self) {
        let Self { strings, tracks, slices, instants, flows, asyncs, counters, args, census } = self;
        strings.clear();
        tracks.clear();
        slices.clear();
        instants.clear();
        flows.clear();
        asyncs.clear();
        counters.clear();
        for column in args {
            column.order.clear();
            column.value.clear();
        }
        *census = Census::default();
    }
}

/// Implements the methods that apply to every column of a table.
macro_rules! each_column {
    ($table:ident: $($column:ident),*) => {
        impl $table {
            fn clear(&mut self) {
                $(self.$column.clear();)*
            }

            /// Removes the entries of unwanted tracks. Returns the number of removed entries.
            pub fn retain_tracks(&mut self, is_wanted: impl Fn(TrackId) -> bool) -> u64 {
                let is_kept: Vec<bool> = self.track.iter().map(|&track| is_wanted(track)).collect();
                $(retain_entries(&mut self.$column, &is_kept);)*
                is_kept.iter().filter(|&&is_kept| !is_kept).count() as u64
            }
        }
    };
}

each_column!(Slices: start, duration, name, category, track, order);
each_column!(Points: time, name, category, track, order);
each_column!(Flows: time, name, category, track, id, end);
each_column!(Asyncs: time, name, category, track, id, end, is_legacy, order);
each_column!(Counters: time, name, series, track, value);

/// Removes the entries of a column for which `is_kept` is false.
pub fn retain_entries<T>(column: &mut Vec<T>, is_kept: &[bool]) {
    let mut is_kept = is_kept.iter();
    column.retain(|_| is_kept.next().is_none_or(|&is_kept| is_kept));
}

/// Slices. The slices of one track may be in any order.
#[derive(Clone, Debug, Default)]
pub struct Slices {
    /// Begin of each slice.
    pub start: Vec<i64>,
    /// Duration of each slice; never negative.
    pub duration: Vec<i64>,
    /// Name of each slice.
    pub name: Vec<StringId>,
    /// Category of each slice; empty if it has none.
    pub category: Vec<StringId>,
    /// Track of each slice.
    pub track: Vec<TrackId>,
    /// Position of each begin in the file: of two slices with the same times, the first is the outer one.
    pub order: Vec<Order>,
}

impl Slices {
    /// Returns the number of slices.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Returns true if there are no slices.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Returns the end of slice `n`.
    pub fn end(&self, n: usize) -> i64 {
        self.start[n].saturating_add(self.duration[n])
    }

    /// Adds a slice.
    pub fn push(&mut self, slice: Slice) {
        self.start.push(slice.start);
        self.duration.push(slice.duration);
        self.name.push(slice.name);
        self.category.push(slice.category);
        self.track.push(slice.track);
        self.order.push(slice.order);
    }
}

/// One row of [`Slices`].
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// Begin.
    pub start: i64,
    /// Duration.
    pub duration: i64,
    /// Name.
    pub name: StringId,
    /// Category.
    pub category: StringId,
    /// Track.
    pub track: TrackId,
    /// Position in the file.
    pub order: Order,
}

/// Events at one point in time.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// Time of each event.
    pub time: Vec<i64>,
    /// Name of each event.
    pub name: Vec<StringId>,
    /// Category of each event.
    pub category: Vec<StringId>,
    /// Track of each event.
    pub track: Vec<TrackId>,
    /// Position of each event in the file; the key to its arguments.
    pub order: Vec<Order>,
}

/// The role of an event in a flow or an async event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The begin.
    Begin,
    /// A point in between.
    Step,
    /// The end.
    Finish,
}

/// Points of flows. Points with the same category, name and id belong to one flow.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    /// Time of each point.
    pub time: Vec<i64>,
    /// Name of each point.
    pub name: Vec<StringId>,
    /// Category of each point.
    pub category: Vec<StringId>,
    /// Track of each point.
    pub track: Vec<TrackId>,
    /// Id of each point, as text; it joins the points of a flow.
    pub id: Vec<StringId>,
    /// Role of each point in its flow.
    pub end: Vec<End>,
}

/// Points of async events. Points with the same category and id belong together, and the same name if they nest.
#[derive(Clone, Debug, Default)]
pub struct Asyncs {
    /// Time of each point.
    pub time: Vec<i64>,
    /// Name of each point.
    pub name: Vec<StringId>,
    /// Category of each point.
    pub category: Vec<StringId>,
    /// Track that each point was recorded on.
    pub track: Vec<TrackId>,
    /// Id of each point, as text. An id that is local to its process is preceded by the process id.
    pub id: Vec<StringId>,
    /// Role of each point in its async event.
    pub end: Vec<End>,
    /// True for each point of the older kind (phases S, T, p, F), which does not nest.
    pub is_legacy: Vec<bool>,
    /// Position of each point in the file; the key to its arguments.
    pub order: Vec<Order>,
}

/// Values of counters over time.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Time of each value.
    pub time: Vec<i64>,
    /// Name of the counter.
    pub name: Vec<StringId>,
    /// Series of the counter.
    pub series: Vec<StringId>,
    /// Track that each value was recorded on; a counter belongs to the process of the track.
    pub track: Vec<TrackId>,
    /// Each value.
    pub value: Vec<f64>,
}

/// The values of one argument, for the events that have it: begins of slices, instants and async events.
#[derive(Clone, Debug, Default)]
pub struct ArgColumn {
    /// The requested key.
    pub key: String,
    /// Positions of the events with this argument, ascending.
    pub order: Vec<Order>,
    /// Value of each event.
    pub value: Vec<ArgValue>,
}

impl ArgColumn {
    /// Returns the value that an event has.
    pub fn of(&self, order: Order) -> Option<ArgValue> {
        self.order.binary_search(&order).ok().map(|place| self.value[place])
    }
}

/// Counts of the events in a file.
#[derive(Clone, Debug)]
pub struct Census {
    /// Events of all phases.
    pub events: u64,
    /// Events by phase letter; events without a phase are at index zero.
    pub phases: [u64; 128],
    /// Earliest time of an event other than metadata.
    pub first: Option<i64>,
    /// Latest end of an event other than metadata.
    pub last: Option<i64>,
    /// Counts of irregular slices.
    pub anomalies: Anomalies,
    /// Counts of events beyond the limits of the reader.
    pub beyond: Beyond,
}

impl Default for Census {
    fn default() -> Self {
        Self {
            events: 0,
            phases: [0; 128],
            first: None,
            last: None,
            anomalies: Anomalies::default(),
            beyond: Beyond::default(),
        }
    }
}

impl Census {
    /// Returns the time from the first event to the end of the last one, in nanoseconds.
    pub fn span(&self) -> i64 {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.saturating_sub(first),
            _ => 0,
        }
    }

    /// Extends the time range of the trace by an event.
    pub fn note_time(&mut self, from: i64, to: i64) {
        self.first = Some(self.first.map_or(from, |first| first.min(from)));
        self.last = Some(self.last.map_or(to, |last| last.max(to)));
    }
}

/// Replaces the name, category or series of events beyond the limit of a reader.
pub const OTHER_NAMES: &str = "(other names)";

/// Counts of events beyond the limits of a reader for distinct names and tracks. The first names and tracks of a file
/// are within the limits, so the result depends only on the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// Names, categories and series that were replaced by [`OTHER_NAMES`].
    pub names: u64,
    /// Events on tracks beyond the limit. They are counted in [`Census::events`] and are in no column.
    pub on_tracks: u64,
}

/// Counts of events that do not form regular slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Complete events without a usable start or duration.
    pub unusable: u64,
    /// Begins without an end.
    pub unclosed: u64,
    /// Ends without a begin.
    pub unopened: u64,
    /// Ends with another name than the begin they close.
    pub misnamed: u64,
    /// Tracks whose begins and ends are not in the order of time.
    pub unordered_tracks: u64,
}
