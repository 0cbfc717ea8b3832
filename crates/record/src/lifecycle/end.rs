//! Ends recordings: closes them, completes their files, and reports losses.

use crate::error::Error;
use crate::flight::recording::Recording;
use crate::os::stderr::say;
use crate::process::current::{clear_ids, with_registry};
use crate::process::{categories, switch};
use crate::recording::background;
use crate::stats::Stats;
use crate::watch::steps;
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
    result.map(|mut stats| {
        stats += part.completed();
        stats
    })
}

/// Ends the process's recording if `id` is its id, and completes its file in the background.
pub(crate) fn finish_in_background(id: u64) {
    if let Some(recording) = take_active(id) {
        background::write(move || complete(&recording));
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
    let Some(completed) = complete_and_report(recording, recording.losses()) else {
        return;
    };
    recording.release_memory();
    if let (Some(part), Ok(stats)) = (recording.part(), completed) {
        part.mark_complete(recording.output_path(), stats);
    }
}

/// Closes and completes a recording, and reports losses and errors in one line.
pub(crate) fn close_and_complete(recording: &Arc<Recording>) {
    let losses = recording.losses();
    if recording.close() {
        complete_and_report(recording, losses);
    }
}

/// Completes a recording that has been closed, and reports losses and errors. `losses` are the losses before. Returns
/// `None` if another thread takes over.
fn complete_and_report(recording: &Arc<Recording>, losses: Option<(u64, String)>) -> Option<Result<Stats, Error>> {
    let completed = recording.complete();
    match &completed {
        Ok(stats) => {
            let Stats { dropped, recorded, dumps, dumps_refused, refused, .. } = *stats;
            let why = losses.map_or(String::new(), |(_, why)| why);
            let lost = (dropped > 0).then(|| format!("{dropped} events lost{why}, {recorded} recorded"));
            let refused =
                (dumps_refused > 0).then(|| format!("{dumps_refused} dumps refused ({refused}), {dumps} granted"));
            let left = "nothing was recorded; the file that was there is left as it is".to_owned();
            let left = recording.has_kept_old_file().then_some(left);
            let words: Vec<String> = lost.into_iter().chain(refused).chain(left).collect();
            if !words.is_empty() {
                say(&format!("{}: {}", recording.output_path().display(), words.join("; ")));
            }
        }
        Err(_) if hand_back(recording) => return None,
        Err(error) => {
            let lost = losses.map_or(String::new(), |(dropped, why)| format!("; {dropped} events lost{why}"));
            let kept = match recording.spool_on_disk() {
                Some(spool) => format!("the trace is kept: ferrum-trace recover {}", spool.display()),
                None => "its spool has been removed too, and the trace is lost".to_owned(),
            };
            say(&format!("{error}{lost}; {kept}"));
        }
    }
    Some(completed)
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
