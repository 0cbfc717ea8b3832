//! Parts of rotating recordings whose output could not be written, for example because the disk was full.
//!
//! The spool of such a part stays in place of its output, and counts for the number of files to keep. The keeper of the
//! recording has it written again after a pause, and the end of the recording or of the process once more.

use crate::error::Error;
use crate::flight::recording::Recording;
use crate::lifecycle::end;
use crate::recording::background;
use crate::recording::part::Part;
use crate::util::lock::lock;
use std::sync::{Arc, Mutex};

/// Closed recordings without memory, oldest first. Each keeps its spool open.
static UNWRITTEN: Mutex<Vec<Arc<Recording>>> = Mutex::new(Vec::new());

/// Keeps a part to write it again.
pub(crate) fn keep(recording: &Arc<Recording>, part: &Part, error: &Error) {
    let stats = recording.session().stats().unwrap_or_default();
    part.mark_unwritten(&recording.spool_path(), stats, error.to_string());
    let mut unwritten = lock(&UNWRITTEN);
    unwritten.retain(|recording| recording.part().is_some_and(Part::is_unwritten));
    unwritten.push(Arc::clone(recording));
}

/// Writes all of them again, in the background.
pub(crate) fn write_all_in_background() {
    if !lock(&UNWRITTEN).is_empty() {
        background::on_deputy(background::Announced::new(), || {
            write_all();
            Some(())
        });
    }
}

/// Writes all of them again. Those that fail are kept.
pub(crate) fn write_all() {
    let unwritten = std::mem::take(&mut *lock(&UNWRITTEN));
    for recording in unwritten {
        // A newer part may have taken its place among the files to keep.
        if recording.part().is_some_and(Part::is_unwritten) {
            end::complete_part(&recording);
        }
    }
}

/// Gives up all of them. Their spools stay for `ferrum-trace recover`. Returns one of each recording.
pub(crate) fn give_up() -> Vec<Arc<Recording>> {
    let mut unwritten = std::mem::take(&mut *lock(&UNWRITTEN));
    unwritten.dedup_by_key(|recording| recording.recording());
    unwritten
}

/// In a forked child: forgets the parts of the parent without touching them.
pub(crate) fn forget_in_child() {
    if let Ok(mut unwritten) = UNWRITTEN.try_lock() {
        std::mem::forget(std::mem::take(&mut *unwritten));
    }
}
