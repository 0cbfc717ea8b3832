//! Unfinished files that killed recorders have left behind.
//!
//! Besides its spool, a recorder may leave the file that would have become the next version of the trace
//! (`trace.json.next`), a copy of its ring (`trace.json.spool.copy`, older versions) and the same for a dump
//! (`trace.dump-001.json.next`). Nobody uses them any more once the recorder has ended, which is when its spool is gone
//! or not locked.

use ferrum_trace_format::spool::{FILE_ENDING, OutputFormat};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The end of the name of a trace that is being written.
const NEXT: &str = ".next";
/// The end of the name of a copy of a ring.
const COPY: &str = ".copy";
/// First bytes of traces (Chrome, Perfetto, gzip and zstd) and of spools.
const FIRST_BYTES: [u8; 5] = [b'[', 0x0a, 0x1f, 0x28, b'F'];

/// Removes the leftovers for a trace, unless a recorder is using them. Ignores errors.
pub(crate) fn remove(trace: &Path) {
    let files = beside(trace);
    // Nearly always, there are none.
    if files.is_empty() {
        return;
    }
    let spool = File::open(with_ending(trace, FILE_ENDING));
    let is_over = match &spool {
        // The lock is held until the files are removed.
        Ok(spool) => spool.try_lock().is_ok(),
        Err(cause) => cause.kind() == std::io::ErrorKind::NotFound,
    };
    if is_over {
        files.iter().for_each(|file| drop(fs::remove_file(file)));
    }
}

/// Returns the leftovers for a trace, which a recorder may still be using.
pub(crate) fn beside(trace: &Path) -> Vec<PathBuf> {
    let Some(name) = trace.file_name() else {
        return Vec::new();
    };
    let folder = trace.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let leftovers = entries.flatten().filter(|entry| is_leftover(&entry.file_name(), name));
    leftovers.map(|entry| folder.join(entry.file_name())).filter(|path| begins_like_a_trace(path)).collect()
}

/// Returns true if a recorder with this output gives a file such a name while it writes it.
fn is_leftover(name: &OsStr, trace: &OsStr) -> bool {
    let (Some(name), Some(trace)) = (name.to_str(), trace.to_str()) else {
        return false;
    };
    let Some(done) = name.strip_suffix(NEXT).or_else(|| name.strip_suffix(COPY)) else {
        return false;
    };
    done == trace || done.strip_suffix(FILE_ENDING) == Some(trace) || is_dump(done, trace)
}

/// Returns true for `trace.dump-001.json` and `trace.json`.
fn is_dump(name: &str, trace: &str) -> bool {
    let ending = match OutputFormat::of_name(trace).1 {
        "" => trace.rfind('.').filter(|&dot| dot > 0).map_or("", |dot| &trace[dot..]),
        ending => ending,
    };
    let stem = &trace[..trace.len() - ending.len()];
    let middle = name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(ending));
    let number = middle.and_then(|middle| middle.strip_prefix(".dump-"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if this is a file that begins like a trace, or is empty. Another program may have written a file of
/// that name.
fn begins_like_a_trace(path: &Path) -> bool {
    let mut first_byte = Vec::new();
    let is_file = fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
    let read = is_file.then(|| File::open(path)?.take(1).read_to_end(&mut first_byte));
    matches!(read, Some(Ok(_))) && first_byte.first().is_none_or(|first| FIRST_BYTES.contains(first))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_recorder_with_the_same_output_are_leftovers() {
        let is = |name: &str, trace: &str| is_leftover(OsStr::new(name), OsStr::new(trace));
        for name in ["t.json.next", "t.json.spool.copy", "t.dump-001.json.next", "t.dump-12.json.copy"] {
            assert!(is(name, "t.json"), "{name}");
        }
        assert!(is("t.dump-001.json.gz.next", "t.json.gz"));
        for name in ["t.json", "t.next", "u.json.next", "t.json.next.bak", "t.dump-x.json.next", "t.dump-.json.next"] {
            assert!(!is(name, "t.json"), "{name}");
        }
    }

    #[test]
    fn leftovers_stay_while_the_spool_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, bytes) in [("t.json.next", "["), ("t.json.spool", "FERRUMSP"), ("u.json.next", "to do")] {
            fs::write(path(name), bytes).unwrap();
        }
        let spool = File::open(path("t.json.spool")).unwrap();
        spool.lock().unwrap();
        remove(&path("t.json"));
        assert!(path("t.json.next").exists());
        spool.unlock().unwrap();
        remove(&path("t.json"));
        assert!(!path("t.json.next").exists());
        remove(&path("u.json"));
        assert!(path("u.json.next").exists(), "it is not a trace");
    }
}
