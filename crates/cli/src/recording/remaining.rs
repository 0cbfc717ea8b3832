//! Waits for processes that outlive the program.

use super::folder::Folder;
use super::process_events::{ProcessEvent, ProcessEvents};
use super::process_tree::ProcessTree;
use crate::input::paths::begins_like_a_spool;
use crate::input::source::is_being_recorded;
use crate::user_error::UserError;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for processes that do not record.
const TIMEOUT_IF_NONE_RECORDS: Duration = Duration::from_secs(1);
/// Time after which the wait is reported.
const REPORT_DELAY: Duration = Duration::from_millis(300);
/// Interval of checks if processes still record.
const PERIOD: Duration = Duration::from_millis(50);

/// End of the wait for remaining processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// No process records any more, or the time is over.
    ToTheEnd,
    /// A termination signal arrived.
    UntilSignal,
}

/// Waits until no process records any more, for at most `timeout`, or until a termination signal. If that takes a
/// while, calls `report` once with the number of processes that record.
#[expect(clippy::disallowed_methods, reason = "waits for other processes")]
pub(crate) fn wait_for_remaining(
    tree: &mut ProcessTree,
    folder: &Folder,
    events: &ProcessEvents,
    timeout: Duration,
    report: impl FnOnce(u64),
) -> Result<Waited, UserError> {
    let begin = Instant::now();
    let mut report = Some(report);
    loop {
        tree.reap();
        let n_recording = count_recording(folder)?;
        let timeout = match n_recording {
            0 if !tree.has_more() => return Ok(Waited::ToTheEnd),
            0 => timeout.min(TIMEOUT_IF_NONE_RECORDS),
            _ => timeout,
        };
        let waited = begin.elapsed();
        if waited >= timeout {
            return Ok(Waited::ToTheEnd);
        }
        if n_recording > 0
            && waited >= REPORT_DELAY
            && let Some(report) = report.take()
        {
            report(n_recording);
        }
        if let Some(ProcessEvent::Signal(signal)) = events.next(PERIOD)
            && signal.is_termination()
        {
            return Ok(Waited::UntilSignal);
        }
    }
}

/// Skips files that are not spools yet: testing their lock could keep their process from taking it.
fn count_recording(folder: &Folder) -> Result<u64, UserError> {
    let files = folder.files()?;
    let recording = files.iter().filter(|file| begins_like_a_spool(file) && is_being_recorded(file));
    Ok(recording.map(|file| process_of(file)).collect::<HashSet<_>>().len() as u64)
}

/// Returns the common part of the file names of a process, which may record to several parts.
fn process_of(file: &Path) -> &str {
    let name = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    match name.rsplit_once('.') {
        Some((process, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => process,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_recording_are_one_process() {
        let of = |name: &'static str| process_of(Path::new(name));
        assert_eq!(["d/a.b-7.spool", "d/a.b-7.001.spool", "d/a.b-7.1000.spool"].map(of), ["a.b-7"; 3]);
        assert_eq!(["d/a-7.spool", "d/a-8.001.spool"].map(of), ["a-7", "a-8"]);
    }
}
