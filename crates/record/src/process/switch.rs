//! The one word that call sites look at, and what it follows from.
//!
//! Whether events are recorded right now depends on several things that change on different threads: whether there is a
//! recording, whether it is paused, whether its window is open. All of it is in [`STATE`]; [`MODE`] is what follows from it.

use crate::os;
use crate::util::derived::follow;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering, fence};

/// Nothing is recorded.
pub const OFF: u8 = 0;
/// Recording, with times from the processor's counter.
pub const TICKS: u8 = 1;
/// Recording, with times from the system's clock.
pub const MONOTONIC: u8 = 2;
/// Nobody has asked yet: the environment decides.
pub const UNDECIDED: u8 = 3;
/// Set besides the clock while only some categories are recorded.
pub const FILTERED: u8 = 4;

/// One of the above. All that a call site looks at when recording is off.
static MODE: AtomicU8 = AtomicU8::new(UNDECIDED);
/// The clock of the recording in the bits of [`MODE`], and above them the reasons why it is suspended: see [`SuspendReason`].
static STATE: AtomicU32 = AtomicU32::new(UNDECIDED as u32);

const CLOCK_BITS: u32 = 3;
const SUSPEND_BITS: u32 = !(CLOCK_BITS | FILTERED as u32);

/// Why a recording rests, though it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SuspendReason {
    /// Somebody has paused it.
    Paused = 1 << 8,
    /// The engine's step is not one of those asked for.
    Steps = 1 << 9,
    /// The time asked for has not come, or is over.
    Time = 1 << 10,
    /// No request is there of those asked for.
    Requests = 1 << 11,
    /// The process is of another rank than asked for.
    Rank = 1 << 12,
}

impl SuspendReason {
    /// Those of windows: they come and go by themselves.
    pub const WINDOW_BITS: u32 = Self::Steps as u32 | Self::Time as u32 | Self::Requests as u32 | Self::Rank as u32;
}

/// The mode as it is, undecided perhaps.
#[inline(always)]
pub fn mode() -> u8 {
    // Relaxed: a thread that learns of a change a little later records a little more or less.
    MODE.load(Ordering::Relaxed)
}

/// The clock of the recording, resting or not; [`OFF`] if there is none.
pub fn clock() -> u8 {
    (STATE.load(Ordering::Relaxed) & CLOCK_BITS) as u8
}

/// Returns the current time on the clock of the process's recording.
pub fn now() -> u64 {
    match clock() {
        MONOTONIC => os::clock::advancing_nanos(),
        _ => os::clock::ticks(),
    }
}

/// Whether a recording is there and rests for this reason.
pub fn is_suspended_by(reason: SuspendReason) -> bool {
    STATE.load(Ordering::Relaxed) & reason as u32 != 0
}

/// Whether a recording rests because its window is not open.
pub fn is_outside_window() -> bool {
    STATE.load(Ordering::Relaxed) & SuspendReason::WINDOW_BITS != 0
}

/// A recording is there from now on. It rests for these reasons, if any.
pub fn begin(clock: u8, reasons: &[SuspendReason]) {
    let reasons = reasons.iter().fold(0, |bits, reason| bits | *reason as u32);
    change(|state| state & u32::from(FILTERED) | reasons | u32::from(clock));
}

/// There is no recording.
pub fn end() {
    change(|state| state & u32::from(FILTERED));
}

/// There is no recording unless one has begun already: the environment does not ask for one.
pub fn decide_off() {
    change(|state| if state & CLOCK_BITS == u32::from(UNDECIDED) { state & !CLOCK_BITS } else { state });
}

/// The recording rests, or goes on, as far as this reason goes.
pub fn set_suspended(reason: SuspendReason, is_suspended: bool) {
    let reason = reason as u32;
    change(|state| if is_suspended { state | reason } else { state & !reason });
}

/// Whether only some categories are recorded.
pub fn set_filtered(is_filtered: bool) {
    let bit = u32::from(FILTERED);
    change(|state| if is_filtered { state | bit } else { state & !bit });
}

/// Changes what the mode follows from, then the mode. Never waits.
fn change(to: impl Fn(u32) -> u32) {
    let _ = STATE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| Some(to(state)));
    let look = || STATE.load(Ordering::Relaxed);
    follow(look, |&state| MODE.store(mode_of(state), Ordering::Relaxed), || fence(Ordering::SeqCst));
}

fn mode_of(state: u32) -> u8 {
    let clock = (state & CLOCK_BITS) as u8;
    match clock {
        OFF | UNDECIDED => clock,
        _ if state & SUSPEND_BITS != 0 => OFF,
        _ => clock | state as u8 & FILTERED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_that_rests_for_any_reason_is_off_and_keeps_its_clock() {
        let ticks = u32::from(TICKS);
        for reason in [
            SuspendReason::Paused,
            SuspendReason::Steps,
            SuspendReason::Time,
            SuspendReason::Requests,
            SuspendReason::Rank,
        ] {
            assert_eq!(mode_of(ticks | reason as u32), OFF);
        }
        assert_eq!(mode_of(ticks), TICKS);
        assert_eq!(mode_of(u32::from(MONOTONIC | FILTERED)), MONOTONIC | FILTERED);
        assert_eq!(mode_of(u32::from(UNDECIDED)), UNDECIDED);
        assert_eq!(mode_of(u32::from(OFF | FILTERED)), OFF);
    }
}
