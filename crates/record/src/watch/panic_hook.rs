//! A panic, seen by a hook before the one that the program has.

use crate::flight::recording::Recording;
use crate::os::stderr::say;
use crate::process::attach;
use crate::thread::buffer;
use crate::watch::dump;
use crate::watch::steps::{PANICS, is_watched};
use ferrum_trace_model::settings::Trigger;
use std::panic::PanicHookInfo;
use std::sync::{Arc, Once};

/// Has panics seen, if somebody watches over them. Not to be called while a lock of ours is held: a thread that panics right now may wait
/// for it in a hook that we would wait for.
pub fn install_if_needed() {
    static ONCE: Once = Once::new();
    if !is_watched(PANICS) || ONCE.is_completed() {
        return;
    }
    if std::thread::panicking() {
        say("panic: a thread that panics cannot watch over panics; it is left out");
        return;
    }
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let recording = request_dump(info);
            before(info);
            // Nothing comes after this hook: no thread that writes the file, and no end that waits for it.
            if let Some(recording) = recording.filter(|_| is_about_to_abort(info)) {
                dump::write_before_abort(&recording);
            }
        }));
    });
}

/// Asks for a dump, unless the panic that led to this one has. A panic of the recorder itself is not told: it may hold what would be
/// needed for that.
fn request_dump(info: &PanicHookInfo<'_>) -> Option<Arc<Recording>> {
    if !is_watched(PANICS) || buffer::current().is_held() {
        return None;
    }
    let recording = attach::recording()?;
    if is_follow_up(info) {
        return Some(recording);
    }
    let place = info.location().map_or_else(String::new, |place| format!(" at {place}"));
    let message = info.payload_as_str().map_or_else(String::new, |message| format!(": {message}"));
    let _ = dump::fire(&recording, &Trigger::Panic.to_string(), Some(&format!("panicked{place}{message}")));
    Some(recording)
}

/// Whether this panic does not unwind.
fn is_about_to_abort(info: &PanicHookInfo<'_>) -> bool {
    cfg!(panic = "abort") || is_follow_up(info)
}

/// Whether this is what the standard library makes of a panic that got to where nothing may unwind. It tells by the message alone.
fn is_follow_up(info: &PanicHookInfo<'_>) -> bool {
    const MESSAGES: [&str; 2] = ["panic in a function that cannot unwind", "panic in a destructor during cleanup"];
    info.payload_as_str().is_some_and(|message| MESSAGES.contains(&message))
}
