//! Output paths with placeholders: `trace-%p.json`.

use crate::recording::origin::host_name;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A path as the user gave it: `%p` stands for the process's number, `%r` for its rank (0 if it has none), `%h` for the
/// host's name, `%%` for a percent sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub text: OsString,
    /// The rank according to the environment.
    pub rank: Option<OsString>,
}

impl Pattern {
    /// Returns the path for the current process.
    pub(crate) fn path(&self) -> PathBuf {
        let mut expanded = Vec::new();
        let mut bytes = self.text.as_encoded_bytes().iter().peekable();
        while let Some(&byte) = bytes.next() {
            let replacement = match (byte, bytes.peek()) {
                (b'%', Some(b'p')) => std::process::id().to_string(),
                (b'%', Some(b'r')) => file_name_of(&self.rank.as_deref().map_or("0".into(), OsStr::to_string_lossy)),
                (b'%', Some(b'h')) => file_name_of(&host_name().unwrap_or_else(|| "host".to_owned())),
                (b'%', Some(b'%')) => "%".to_owned(),
                _ => {
                    expanded.push(byte);
                    continue;
                }
            };
            bytes.next();
            expanded.extend_from_slice(replacement.as_bytes());
        }
        os_string(expanded).into()
    }

    /// Returns true if the pattern has the process's number, so that each process has its own path.
    pub(crate) fn names_process(&self) -> bool {
        let mut bytes = self.text.as_encoded_bytes().iter();
        while let Some(byte) = bytes.next() {
            if *byte == b'%' && bytes.next() == Some(&b'p') {
                return true;
            }
        }
        false
    }

    /// Makes the path absolute, so that a later change of the working directory has no effect.
    pub(crate) fn make_absolute(&mut self) {
        if let Ok(absolute) = std::path::absolute(&self.text) {
            self.text = absolute.into();
        }
    }
}

#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// Replaces path separators, so that a rank or host name cannot lead out of the folder.
fn file_name_of(text: &str) -> String {
    text.replace(['/', '\\', '\0'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern { text: text.into(), rank: Some("7/../x".into()) }
    }

    fn expanded(text: &str) -> String {
        pattern(text).path().into_os_string().into_string().unwrap()
    }

    #[test]
    fn placeholders_are_filled_in_and_cannot_leave_the_folder() {
        let pid = std::process::id();
        assert_eq!(expanded("a-%p.json"), format!("a-{pid}.json"));
        assert_eq!(expanded("%r.json"), "7_.._x.json");
        assert_eq!(expanded("100%%-%x-%"), "100%-%x-%");
        assert!(!expanded("%h").is_empty() && !expanded("%h").contains('%'));
    }

    #[test]
    fn an_escaped_percent_sign_before_a_p_is_no_placeholder() {
        for (text, names) in [("%p", true), ("a%%%p", true), ("a%%p", false), ("%h-%r", false), ("%", false)] {
            assert_eq!(pattern(text).names_process(), names, "{text}");
        }
    }
}
