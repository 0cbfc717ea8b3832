//! Dumps: requests one, marks it in the trace, and writes it on a thread of its own.

use crate::flight::post_roll;
use crate::flight::recording::Recording;
use crate::os::process::fork_generation;
use crate::os::thread::without_signals;
use crate::process::switch::{self, OFF};
use crate::process::value::Value;
use crate::process::{current, event};
use crate::recording::background;
use crate::thread::buffer::{self, quietly};
use crate::thread::site::Site;
use ferrum_trace_format::spool::record::RecordKind;
use ferrum_trace_model::vocab::about::DumpRefusal;
use ferrum_trace_model::vocab::trigger as words;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// The event that says why a file was written, on the thread that asked for it.
static TRIGGER: Site = Site::new(words::NAME, words::CATEGORY, &[words::REASON, words::DUMP]);
static TRIGGER_WITH_WHAT: Site = Site::new(words::NAME, words::CATEGORY, &[words::REASON, words::DUMP, words::WHAT]);

/// How long a process that is about to abort waits for its file.
const ABORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Requests a dump of the process's recording. Returns why it is refused; `None` stands for anything but limits.
pub fn request(reason: &str) -> Result<(), Option<DumpRefusal>> {
    if crate::COMPILED_OUT || switch::clock() == OFF || buffer::current().is_held() {
        return Err(None);
    }
    fire(&current::active().ok_or(None)?, reason, None)
}

/// Requests a dump of a recording, with its reason and a description of what happened. Returns why it is refused; `None`
/// stands for a recording that is not a flight recorder.
pub fn fire(recording: &Arc<Recording>, reason: &str, what: Option<&str>) -> Result<(), Option<DumpRefusal>> {
    if !recording.spool().is_ring() {
        return Err(None);
    }
    let number = recording.dumps().grant(reason, what).map_err(|refusal| {
        recording.count_refused_dump(refusal);
        Some(refusal)
    })?;
    // Whatever categories are recorded.
    let (reason, number) = (reason.to_arg(), number.to_arg());
    match what {
        Some(what) => event::point(RecordKind::Instant, &TRIGGER_WITH_WHAT, &[], &[reason, number, what.to_arg()]),
        None => event::point(RecordKind::Instant, &TRIGGER, &[], &[reason, number]),
    }
    quietly(|| recording.spool().pin());
    if write_on_thread(recording, recording.dumps().post_roll(), background::become_background).is_none() {
        // The file is written at the end of the recording, of what is there then.
        quietly(|| recording.spool().unpin());
    }
    Ok(())
}

/// Writes the file that is asked for before this process aborts, unless that takes very long.
pub fn write_before_abort(recording: &Arc<Recording>) {
    // In a forked child, the thread might wait for ever, see `output::n_workers`.
    let thread = if fork_generation() > 0 { None } else { write_on_thread(recording, Duration::ZERO, || {}) };
    match thread {
        Some(done) => drop(done.recv_timeout(ABORT_TIMEOUT)),
        None => recording.write_dump(|| {}),
    }
}

/// Returns what tells that it is done, `None` if no thread could be had.
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
    without_signals(|| builder.spawn(work)).ok().map(|_| is_done)
}
