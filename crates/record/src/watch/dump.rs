//! Dumps: requests one, marks it in the trace, and writes it on its own thread.
//!
//! ```text
//! thread of the trigger, in `fire`          dump thread, in `write_on_thread`
//! ───────────────────────────────────────   ─────────────────────────────────────────────────────────────────────────
//! `grant`: a number, or a counted refusal
//! records the instant `trigger`
//! pins the chunks of the ring
//! starts the dump thread and returns        waits for the post-roll, half of the ring, or the end of the recording
//!                                           copies the ring to a file, at normal priority
//!                                           unpins the chunks
//!                                           becomes a deputy: the dump is written from the copy in the background
//! ```
//!
//! The end of the recording writes the dump that is still pending: if the dump thread could not be started, if the
//! recording ends during the post-roll, or if the dump thread is cancelled while it writes (then from its copy).

use crate::flight::post_roll;
use crate::flight::recording::Recording;
use crate::os::process::fork_generation;
use crate::os::thread as os_thread;
use crate::process::switch::{self, OFF};
use crate::process::value::Value;
use crate::process::{current, event};
use crate::recording::background;
use crate::thread::buffer::{self, quietly};
use crate::thread::site::Site;
use crate::util::compiled_out::COMPILED_OUT;
use ferrum_trace_format::spool::record::RecordKind;
use ferrum_trace_model::vocab::about::DumpRefusal;
use ferrum_trace_model::vocab::trigger as words;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// The instant that marks a dump and its reason, on the thread that requested it.
static TRIGGER: Site = Site::new(words::NAME, words::CATEGORY, &[words::REASON, words::DUMP]);
static TRIGGER_WITH_WHAT: Site = Site::new(words::NAME, words::CATEGORY, &[words::REASON, words::DUMP, words::WHAT]);

/// Time that a process that is about to abort waits for its dump.
const ABORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Requests a dump of the process's recording. The error is the reason for a refusal, or `None` if there is no flight
/// recorder to dump.
pub(crate) fn request(reason: &str) -> Result<(), Option<DumpRefusal>> {
    if COMPILED_OUT || switch::clock() == OFF || buffer::current().is_held() {
        return Err(None);
    }
    fire(&current::active().ok_or(None)?, reason, None)
}

/// Requests a dump of a recording, with its reason and a description of the event. The error is the reason for a
/// refusal, or `None` if the recording is not a flight recorder.
pub(crate) fn fire(recording: &Arc<Recording>, reason: &str, what: Option<&str>) -> Result<(), Option<DumpRefusal>> {
    if !recording.spool().is_ring() {
        return Err(None);
    }
    let number = recording.dumps().grant(reason, what).map_err(|refusal| {
        recording.count_refused_dump(refusal);
        Some(refusal)
    })?;
    // Recorded whatever the categories are.
    let (reason, number) = (reason.to_arg(), number.to_arg());
    match what {
        Some(what) => event::point(RecordKind::Instant, &TRIGGER_WITH_WHAT, &[], &[reason, number, what.to_arg()]),
        None => event::point(RecordKind::Instant, &TRIGGER, &[], &[reason, number]),
    }
    quietly(|| recording.spool().pin());
    if write_on_thread(recording, recording.dumps().post_roll(), background::become_deputy).is_none() {
        // The dump is written at the end of the recording, with the content of the ring at that time.
        quietly(|| recording.spool().unpin());
    }
    Ok(())
}

/// Writes the pending dump before this process aborts, unless that takes longer than [`ABORT_TIMEOUT`].
pub(crate) fn write_before_abort(recording: &Arc<Recording>) {
    // In a forked child, the thread might wait forever, see `output::n_workers`.
    let thread = if fork_generation() > 0 { None } else { write_on_thread(recording, Duration::ZERO, || {}) };
    match thread {
        Some(done) => drop(done.recv_timeout(ABORT_TIMEOUT)),
        None => recording.write_dump(|| {}),
    }
}

/// Writes the pending dump on a new thread, after the post-roll `after`. The receiver gets a message when that is done.
/// Returns `None` if the thread cannot be started.
fn write_on_thread(recording: &Arc<Recording>, after: Duration, copied: fn()) -> Option<Receiver<()>> {
    let (recording, (done, is_done)) = (Arc::downgrade(recording), mpsc::sync_channel(1));
    let work = move || {
        post_roll::wait(&recording, after);
        if let Some(recording) = Weak::upgrade(&recording).filter(|recording| recording.is_open()) {
            let _announced = background::Announced::new();
            recording.write_dump(copied);
        }
        let _ = done.send(());
    };
    let builder = thread::Builder::new().name("ferrum-trace-dump".into());
    os_thread::spawn(builder, work).map(|_| is_done)
}
