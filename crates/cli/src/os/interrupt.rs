//! Removes the unfinished file when Ctrl-C or a signal ends the process.

use ferrum_trace_analyze::visible;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The exit code that shells use after Ctrl-C.
const EXIT_CODE: i32 = 130;

/// The file that is being written. The holder of the lock may rename or remove it.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Installs a handler that removes the unfinished file, prints the message, and exits.
///
/// If a signal is already ignored (`nohup`), no handler is installed.
pub(crate) fn install(exit_message: &'static str) {
    // Without a handler, an interruption leaves the unfinished file behind; nothing else changes.
    let _ = ctrlc::try_set_handler(move || exit(exit_message));
}

/// Removes the unfinished file, prints the message, and exits.
pub(crate) fn exit(exit_message: &str) -> ! {
    let mut unfinished = lock();
    remove(&mut unfinished);
    let text = format!("\ninterrupted: {}\n", visible(exit_message));
    let _ = std::io::stderr().write_all(text.as_bytes());
    // The lock is held until the process ends, so that the file cannot be renamed.
    std::process::exit(EXIT_CODE);
}

/// Creates a file with `make` that an interruption removes.
pub(crate) fn guard<T>(
    make: impl FnOnce() -> std::io::Result<T>,
    path: impl FnOnce(&T) -> &Path,
) -> std::io::Result<T> {
    let mut unfinished = lock();
    let made = make()?;
    *unfinished = Some(path(&made).to_owned());
    Ok(made)
}

/// Runs the last step, after which an interruption no longer removes the file. Interruptions wait for it.
pub(crate) fn release<T>(last_step: impl FnOnce() -> T) -> T {
    let mut unfinished = lock();
    *unfinished = None;
    last_step()
}

fn lock() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remove(unfinished: &mut Option<PathBuf>) {
    if let Some(path) = unfinished.take() {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_file_is_removed_and_a_released_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (half, whole) = (folder.path().join("half"), folder.path().join("whole"));
        for path in [&half, &whole] {
            std::fs::write(path, "[").unwrap();
        }
        guard(|| Ok(whole.clone()), |path| path).unwrap();
        release(|| {});
        remove(&mut lock());
        guard(|| Ok(half.clone()), |path| path).unwrap();
        remove(&mut lock());
        assert!(whole.exists() && !half.exists());
    }
}
