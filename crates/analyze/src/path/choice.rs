//! The choice of a window.

use super::build::Built;
use super::report::PathOptions;
use super::window::Window;
use crate::requests::{RequestsOptions, requests};
use crate::steps::Measured;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{End, Trace, TrackId};
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// The window of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PathWindow {
    /// The median step if there are steps, else the whole trace.
    #[default]
    Auto,
    /// The step with this number, counted from 1 in time order.
    Step(usize),
    /// The longest step.
    Slowest,
    /// The step with the median duration.
    Median,
    /// A range of time, counted from the first event.
    Time(Range<i64>),
    /// The request with this id, from its arrival to its end.
    Request(String),
    /// The whole trace.
    Whole,
}

/// Subject of a window that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathSubject {
    /// A step: its index, and its slice.
    Step {
        /// Index, from 0.
        place: usize,
        /// Slice of its mark.
        slice: u32,
    },
    /// A range of time.
    Time,
    /// A request.
    Request(String),
    /// The whole trace.
    Whole,
}

/// Reason why there is no path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The trace has no steps.
    NoSteps,
    /// The trace has fewer steps.
    NoStep {
        /// The number that was asked for.
        number: usize,
        /// Number of steps.
        n_steps: usize,
    },
    /// No request has this id and an end.
    NoRequest {
        /// The id.
        id: String,
        /// Number of requests of the trace that have an end.
        n_ended: usize,
    },
    /// Nothing happens in the window.
    Empty,
    /// A change is not possible, for this reason.
    Change(String),
}

impl Display for PathError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSteps => f.write_str("no steps"),
            Self::NoStep { number, n_steps: 1 } => write!(f, "no step {number}: the trace has 1 step"),
            Self::NoStep { number, n_steps } => write!(f, "no step {number}: the trace has {n_steps} steps"),
            Self::NoRequest { id, n_ended: 1 } => {
                write!(f, "no request `{id}` that has ended: 1 request of the trace has")
            }
            Self::NoRequest { id, n_ended } => {
                write!(f, "no request `{id}` that has ended: {n_ended} requests of the trace have")
            }
            Self::Empty => f.write_str("no work in this window"),
            Self::Change(reason) => f.write_str(reason),
        }
    }
}

/// The window that was chosen.
pub(super) struct Chosen {
    pub(super) subject: PathSubject,
    pub(super) window: Window,
}

/// Chooses the window. `windows` has the windows of all steps.
pub(super) fn choose(
    trace: &Trace,
    nesting: &Nesting,
    built: &Built,
    measured: &Measured,
    windows: &[Window],
    options: &PathOptions,
) -> Result<Chosen, PathError> {
    let first = trace.census.first.unwrap_or(0);
    let chosen = match &options.window {
        PathWindow::Auto if measured.steps.is_empty() => whole(trace, built),
        PathWindow::Whole => whole(trace, built),
        PathWindow::Auto | PathWindow::Median => step(measured, windows, median(measured))?,
        PathWindow::Slowest => step(measured, windows, slowest(measured))?,
        PathWindow::Step(number) => {
            let n_steps = windows.len();
            let place = number.checked_sub(1).filter(|&place| place < n_steps);
            step(measured, windows, Some(place.ok_or(PathError::NoStep { number: *number, n_steps })?))?
        }
        PathWindow::Time(range) => {
            let last = trace.census.last.unwrap_or(first);
            let at = |time: i64| first.saturating_add(time).clamp(first, last);
            let times = (at(range.start), at(range.end));
            let window = Window::of_time(trace, built, times, main_track(trace, measured));
            Chosen { subject: PathSubject::Time, window }
        }
        PathWindow::Request(id) => request(trace, nesting, built, id, options)?,
    };
    let is_empty = chosen.window.ends.is_empty() || chosen.window.duration() <= 0;
    if is_empty { Err(PathError::Empty) } else { Ok(chosen) }
}

fn whole(trace: &Trace, built: &Built) -> Chosen {
    Chosen { subject: PathSubject::Whole, window: Window::whole(trace, built) }
}

fn step(measured: &Measured, windows: &[Window], place: Option<usize>) -> Result<Chosen, PathError> {
    let place = place.ok_or(PathError::NoSteps)?;
    let (step, window) = measured.steps.get(place).zip(windows.get(place)).ok_or(PathError::NoSteps)?;
    Ok(Chosen { subject: PathSubject::Step { place, slice: step.slice }, window: window.clone() })
}

fn slowest(measured: &Measured) -> Option<usize> {
    let steps = measured.steps.iter().enumerate();
    steps.max_by_key(|(place, step)| (step.duration, std::cmp::Reverse(*place))).map(|(place, _)| place)
}

/// Returns the step with the median duration: of an even number, the shorter of the two in the middle.
fn median(measured: &Measured) -> Option<usize> {
    let mut places: Vec<usize> = (0..measured.steps.len()).collect();
    places.sort_by_key(|&place| (measured.steps[place].duration, place));
    places.get(places.len().saturating_sub(1) / 2).copied()
}

/// Returns the thread with the most steps.
fn main_track(trace: &Trace, measured: &Measured) -> Option<TrackId> {
    let mut tracks: Vec<TrackId> = measured.steps.iter().map(|step| trace.slices.track[step.slice as usize]).collect();
    tracks.sort_unstable();
    tracks.chunk_by(|one, other| one == other).max_by_key(|same| same.len()).and_then(|same| same.first().copied())
}

fn request(
    trace: &Trace,
    nesting: &Nesting,
    built: &Built,
    id: &str,
    options: &PathOptions,
) -> Result<Chosen, PathError> {
    let requests_options = RequestsOptions { names_device: options.names_device, ..RequestsOptions::default() };
    let found = requests(trace, nesting, &requests_options);
    let ended = |place: &usize| found.requests[*place].end.is_some();
    let places = found.find(trace, id);
    let Some(place) = places.into_iter().find(ended) else {
        let n_ended = (0..found.requests.len()).filter(ended).count();
        return Err(PathError::NoRequest { id: id.to_owned(), n_ended });
    };
    let request = &found.requests[place];
    let to = request.end.unwrap_or(request.arrival);
    let asyncs = &trace.asyncs;
    let is_end = |event: &usize| asyncs.time[*event] == to && asyncs.end[*event] == End::Finish;
    let track = (0..asyncs.time.len()).find(is_end).map_or(request.track, |event| asyncs.track[event]);
    let window = Window::of_time(trace, built, (request.arrival, to), Some(track));
    Ok(Chosen { subject: PathSubject::Request(id.to_owned()), window })
}
