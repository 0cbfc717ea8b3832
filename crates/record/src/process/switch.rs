//! The recording mode: the one word that call sites load, and the state that it is derived from.
//!
//! Events are recorded while the process has a recording that is not suspended. A recording is suspended while it is
//! paused, and while a condition of its window is not met. All of this is in the bits of [`STATE`], which several
//! threads change without a lock; [`MODE`] is derived from it after each change:
//!
//! ```text
//! `begin`, `end`, `decide_off`   the clock of the recording  ┐
//! `set_suspended`                one bit for each reason     ├ STATE ── `mode_of` ──▶ MODE ──▶ call sites
//! `set_filtered`                 one bit                     ┘
//! ```
//!
//! `set_suspended` changes the bit of one reason, so that the end of a pause does not open a window. `util/derived.rs`
//! guarantees that [`MODE`] is that of the last change.

use crate::os;
use crate::util::derived::follow;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering, fence};

/// Nothing is recorded.
pub const OFF: u8 = 0;
/// Recording, with times from the processor's counter.
pub(crate) const TICKS: u8 = 1;
/// Recording, with times from the system's clock.
pub(crate) const MONOTONIC: u8 = 2;
/// The environment has not been read yet.
pub(crate) const UNDECIDED: u8 = 3;
/// Bit that is set in addition to the clock while only some categories are recorded.
pub(crate) const FILTERED: u8 = 4;

/// One of the above. The only memory that a call site loads when recording is off.
static MODE: AtomicU8 = AtomicU8::new(UNDECIDED);
/// The clock of the recording in the bits of [`MODE`], and above them the bits of [`SuspendReason`].
static STATE: AtomicU32 = AtomicU32::new(UNDECIDED as u32);

const CLOCK_BITS: u32 = 3;
const SUSPEND_BITS: u32 = !(CLOCK_BITS | FILTERED as u32);

/// Reason why an active recording is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SuspendReason {
    /// The program has paused it.
    Paused = 1 << 8,
    /// The engine's step is not in the window.
    Steps = 1 << 9,
    /// The time is not in the window.
    Time = 1 << 10,
    /// No request of the window is active.
    Requests = 1 << 11,
    /// The rank of the process is not in the window.
    Rank = 1 << 12,
}

impl SuspendReason {
    /// The reasons of windows, which change without a call of the program.
    pub(crate) const WINDOW_BITS: u32 =
        Self::Steps as u32 | Self::Time as u32 | Self::Requests as u32 | Self::Rank as u32;
}

/// Returns the mode, which may be [`UNDECIDED`].
#[inline(always)]
pub(crate) fn mode() -> u8 {
    // Relaxed: a thread that sees a change a little later records a few events more or less.
    MODE.load(Ordering::Relaxed)
}

/// Returns the clock of the recording, suspended or not; [`OFF`] if there is none, [`UNDECIDED`] before the environment
/// has been read.
pub(crate) fn clock() -> u8 {
    (STATE.load(Ordering::Relaxed) & CLOCK_BITS) as u8
}

/// Returns the current time on the clock of the process's recording.
pub(crate) fn now() -> u64 {
    match clock() {
        MONOTONIC => os::clock::advancing_nanos(),
        _ => os::clock::ticks(),
    }
}

/// Returns true if there is a recording that is suspended for this reason.
pub(crate) fn is_suspended_by(reason: SuspendReason) -> bool {
    STATE.load(Ordering::Relaxed) & reason as u32 != 0
}

/// Returns true if a recording is suspended because its window is not open.
pub(crate) fn is_outside_window() -> bool {
    STATE.load(Ordering::Relaxed) & SuspendReason::WINDOW_BITS != 0
}

/// Starts a recording, which is suspended for these reasons, if any.
pub(crate) fn begin(clock: u8, reasons: &[SuspendReason]) {
    let reasons = reasons.iter().fold(0, |bits, reason| bits | *reason as u32);
    change(|state| state & u32::from(FILTERED) | reasons | u32::from(clock));
}

/// Ends the recording.
pub(crate) fn end() {
    change(|state| state & u32::from(FILTERED));
}

/// Turns recording off unless a recording has started: the environment requests none.
pub(crate) fn decide_off() {
    change(|state| if state & CLOCK_BITS == u32::from(UNDECIDED) { state & !CLOCK_BITS } else { state });
}

/// Sets or clears a reason for suspension. Other reasons stay as they are.
pub(crate) fn set_suspended(reason: SuspendReason, is_suspended: bool) {
    let reason = reason as u32;
    change(|state| if is_suspended { state | reason } else { state & !reason });
}

/// Sets or clears [`FILTERED`]: only some categories are recorded.
pub(crate) fn set_filtered(is_filtered: bool) {
    let bit = u32::from(FILTERED);
    change(|state| if is_filtered { state | bit } else { state & !bit });
}

/// Changes the state, then derives the mode. Never waits.
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
    fn a_recording_that_is_suspended_for_any_reason_is_off() {
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
