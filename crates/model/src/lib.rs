//! The data model of a trace, independent of file formats.
//!
//! A [`Trace`] is a set of columns: times are integer nanoseconds, texts are numbers in [`Strings`], tracks are numbers
//! in [`Tracks`]. [`ArgValue`] is the value of an argument in a column, [`Value`] that of an argument on its own. The
//! recorder needs only `Value`, `Strings` (feature `strings`) and [`settings`] (feature `settings`); the rest is behind
//! the feature `columns`.
//!
//! This crate does not depend on files, clocks, threads, the environment or any file format.

#[cfg(feature = "columns")]
mod arg_value;
mod close_name;
mod recording;
#[cfg(feature = "settings")]
pub mod settings;
#[cfg(feature = "strings")]
mod strings;
#[cfg(feature = "columns")]
mod trace;
#[cfg(feature = "columns")]
mod tracks;
mod value;
pub mod vocab;

#[cfg(feature = "columns")]
pub use arg_value::ArgValue;
pub use close_name::closest;
pub use recording::{Recording, Recordings, RefusedDumps, Trigger, TriggerEvent};
#[cfg(feature = "strings")]
pub use strings::{StringId, Strings};
#[cfg(feature = "columns")]
pub use trace::{
    Anomalies, ArgColumn, Asyncs, Beyond, Census, Counters, End, Flows, OTHER_NAMES, Order, Points, Slice, Slices,
    Trace, retain_entries,
};
#[cfg(feature = "columns")]
pub use tracks::{Process, ProcessId, Track, TrackId, Tracks};
pub use value::Value;
