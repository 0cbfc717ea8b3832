//! Tracks other than threads, and slices with given times.

use crate::os::clock;
use crate::probe::flow::Flow;
use crate::probe::mode::mode;
use crate::probe::span::DynamicName;
use crate::process::attach;
use crate::process::categories::{is_muted, is_name_muted};
use crate::process::current::{self, site_id};
use crate::process::switch::{self, OFF};
use crate::thread::arg::Arg;
use crate::thread::buffer::Draft;
use crate::thread::buffer::quietly;
use crate::thread::site::Site;
use crate::util::compiled_out::COMPILED_OUT;
use crate::util::lock::lock;
use ferrum_trace_format::spool::record::RecordKind;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A point in time, for events that were measured elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    monotonic_nanos: u64,
}

impl Timestamp {
    /// Returns the current time.
    pub fn now() -> Self {
        Self { monotonic_nanos: clock::monotonic_nanos() }
    }

    /// Creates a timestamp from a reading of the system's monotonic clock (`CLOCK_MONOTONIC`), which devices are
    /// calibrated against.
    pub const fn from_monotonic_nanos(nanos: u64) -> Self {
        Self { monotonic_nanos: nanos }
    }

    /// Returns the reading of the monotonic clock.
    pub const fn monotonic_nanos(self) -> u64 {
        self.monotonic_nanos
    }
}

impl From<Instant> for Timestamp {
    fn from(instant: Instant) -> Self {
        // All conversions use the same pair, so that differences of some nanoseconds are kept.
        static PAIR: OnceLock<(Timestamp, Instant)> = OnceLock::new();
        let (then, then_instant) = *PAIR.get_or_init(|| (Self::now(), clock::instant_now()));
        match then_instant.checked_duration_since(instant) {
            Some(ago) => then - ago,
            None => then + instant.duration_since(then_instant),
        }
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        let nanos = u64::try_from(later.as_nanos()).unwrap_or(u64::MAX);
        Self::from_monotonic_nanos(self.monotonic_nanos.saturating_add(nanos))
    }
}

impl std::ops::Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, earlier: Duration) -> Self {
        let nanos = u64::try_from(earlier.as_nanos()).unwrap_or(u64::MAX);
        Self::from_monotonic_nanos(self.monotonic_nanos.saturating_sub(nanos))
    }
}

/// A slice that a device measured: see [`Track::measured`].
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its category; may be empty.
    pub category: &'a str,
    /// Begin, converted to the host's clock.
    pub begin: Timestamp,
    /// End, converted to the host's clock.
    pub end: Timestamp,
    /// Maximum error of both times: the argument `clock_error_ns` of the slice.
    pub clock_error: Duration,
    /// The flow from the span that launched it.
    pub flow: Option<Flow>,
}

/// A row of the timeline with its own name: a stream of a GPU, a connection.
///
/// ```
/// use ferrum_trace::{Timestamp, Track, complete_at};
/// let stream = Track::new("GPU 0 / stream 7").sort(7);
/// let (begin, end) = (Timestamp::now(), Timestamp::now());
/// complete_at!(stream, begin, end, "gemm", "gemm", m = 4096, n = 4096);
/// stream.complete_at("softmax", "attention", begin, end);
/// ```
///
/// Slices of one track may overlap: those that do not nest are drawn on lanes below it, `NAME (2)` and so on.
#[derive(Debug)]
pub struct Track {
    name: String,
    sort: i64,
    /// The session that has defined the track, and the track's number there.
    known: Mutex<(u64, u32)>,
}

impl Track {
    /// Creates a track with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), sort: 0, known: Mutex::new((0, 0)) }
    }

    /// Sets its position among the tracks, in viewers that can sort: smaller first.
    pub fn sort(mut self, place: i64) -> Self {
        self.sort = place;
        self
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records a slice with times that were measured elsewhere. [`complete_at!`](crate::complete_at) also takes
    /// arguments.
    pub fn complete_at(&self, name: &str, category: &str, begin: Timestamp, end: Timestamp) {
        if mode() != OFF && !is_name_muted(category) {
            let name = DynamicName::new(name, category);
            self.record(begin, end, name.args(), || name.site());
        }
    }

    /// Records a slice that a device measured, and the end of its flow where the slice begins.
    pub fn measured(&self, slice: &Measured<'_>) {
        if COMPILED_OUT || mode() == OFF || is_name_muted(slice.category) {
            return;
        }
        let name = DynamicName::new(slice.name, slice.category);
        let flow = slice.flow.map_or(0, Flow::id);
        let error = u64::try_from(slice.clock_error.as_nanos()).unwrap_or(u64::MAX);
        self.record_as(RecordKind::Measured, (slice.begin, slice.end), &[flow, error], name.args(), || name.site());
    }

    #[doc(hidden)]
    pub fn complete_with(&self, site: &'static Site, begin: Timestamp, end: Timestamp, args: &[Arg]) {
        if !is_muted(site) {
            self.record(begin, end, args, || site_id(site));
        }
    }

    fn record(&self, begin: Timestamp, end: Timestamp, args: &[Arg], site_id: impl Fn() -> u32) {
        self.record_as(RecordKind::TrackSpan, (begin, end), &[], args, site_id);
    }

    /// Records a slice. `more` are the leading words after those that all slices on tracks have.
    fn record_as(
        &self,
        kind: RecordKind,
        (begin, end): (Timestamp, Timestamp),
        more: &[u64],
        args: &[Arg],
        site_id: impl Fn() -> u32,
    ) {
        let Some(id) = self.id() else {
            // There was no room for its definition.
            current::count_lost();
            return;
        };
        let nanos = end.monotonic_nanos.saturating_sub(begin.monotonic_nanos);
        let now = switch::now();
        let mut leading = [0; RecordKind::Measured.n_leading()];
        leading[..3].copy_from_slice(&[u64::from(id), begin.monotonic_nanos, nanos]);
        leading[3..][..more.len()].copy_from_slice(more);
        let leading = &leading[..kind.n_leading()];
        attach::record(site_id, &Draft { kind, site: 0, start: now, end: now, leading, args });
    }

    /// Returns the track's number in the active session.
    fn id(&self) -> Option<u32> {
        quietly(|| {
            loop {
                let session = current::active()?;
                let mut known = lock(&self.known);
                if known.0 != session.id() {
                    *known = (session.id(), session.define_track(&self.name, self.sort)?);
                }
                // If the recording was rotated meanwhile, the new file may lack the definition.
                if current::is_active(session.id()) {
                    return Some(known.1);
                }
            }
        })
    }
}
