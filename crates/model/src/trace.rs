//! A trace in memory: columns, one entry an event of its kind.

use crate::{StringId, Strings, TrackId, Tracks};

/// The place of an event in its file, counted in events from zero.
pub type Order = u32;

/// Everything that is known of a trace. Times are nanoseconds, as the file has them: the first event may have any.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Every text that the columns refer to.
    pub strings: Strings,
    /// Processes and rows.
    pub tracks: Tracks,
    /// What lasted from one time to another on a track.
    pub slices: Slices,
    /// Points in time on a track.
    pub instants: Points,
    /// Ends of arrows between slices.
    pub flows: Flows,
    /// Ends of what is on no thread: requests, tasks.
    pub asyncs: Asyncs,
    /// Values over time.
    pub counters: Counters,
    /// Arguments that were asked for, in the order of asking.
    pub args: Vec<ArgColumn>,
    /// What the file holds, in numbers.
    pub census: Census,
}

impl Trace {
    /// Forgets everything but which arguments were asked for; the memory stays.
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

/// Defines what is done to every column of a table.
macro_rules! each_column {
    ($table:ident: $($column:ident),*) => {
        impl $table {
            fn clear(&mut self) {
                $(self.$column.clear();)*
            }

            /// Removes the entries whose tracks are not wanted. Returns how many these are.
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

/// Removes the entries of a column that are not to be kept.
pub fn retain_entries<T>(column: &mut Vec<T>, is_kept: &[bool]) {
    let mut is_kept = is_kept.iter();
    column.retain(|_| is_kept.next().is_none_or(|&is_kept| is_kept));
}

/// Slices. Those of one track may be in any order.
#[derive(Clone, Debug, Default)]
pub struct Slices {
    /// When each begins.
    pub start: Vec<i64>,
    /// How long each lasts; never negative.
    pub duration: Vec<i64>,
    /// What each is called.
    pub name: Vec<StringId>,
    /// The category of each; empty if it has none.
    pub category: Vec<StringId>,
    /// Where each is.
    pub track: Vec<TrackId>,
    /// Where in the file each begins: of two with the same times, the earlier one is the outer one.
    pub order: Vec<Order>,
}

impl Slices {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// When one ends.
    pub fn end(&self, n: usize) -> i64 {
        self.start[n].saturating_add(self.duration[n])
    }

    /// Adds one.
    pub fn push(&mut self, slice: Slice) {
        self.start.push(slice.start);
        self.duration.push(slice.duration);
        self.name.push(slice.name);
        self.category.push(slice.category);
        self.track.push(slice.track);
        self.order.push(slice.order);
    }
}

/// One of [`Slices`].
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// When it begins.
    pub start: i64,
    /// How long it lasts.
    pub duration: i64,
    /// What it is called.
    pub name: StringId,
    /// Its category.
    pub category: StringId,
    /// Where it is.
    pub track: TrackId,
    /// Its place in the file.
    pub order: Order,
}

/// Points in time.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// When each is.
    pub time: Vec<i64>,
    /// What each is called.
    pub name: Vec<StringId>,
    /// The category of each.
    pub category: Vec<StringId>,
    /// Where each is.
    pub track: Vec<TrackId>,
    /// Where in the file each is: by this its arguments are found.
    pub order: Vec<Order>,
}

/// Which end of an arrow, or of something asynchronous, an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where it begins.
    Begin,
    /// What it passes through.
    Step,
    /// Where it ends.
    Finish,
}

/// Ends of arrows. Those of one category, name and id belong together.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    /// When each is.
    pub time: Vec<i64>,
    /// What each is called.
    pub name: Vec<StringId>,
    /// The category of each.
    pub category: Vec<StringId>,
    /// Where each is.
    pub track: Vec<TrackId>,
    /// What joins them, as text.
    pub id: Vec<StringId>,
    /// Which end each is.
    pub end: Vec<End>,
}

/// Ends of asynchronous things. Those of one category, id and, for those that nest, name belong together.
#[derive(Clone, Debug, Default)]
pub struct Asyncs {
    /// When each is.
    pub time: Vec<i64>,
    /// What each is called.
    pub name: Vec<StringId>,
    /// The category of each.
    pub category: Vec<StringId>,
    /// Where each was recorded.
    pub track: Vec<TrackId>,
    /// What joins them, as text. An id that is local to its process has the process's id before it.
    pub id: Vec<StringId>,
    /// Which end each is.
    pub end: Vec<End>,
    /// Whether each is of the older kind (phases S, T, p, F), which does not nest.
    pub is_legacy: Vec<bool>,
    /// Where in the file each is: by this its arguments are found.
    pub order: Vec<Order>,
}

/// Values over time.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// When each is.
    pub time: Vec<i64>,
    /// What each is called.
    pub name: Vec<StringId>,
    /// Which of the counter's values it is.
    pub series: Vec<StringId>,
    /// Where each was recorded; counters belong to the process of it.
    pub track: Vec<TrackId>,
    /// The value.
    pub value: Vec<f64>,
}

/// The values of one argument, of the events that have it: begins of slices, instants, and asynchronous events.
#[derive(Clone, Debug, Default)]
pub struct ArgColumn {
    /// The key that was asked for.
    pub key: String,
    /// Which events have it, in order.
    pub order: Vec<Order>,
    /// The value of each: the text of a text, the spelling of anything else.
    pub value: Vec<StringId>,
}

impl ArgColumn {
    /// The value that an event has.
    pub fn of(&self, order: Order) -> Option<StringId> {
        self.order.binary_search(&order).ok().map(|place| self.value[place])
    }
}

/// What a file holds, in numbers.
#[derive(Clone, Debug)]
pub struct Census {
    /// Events of all phases.
    pub events: u64,
    /// Events by the letter of their phase; those without one are at zero.
    pub phases: [u64; 128],
    /// The earliest time of an event that is no metadata.
    pub first: Option<i64>,
    /// The latest end of one.
    pub last: Option<i64>,
    /// What is odd about slices.
    pub anomalies: Anomalies,
    /// What there is too much of to be kept apart.
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
    /// From the first event to the end of the last, in nanoseconds.
    pub fn span(&self) -> i64 {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.saturating_sub(first),
            _ => 0,
        }
    }

    /// Notes that something was there from one time to another.
    pub fn note_time(&mut self, from: i64, to: i64) {
        self.first = Some(self.first.map_or(from, |first| first.min(from)));
        self.last = Some(self.last.map_or(to, |last| last.max(to)));
    }
}

/// The name, category or series of events whose own is beyond the limit of a reader.
pub const OTHER_NAMES: &str = "(other names)";

/// Events that a reader does not keep apart, since there are too many different names or tracks. The first ones of a file are within the
/// limit, so that what is kept does not depend on anything but the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// Names, categories and series of events that are [`OTHER_NAMES`] instead.
    pub names: u64,
    /// Events of tracks that are left out. They count in [`Census::events`] and are in no column.
    pub on_tracks: u64,
}

/// Events that should be slices, and are not or are odd ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Complete events without a usable start or duration.
    pub unusable: u64,
    /// Begins without an end.
    pub unclosed: u64,
    /// Ends without a begin.
    pub unopened: u64,
    /// Ends whose name is not that of the begin they close.
    pub misnamed: u64,
    /// Tracks whose begins and ends are not in the order of their times.
    pub unordered_tracks: u64,
}
