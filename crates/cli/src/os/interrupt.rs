//! Ctrl-C, and other wishes that this process end: no half file stays behind.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What shells report of a process that Ctrl-C ended.
const EXIT_CODE: i32 = 130;

/// The file that is being written. Whoever holds the lock decides what becomes of it.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// From now on, a file that is being written is removed when the process is told to end, and this is said about it.
///
/// Where a signal is being ignored already (`nohup`), all stay as they are: not to be ended is what was asked for.
pub fn install(exit_message: &'static str) {
    // Without a handler the work is the same, only an interruption leaves more behind.
    let _ = ctrlc::try_set_handler(move || leave(exit_message));
}

/// Removes a file that is being written, says this about it, and ends the process.
pub fn leave(exit_message: &str) -> ! {
    let mut unfinished = lock();
    remove(&mut unfinished);
    let words = format!("\ninterrupted: {exit_message}\n");
    let _ = std::io::stderr().write_all(words.as_bytes());
    // The lock is held to the end, so that the file cannot get its name after all.
    std::process::exit(EXIT_CODE);
}

/// Makes a file that is to be removed on interruption; `make` gives its path and itself.
pub fn guard<T>(make: impl FnOnce() -> std::io::Result<T>, path: impl FnOnce(&T) -> &Path) -> std::io::Result<T> {
    let mut unfinished = lock();
    let made = make()?;
    *unfinished = Some(path(&made).to_owned());
    Ok(made)
}

/// Does the last step, after which the file is no longer to be removed. No interruption comes in between.
pub fn release<T>(last_step: impl FnOnce() -> T) -> T {
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
    fn what_is_guarded_is_removed_and_what_is_released_is_not() {
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
