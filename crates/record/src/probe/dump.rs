//! Dumps that the program asks for.

use crate::probe::mode::mode;
use crate::watch::dump;

/// Writes out what a flight recorder has, a second from now, while recording goes on: `trace.dump-001.json` beside the output. The event
/// `trigger` in it says why and when. Returns whether it will be written: not if nothing is recorded, if the recording is no
/// flight recorder, or if [`DumpLimits`] do not allow it, which is counted. Never waits. See [`Trigger`](crate::Trigger) for what does this by
/// itself.
///
/// ```
/// # let step_ms = 3;
/// if step_ms > 50 {
///     ferrum_trace::dump("slow step");
/// }
/// ```
pub fn dump(reason: &str) -> bool {
    mode();
    dump::request(reason).is_ok()
}
