//! The engine's own watch. What it notes by it is compared with what the trace says.

use std::time::Instant;

#[expect(clippy::disallowed_methods, reason = "an account of its own needs a clock that is not the recorder's")]
pub fn now() -> Instant {
    Instant::now()
}
