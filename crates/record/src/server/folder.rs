//! The one directory that recordings are written to, and file names in it.

use super::answer::{Refusal, quoted, text_of};
use crate::recording::destination::with_ending;
use axum::http::StatusCode;
use ferrum_trace_format::spool::FILE_ENDING;
use std::path::{Path, PathBuf};

/// Maximum length of a name in bytes.
const NAME_BYTES_MAX: usize = 100;
/// Highest number of a file.
const NUMBER_MAX: u32 = 9999;
/// Suffixes of the files that the recorder creates for an output.
const SUFFIXES: [&str; 3] = ["", FILE_ENDING, ".next"];

/// Returns the directory, or the subdirectory of it that the client requests, with links resolved.
pub(super) fn folder(directory: &Path, wanted: Option<&str>) -> Result<PathBuf, Refusal> {
    let gone = |cause| {
        let words = format!("{}: {cause}; this is the directory that the program was started with", text_of(directory));
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, words)
    };
    let directory = directory.canonicalize().map_err(gone)?;
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        return Ok(directory);
    };
    let outside = || {
        let words = format!("expected `output_dir` to be inside {}, found {}", text_of(&directory), quoted(wanted));
        Refusal::new(StatusCode::FORBIDDEN, words)
    };
    // An error reveals nothing about paths elsewhere, not even whether they exist.
    let leads_out = Path::new(wanted).components().any(|part| part == std::path::Component::ParentDir);
    let path = directory.join(wanted);
    if leads_out || wanted.contains('\0') || !path.starts_with(&directory) {
        return Err(outside());
    }
    let missing = |cause| Refusal::bad(format!("`output_dir` {}: {cause}", quoted(wanted)));
    let real = path.canonicalize().map_err(missing)?;
    if !real.starts_with(&directory) {
        return Err(outside());
    }
    real.is_dir()
        .then_some(real)
        .ok_or_else(|| Refusal::bad(format!("`output_dir` {}: not a directory", quoted(wanted))))
}

/// Refuses a name that is not a plain file name.
pub(super) fn check_name(name: &str) -> Result<(), Refusal> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_name =
        (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with(['.', '-']);
    let expected = || {
        let rule =
            format!("1 to {NAME_BYTES_MAX} letters, digits, `.`, `_` and `-`, the first a letter, a digit or `_`");
        Refusal::bad(format!("expected `name` to be {rule}, found {}", quoted(name)))
    };
    is_name.then_some(()).ok_or_else(expected)
}

/// Returns `FOLDER/NAME-001.json`, or the path with the next free number.
pub(super) fn free_path(folder: &Path, name: &str, ending: &str) -> Result<PathBuf, Refusal> {
    let numbered = |number: u32| folder.join(format!("{name}-{number:03}.{ending}"));
    // A dangling link counts as a file.
    let is_free = |path: &PathBuf| SUFFIXES.iter().all(|suffix| with_ending(path, suffix).symlink_metadata().is_err());
    (1..=NUMBER_MAX).map(numbered).find(is_free).ok_or_else(|| {
        let words = format!("expected a free file name, found all numbers from {} on in use", text_of(&numbered(1)));
        Refusal::new(StatusCode::INSUFFICIENT_STORAGE, words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for name in ["trace", "a.b-c_1", "7", "_x"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "x".repeat(101);
        for name in ["", "..", ".hidden", "../x", "a/b", "a\\b", "%2e%2e", "a\0", "-rf", "ä", "a b", "C:x", &long] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
