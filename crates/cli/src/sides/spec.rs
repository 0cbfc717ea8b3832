//! A side as the user named it: traces, a baseline, or a command to run.

use super::baseline_file::{begins_like_a_baseline, path_of_name};
use crate::user_error::UserError;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A side as the user named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SideSpec {
    /// A trace, a folder or a glob.
    Traces(PathBuf),
    /// A stored baseline.
    Baseline(PathBuf),
    /// A command for the shell.
    Command(String),
}

/// Prefix of the name of a baseline.
const BASELINE_PREFIX: &str = "baseline:";
/// Extensions that only traces have.
const TRACE_EXTENSIONS: [&str; 6] = ["json", "gz", "zst", "spool", "pftrace", "perfetto-trace"];

impl SideSpec {
    /// Decides what the value of a flag means. Existing files and folders come first, then globs, then commands.
    pub(crate) fn of(typed: &str) -> Result<Self, UserError> {
        if let Some(name) = typed.strip_prefix(BASELINE_PREFIX) {
            return path_of_name(name).map(Self::Baseline);
        }
        let path = Path::new(typed);
        match fs::metadata(path) {
            Ok(about) if about.is_file() => Ok(Self::of_file(typed, about.permissions().mode())),
            Ok(_) => Ok(Self::Traces(path.to_owned())),
            Err(_) if is_glob_with_matches(typed) || has_spool(path) => Ok(Self::Traces(path.to_owned())),
            Err(_) => Self::of_words(typed),
        }
    }

    fn of_file(typed: &str, mode: u32) -> Self {
        let path = Path::new(typed);
        if begins_like_a_baseline(path) {
            Self::Baseline(path.to_owned())
        } else if mode & 0o111 != 0 && !begins_like_a_trace(path) {
            Self::Command(quoted(typed))
        } else {
            Self::Traces(path.to_owned())
        }
    }

    /// Decides about a text that names no file. A single word that looks like a path is a mistake, not a command.
    fn of_words(typed: &str) -> Result<Self, UserError> {
        let path = Path::new(typed);
        let is_word = !typed.trim().is_empty() && !typed.contains(char::is_whitespace);
        let is_trace = path.extension().is_some_and(|it| TRACE_EXTENSIONS.iter().any(|known| it == *known));
        let missing =
            || UserError::new(typed, "expected a trace, a folder, a baseline or a command; there is no such file");
        if typed.trim().is_empty() {
            Err(UserError::new(
                "--base, --new",
                "expected a trace, a folder, a baseline or a command, found an empty text",
            ))
        } else if is_word && typed.contains(['*', '?', '[']) {
            Err(UserError::new(typed, "expected a glob that matches a trace; no file matches"))
        } else if is_word && (typed.contains('/') || is_trace) {
            Err(missing())
        } else if is_word && path_of_name(typed).is_ok_and(|path| path.is_file()) {
            let what = "can be a command or a baseline, because a baseline has this name";
            let hint = format!("write `{BASELINE_PREFIX}{typed}` for the baseline, or `exec {typed}` for the command");
            Err(UserError::new(typed, what).hint(hint))
        } else {
            Ok(Self::Command(typed.to_owned()))
        }
    }
}

fn is_glob_with_matches(typed: &str) -> bool {
    typed.contains(['*', '?', '[']) && glob::glob(typed).is_ok_and(|mut paths| paths.any(|path| path.is_ok()))
}

/// Returns true if the trace is missing but can be recovered.
fn has_spool(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push(".spool");
    Path::new(&name).is_file()
}

/// Returns true if the first bytes are those of a trace or of its container. Programs begin with other bytes.
fn begins_like_a_trace(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(64).read_to_end(&mut head));
    let text = head.trim_ascii_start();
    // Objects and arrays, Perfetto, gzip, zstd, zip, spools.
    let beginnings: [&[u8]; 7] = [b"{", b"[", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK", b"FERRUMSP", b"\xef\xbb\xbf"];
    let is_perfetto = head.first() == Some(&b'\n');
    read.is_ok() && (is_perfetto || beginnings.iter().any(|beginning| text.starts_with(beginning)))
}

/// Returns the path of a program as a word for the shell. Without a slash, the shell would search it elsewhere.
fn quoted(path: &str) -> String {
    let path = if path.contains('/') { path.to_owned() } else { format!("./{path}") };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+".contains(letter);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(files: &[(&str, &[u8], u32)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes, mode) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        folder
    }

    /// Returns the meaning of a path within the folder, without the path of the folder.
    fn spelled(folder: &tempfile::TempDir, word: &str) -> String {
        let prefix = format!("{}/", folder.path().display());
        let spec = SideSpec::of(&format!("{prefix}{word}"));
        let text = match spec {
            Ok(SideSpec::Traces(path)) => format!("traces {}", path.display()),
            Ok(SideSpec::Baseline(path)) => format!("baseline {}", path.display()),
            Ok(SideSpec::Command(command)) => format!("command {command}"),
            Err(error) => error.to_string(),
        };
        text.replace(&prefix, "")
    }

    #[test]
    fn existing_files_are_told_apart_by_their_content() {
        let folder = scene(&[
            ("d/a.json", b"[]", 0o644),
            ("all_bits.json", b"\n [", 0o755),
            ("engine", b"\x7fELF", 0o755),
            ("the engine", b"#!/bin/sh\n", 0o755),
            ("notes.txt", b"hello", 0o644),
            ("main.json", br#"{"format":"ferrum-trace baseline","version":1}"#, 0o644),
            ("lost.json.spool", b"", 0o644),
        ]);
        let cases = [
            ("d", "traces d"),
            ("d/a.json", "traces d/a.json"),
            ("d/*.json", "traces d/*.json"),
            ("all_bits.json", "traces all_bits.json"),
            ("engine", "command engine"),
            ("the engine", "command 'the engine'"),
            ("notes.txt", "traces notes.txt"),
            ("main.json", "baseline main.json"),
            ("lost.json", "traces lost.json"),
        ];
        for (word, expected) in cases {
            assert_eq!(spelled(&folder, word).replace(&format!("'{}/", folder.path().display()), "'"), expected);
        }
    }

    #[test]
    fn words_that_name_no_file_are_a_command_unless_they_look_like_a_path() {
        let command = |text: &str| Ok::<_, String>(SideSpec::Command(text.to_owned()));
        let of = |text: &str| SideSpec::of(text).map_err(|error| error.to_string());
        for text in ["true", "./engine --model m", "FOO=1 engine", "engine --filter '*'", "a.json b"] {
            assert_eq!(of(text), command(text));
        }
        for (text, words) in [
            ("runs/main", "there is no such file"),
            ("base.json", "there is no such file"),
            ("runs/*.json", "no file matches"),
            (" ", "an empty text"),
            ("baseline:a/b", "expected a name"),
        ] {
            assert!(of(text).unwrap_err().contains(words), "{text}");
        }
    }
}
