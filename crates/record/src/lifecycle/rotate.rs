//! Rotation: continues a recording in a new file, and completes the old one in the background.
//!
//! ```text
//! keeper thread (`recording/keeper.rs`)        recording threads
//! ───────────────────────────────────────      ──────────────────────────────────────────────
//! the part is full: `rotate`
//!   creates the next session                    record to the old session
//!   copies names, tracks and sites to it
//!   makes it active                             a first event or a full chunk finds the new session
//!   closes the old session:
//!     the limits of its chunks become zero      the next event finds no room and attaches to the new session
//!   copies the open spans of idle threads
//! writer thread: waits half a second for threads that were in the middle of an event, then completes the old file
//! ```
//!
//! Every event is in exactly one of the two files, because a thread writes to a chunk of one session at a time, and the
//! old session is read only after its chunks are closed.

use crate::error::Error;
use crate::flight::recording::Recording;
use crate::lifecycle::{end, unwritten};
use crate::os::process::is_ending;
use crate::process::current::{self, is_active};
use crate::recording::background;
use crate::recording::part::Part;
use std::sync::Arc;
use std::time::Duration;

/// Number of pauses before the old file is completed. They leave time for threads that were in the middle of an event
/// when it was closed. If the process is stopped, it misses only one pause.
const PAUSES: u32 = 10;
/// Duration of one pause.
const PAUSE: Duration = Duration::from_millis(50);

/// Continues the recording in another file if its part is full, and writes the outputs of earlier parts again that
/// could not be written. Does nothing if `session` is not the id of the active session.
pub(crate) fn tend_parts(session: u64) {
    let Some(recording) = current::running().filter(|recording| recording.id() == session) else {
        return;
    };
    if recording.part().is_some_and(Part::is_retry_due) {
        unwritten::write_all_in_background();
    }
    if recording.is_full_part() {
        rotate(&recording);
    }
}

/// Continues the process's recording in another file, and completes the old file in the background. If the other file
/// cannot be created, the recording continues in the old one, and the next call tries again.
fn rotate(old: &Arc<Recording>) {
    let Some(part) = old.part() else {
        return;
    };
    // Announced before the file is closed: a process that ends now has to wait for it.
    let announced = background::Announced::new();
    let handed_over = hand_over(old);
    part.note_next(handed_over.as_ref().map(|_| ()).map_err(Error::to_string));
    if let Ok(true) = handed_over {
        let old = Arc::clone(old);
        background::on_deputy(announced, move || {
            pause();
            end::complete_part(&old);
            Some(())
        });
    }
}

/// Makes a new session the active one. Returns false if `old` is not active any more.
///
/// Threads find the new session from the moment that it is active. Only then is the old one closed, so that threads
/// that still write to it request another chunk. Every event is in one of the two.
fn hand_over(old: &Recording) -> Result<bool, Error> {
    let Some(options) = current::with_registry(|registry| registry.options.clone()) else {
        return Ok(false);
    };
    let Some(next) = old.next(&options.session, &options.flight)? else {
        return Ok(false);
    };
    let is_switched = current::with_registry(|registry| {
        registry.remember(&next);
        if !is_active(old.id()) || is_ending() {
            return false;
        }
        let has_sites = registry.sites.iter().all(|site| next.define_site(site, site.known_id()).is_some());
        let switch = || registry.continue_in(&next);
        has_sites && old.hand_over_to(&next, switch) && old.close()
    });
    if !is_switched {
        next.discard();
        let is_over = !is_active(old.id()) || is_ending();
        return if is_over { Ok(false) } else { Err(Error::no_room(next.output_path())) };
    }
    old.hand_open_spans_over_to(&next);
    Ok(true)
}

/// Waits for threads that had reserved room before the file was closed and may not have written yet.
fn pause() {
    for _ in 0..PAUSES {
        if !is_ending() {
            std::thread::sleep(PAUSE);
        }
    }
}
