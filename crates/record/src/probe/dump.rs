//! Dumps that the program requests.

use crate::probe::mode::mode;
use crate::watch::dump;

/// Writes the content of a flight recorder to `trace.dump-001.json` beside the output, a second from now, while
/// recording continues. The event `trigger` in the dump has the reason and the time.
///
/// Returns true if the dump will be written, and false if nothing is recorded, if the recording is not a flight
/// recorder, or if [`DumpLimits`](crate::DumpLimits) do not allow it, which is counted. Never waits. A
/// [`Trigger`](crate::Trigger) requests dumps automatically.
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
