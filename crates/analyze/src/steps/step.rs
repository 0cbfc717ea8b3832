//! One step of an engine.

use super::device::DeviceTime;
use super::mark::Mark;
use super::span::Split;

/// One step. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The slice that marks it.
    pub slice: u32,
    /// What the mark says.
    pub mark: Mark,
    /// When it begins: with its mark, or with its first work on a device if that is earlier.
    pub start: i64,
    /// How long it takes: to the end of its mark, or of its last work on a device if that is later.
    pub duration: i64,
    /// Split of that time into host, device, both and neither.
    pub split: Split,
    /// How long its mark is.
    pub mark_duration: i64,
    /// The part of its mark that is in no slice of its track.
    pub unexplained: i64,
    /// What devices do for it.
    pub device: DeviceTime,
    /// When its last work on a device ends, if it has any.
    pub device_end: Option<i64>,
    /// Launches of it of which no work on a device is in the file.
    pub n_unanswered: u32,
    /// True if work on devices for it is not in the file: it takes longer than the file shows.
    pub is_incomplete: bool,
    /// The time that its result takes: its duration without the time in which the result of another step of its engine comes
    /// first. Nothing if it is incomplete.
    pub result_time: i64,
}

impl Step {
    /// When it ends.
    pub fn end(&self) -> i64 {
        self.start.saturating_add(self.duration)
    }
}
