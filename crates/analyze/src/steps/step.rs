//! One step of an engine.

use super::device::DeviceTime;
use super::mark::Mark;
use super::span::Split;

/// One step. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The slice that marks it.
    pub slice: u32,
    /// Properties that the mark states.
    pub mark: Mark,
    /// Its begin: that of its mark, or of its first device work if that is earlier.
    pub start: i64,
    /// Its duration: to the end of its mark, or of its last device work if that is later.
    pub duration: i64,
    /// Split of that time into host, device, both and neither.
    pub split: Split,
    /// Duration of its mark.
    pub mark_duration: i64,
    /// The part of its mark that is in no slice of its track.
    pub unexplained: i64,
    /// Device work for it.
    pub device: DeviceTime,
    /// End of its last device work, if it has any.
    pub device_end: Option<i64>,
    /// Number of its launches whose device work is not in the file.
    pub n_unanswered: u32,
    /// True if device work for it is missing in the file: it takes longer than the file shows.
    pub is_incomplete: bool,
    /// Time that its result takes: its duration without the time in which the result of another step of its engine
    /// comes first. Zero if it is incomplete.
    pub result_time: i64,
}

impl Step {
    /// Returns its end.
    pub fn end(&self) -> i64 {
        self.start.saturating_add(self.duration)
    }
}
