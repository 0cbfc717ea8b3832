//! Ends recordings: closes them, completes their files, and reports losses.

use crate::error::Error;
use crate::flight::recording::Recording;
use crate::lifecycle::unwritten;
use crate::os::process::is_ending;
use crate::os::stderr::say;
use crate::process::current::{clear_ids, with_registry};
use crate::process::{categories, switch};
use crate::recording::background;
use crate::recording::part::Part;
use crate::stats::Stats;
use crate::watch::steps;
use std::io;
use std::sync::Arc;

/// Ends the process's recording if `id` is its id, and completes its file on the calling thread.
pub(crate) fn finish(id: u64) -> Result<Stats, Error> {
    let recording = take_active(id).ok_or_else(Error::not_recording)?;
    let result = recording.complete();
    recording.release_memory();
    let Some(part) = recording.part() else {
        return result;
    };
    // Earlier parts may still be in progress.
    background::finish_all();
    unwritten::write_all();
    let stats = result? + part.completed();
    unwritten_error(part).map_or(Ok(stats), Err)
}

/// Ends the process's recording if `id` is its id, and completes its file in the background.
pub(crate) fn finish_in_background(id: u64) {
    if let Some(recording) = take_active(id) {
        background::on_deputy(background::Announced::new(), move || {
            complete(&recording);
            Some(())
        });
    }
}

/// Closes the process's recording if `id` is its id. The caller has to complete it.
pub(crate) fn take_active(id: u64) -> Option<Arc<Recording>> {
    let recording = with_registry(|registry| {
        if registry.active.as_ref().is_none_or(|recording| recording.recording() != id) {
            return None;
        }
        switch::end();
        steps::end();
        clear_ids();
        registry.active.iter().for_each(|recording| say_if_muted(recording));
        categories::end();
        let recording = registry.active.take().filter(|recording| recording.mark_closed())?;
        registry.n_closing += 1;
        Some(recording)
    })?;
    // Not under the lock of the registry: this writes to every chunk, which may take long, and threads take the lock
    // for new call sites. No other recording starts until it is done.
    recording.close_chunks();
    with_registry(|registry| registry.n_closing = registry.n_closing.saturating_sub(1));
    Some(recording)
}

/// Completes a recording that has been closed, in a process that continues. Reports losses and errors in one line.
pub(crate) fn complete(recording: &Arc<Recording>) {
    let Some(completed) = complete_and_report(recording) else {
        return;
    };
    recording.release_memory();
    if let (Some(part), Ok(stats)) = (recording.part(), completed) {
        part.mark_complete(recording.output_path(), stats);
    }
}

/// Completes a part of a recording that continues in another part. If its output cannot be written, it is kept to be
/// written again. That is not printed, since the end of the recording reports all losses.
pub(crate) fn complete_part(recording: &Arc<Recording>) {
    let Some(part) = recording.part() else {
        return;
    };
    part.note_loss(recording.why_lost());
    let completed = write_output(recording);
    if completed.is_err() && background::is_cancelled() {
        let recording = Arc::clone(recording);
        background::hand_back(move || complete_part(&recording));
        return;
    }
    recording.release_memory();
    match completed {
        Ok(stats) => part.mark_complete(recording.output_path(), stats),
        Err(error) if error.may_pass() => unwritten::keep(recording, part, &error),
        Err(error) => {
            let spool = recording.spool_path();
            say(&format!("{error}; the trace is kept: ferrum-trace recover {}", spool.display()));
            part.mark_complete(&spool, recording.session().stats().unwrap_or_default());
        }
    }
}

/// Closes and completes a recording, and reports losses and errors in one line.
pub(crate) fn close_and_complete(recording: &Arc<Recording>) {
    if recording.close() {
        complete_and_report(recording);
    }
}

/// Writes the outputs of earlier parts that are still missing when the process ends, and reports those that fail.
pub(crate) fn complete_unwritten() {
    unwritten::write_all();
    for recording in unwritten::give_up() {
        if let Some(error) = recording.part().and_then(unwritten_error) {
            say(&error.to_string());
        }
    }
}

/// Completes a recording that has been closed, with earlier parts that are still missing, and reports losses and
/// errors. Returns `None` if another thread takes over.
fn complete_and_report(recording: &Arc<Recording>) -> Option<Result<Stats, Error>> {
    let why_lost = recording.why_lost();
    let completed = write_output(recording);
    if completed.is_err() && hand_back(recording) {
        return None;
    }
    let part = recording.part();
    if part.is_some() {
        unwritten::write_all();
    }
    let total = match (&completed, part) {
        (Ok(stats), Some(part)) => Ok(*stats + part.completed()),
        (Ok(stats), None) => Ok(*stats),
        (Err(_), _) => recording.stats(),
    };
    let Stats { dropped, recorded, dumps, dumps_refused, refused, .. } = total.unwrap_or_default();
    let why = why_lost.or_else(|| part.and_then(Part::why_lost)).map_or(String::new(), |why| format!(" ({why})"));
    let lost = (dropped > 0).then(|| format!("{dropped} events lost{why}"));
    let mut words: Vec<String> = Vec::new();
    match &completed {
        Ok(_) => {
            words.extend(lost.map(|lost| format!("{lost}, {recorded} recorded")));
            let refused = || format!("{dumps_refused} dumps refused ({refused}), {dumps} granted");
            words.extend((dumps_refused > 0).then(refused));
            let left = "nothing was recorded; the file that was there is left as it is";
            words.extend(recording.has_kept_old_file().then(|| left.to_owned()));
            words.extend(part.and_then(unwritten_error).map(|error| error.to_string()));
            if !words.is_empty() {
                words[0].insert_str(0, &format!("{}: ", recording.output_path().display()));
            }
        }
        Err(error) => {
            words.push(error.to_string());
            words.extend(lost);
            words.extend(part.and_then(unwritten_error).map(|error| error.to_string()));
            words.push(match recording.spool_on_disk() {
                Some(spool) => format!("the trace is kept: ferrum-trace recover {}", spool.display()),
                None => "its spool has been removed too, and the trace is lost".to_owned(),
            });
        }
    }
    if !words.is_empty() {
        say(&words.join("; "));
    }
    if is_ending() {
        // They have been reported.
        unwritten::give_up();
    }
    Some(completed)
}

/// Returns an error about the parts whose output could not be written, if any.
fn unwritten_error(part: &Part) -> Option<Error> {
    let why = part.error().filter(|_| part.n_unwritten() > 0)?;
    Some(Error::unwritten_parts(part.base(), part.n_unwritten(), why))
}

/// Completes the output of a recording; quietly, if the calling thread is in the background.
pub(crate) fn write_output(recording: &Arc<Recording>) -> Result<Stats, Error> {
    let path = recording.output_path();
    let panicked = || Err(Error::io("cannot write the trace", path, io::Error::other("the writer thread panicked")));
    let recording = Arc::clone(recording);
    background::quietly(&Arc::new(move || recording.complete())).unwrap_or_else(panicked)
}

/// Hands a recording that could not be completed to the thread that takes over from this background thread. Returns
/// false if none does.
pub(crate) fn hand_back(recording: &Arc<Recording>) -> bool {
    let recording = Arc::clone(recording);
    background::hand_back(move || complete(&recording))
}

/// Prints a line about a recording that is about to end without events, if the reason is its categories.
pub(crate) fn say_if_muted(recording: &Recording) {
    if !recording.has_chunks()
        && let Some(words) = categories::why_empty()
    {
        say(&format!("{}: {words}", recording.output_path().display()));
    }
}
