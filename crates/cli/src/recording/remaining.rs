//! Processes that outlive the program.

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

/// How long to wait for processes that do not record, and perhaps never will.
const PATIENCE_WITH_OTHERS: Duration = Duration::from_secs(1);
/// Waiting that ends sooner needs no words.
const SILENCE: Duration = Duration::from_millis(300);
/// How often to look whether somebody still records.
const PERIOD: Duration = Duration::from_millis(50);

/// Waits until no process records any more, for at most so long, or until somebody wishes an end. If that takes a while, how
/// many there are is said once.
#[expect(clippy::disallowed_methods, reason = "it is other processes that are waited for")]
pub fn wait_for_remaining(
    tree: &mut ProcessTree,
    folder: &Folder,
    events: &ProcessEvents,
    patience: Duration,
    say: impl FnOnce(u64),
) -> Result<(), UserError> {
    let begin = Instant::now();
    let mut say = Some(say);
    loop {
        tree.reap();
        let n_recording = count_recording(folder)?;
        let patience = match n_recording {
            0 if !tree.has_more() => return Ok(()),
            0 => patience.min(PATIENCE_WITH_OTHERS),
            _ => patience,
        };
        let waited = begin.elapsed();
        if waited >= patience {
            return Ok(());
        }
        if n_recording > 0
            && waited >= SILENCE
            && let Some(say) = say.take()
        {
            say(n_recording);
        }
        if let Some(ProcessEvent::Signal(signal)) = events.next(PERIOD)
            && signal.is_termination()
        {
            return Ok(());
        }
    }
}

/// A file that is not a spool yet is left alone: whoever looks at its lock might keep its process from it.
fn count_recording(folder: &Folder) -> Result<u64, UserError> {
    let files = folder.files()?;
    let recording = files.iter().filter(|file| begins_like_a_spool(file) && is_being_recorded(file));
    Ok(recording.map(|file| process_of(file)).collect::<HashSet<_>>().len() as u64)
}

/// What the files of a process have in common: one that rotates completes some while it records to the next.
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
    fn the_files_of_a_process_are_one_process() {
        let of = |name: &'static str| process_of(Path::new(name));
        assert_eq!(["d/a.b-7.spool", "d/a.b-7.001.spool", "d/a.b-7.1000.spool"].map(of), ["a.b-7"; 3]);
        assert_eq!(["d/a-7.spool", "d/a-8.001.spool"].map(of), ["a-7", "a-8"]);
    }
}
