//! Unfinished files that killed processes have left behind.
//!
//! An unfinished file is called `NAME.PID-XXXXXX.tmp`, with the name of the output and six random characters, and its
//! process holds a lock on it. The system releases the lock when the process ends, however it ends. So a file of that
//! name without a lock can be removed.

use crate::os::file_id::is_at;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::path::Path;

/// The end of the name of an unfinished file.
pub(crate) const SUFFIX: &str = ".tmp";
/// Random characters in the name of an unfinished file.
pub(crate) const N_RANDOM: usize = 6;

/// The name of an unfinished file up to its random characters.
pub(crate) fn prefix(output: &OsStr, pid: u32) -> OsString {
    let mut prefix = output.to_owned();
    prefix.push(format!(".{pid}-"));
    prefix
}

/// Locks an unfinished file, so that no other process removes it. False if one has removed it before it was locked.
///
/// On systems without locks, files are not removed either.
pub(crate) fn hold(file: &File, path: &Path) -> bool {
    file.lock().is_err() || is_at(file, path)
}

/// Removes unfinished files for the same output that no living process holds. Ignores errors.
pub(crate) fn remove(folder: &Path, output: &OsStr) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && is_unfinished(&entry.file_name(), output) {
            remove_unless_held(&entry.path());
        }
    }
}

fn remove_unless_held(path: &Path) {
    let Ok(file) = File::open(path) else { return };
    match file.try_lock() {
        Ok(()) if is_at(&file, path) => {
            let _ = fs::remove_file(path);
        }
        Ok(()) | Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
    }
}

/// Returns true if this is the name of an unfinished file for the output.
fn is_unfinished(name: &OsStr, output: &OsStr) -> bool {
    let (name, output) = (name.as_encoded_bytes(), output.as_encoded_bytes());
    let middle = name.strip_prefix(output).and_then(|rest| rest.strip_prefix(b"."));
    let Some(middle) = middle.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes())) else { return false };
    let Some(dash) = middle.iter().position(|&byte| byte == b'-') else { return false };
    let (pid, random) = (&middle[..dash], &middle[dash + 1..]);
    let is_pid = !pid.is_empty() && pid.iter().all(u8::is_ascii_digit);
    is_pid && random.len() == N_RANDOM && random.iter().all(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::pending_file::PendingFile;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_unfinished_files_of_the_same_output_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let kept = [
            "t.json",
            "t.json.1-AbC12!.tmp",
            "t.json.1-AbC123.tmp.gz",
            "t.json.1-AbC1234.tmp",
            "t.json.backup.tmp",
            "t.json.x-AbC123.tmp",
            "u.json.1-AbC123.tmp",
        ];
        for name in kept.iter().chain(&["t.json.1-AbC123.tmp", "t.json.77-zzzzzz.tmp"]) {
            fs::write(folder.path().join(name), "[").unwrap();
        }
        fs::create_dir(folder.path().join("t.json.1-folder.tmp")).unwrap();
        remove(folder.path(), OsStr::new("t.json"));
        let mut expected = kept.map(str::to_owned).to_vec();
        expected.push("t.json.1-folder.tmp".to_owned());
        expected.sort();
        assert_eq!(names(folder.path()), expected);
    }

    #[test]
    fn a_file_that_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.json");
        let first = PendingFile::create(&path).unwrap();
        let second = PendingFile::create(&path).unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        drop((first, second));
        assert_eq!(names(folder.path()).len(), 0);
    }
}
