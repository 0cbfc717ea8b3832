//! The engine's own clock. Its times are compared with those of the trace.

use std::time::Instant;

#[expect(clippy::disallowed_methods, reason = "its own statistics need a clock that is not the recorder's")]
pub fn now() -> Instant {
    Instant::now()
}
