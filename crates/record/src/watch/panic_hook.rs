//! The panic trigger: a hook that requests a dump, then calls the program's own hook.

use crate::flight::recording::Recording;
use crate::os::stderr::say;
use crate::process::attach;
use crate::thread::buffer;
use crate::watch::dump;
use crate::watch::steps::{PANICS, is_watched};
use ferrum_trace_model::settings::Trigger;
use std::panic::PanicHookInfo;
use std::sync::{Arc, Once};

/// Installs the hook if there is a trigger on panics. Must not be called while a lock of the recorder is held: a thread
/// that panics at this moment may wait for that lock inside a hook, and replacing the hook waits for that thread.
pub(crate) fn install_if_needed() {
    static ONCE: Once = Once::new();
    if !is_watched(PANICS) || ONCE.is_completed() {
        return;
    }
    if std::thread::panicking() {
        say("panic: the hook cannot be set by a thread that panics; it is left out");
        return;
    }
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let recording = request_dump(info);
            before(info);
            // The process aborts after this hook, without waiting for the dump thread.
            if let Some(recording) = recording.filter(|_| is_about_to_abort(info)) {
                dump::write_before_abort(&recording);
            }
        }));
    });
}

/// Requests a dump, unless the panic that caused this one already has. Returns the recording. Ignores a panic of the
/// recorder itself, which may hold the locks that a dump needs.
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

/// Returns true if the process aborts after this panic.
fn is_about_to_abort(info: &PanicHookInfo<'_>) -> bool {
    cfg!(panic = "abort") || is_follow_up(info)
}

/// Returns true if this panic was raised by the standard library because another one reached code that must not unwind.
/// Only the message shows it.
fn is_follow_up(info: &PanicHookInfo<'_>) -> bool {
    const MESSAGES: [&str; 2] = ["panic in a function that cannot unwind", "panic in a destructor during cleanup"];
    info.payload_as_str().is_some_and(|message| MESSAGES.contains(&message))
}
