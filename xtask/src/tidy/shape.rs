//! Line ends, file length, and paths of a developer's machine.

use super::Finding;
use super::file::TextFile;

/// Length limit for a file in `crates`; a longer one should be split.
const LINES_MAX: usize = 800;

/// Folders of development machines. Written without slashes, because otherwise this file breaks the rule.
const MACHINE_FOLDERS: [&str; 3] = ["work", "farm", "root"];

pub(super) fn findings(file: &TextFile) -> Vec<Finding> {
    if file.is_test_data() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (line_idx, line) in file.text.split('\n').enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(file.finding(line_idx, "the line ends in blanks"));
        }
        if names_a_machine_path(line) {
            findings.push(file.finding(line_idx, "a path of one developer's machine"));
        }
    }
    let n_lines = file.text.lines().count();
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        findings.push(file.finding(n_lines - 1, "the last line has no newline"));
    }
    if file.path.starts_with("crates/") && n_lines > LINES_MAX {
        findings.push(file.finding(LINES_MAX, format!("{n_lines} lines, {LINES_MAX} at most")));
    }
    findings
}

/// Returns true if one of the folders stands between slashes and a name follows.
fn names_a_machine_path(line: &str) -> bool {
    MACHINE_FOLDERS.iter().any(|folder| {
        let folder = format!("/{folder}/");
        let mut rests = line.split(&folder).skip(1);
        rests.any(|rest| rest.starts_with(|ch: char| ch.is_ascii_lowercase() || ch == '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        findings(&TextFile::new(path, text.into())).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_clean_file_is_clean() {
        assert!(complaints("docs/a.md", "a\n\n  b\n").is_empty());
        assert!(complaints("docs/empty.md", "").is_empty());
    }

    #[test]
    fn blanks_and_the_missing_newline_are_found() {
        assert_eq!(
            complaints("a.md", "a \nb\t\nc"),
            [
                "a.md:1: the line ends in blanks",
                "a.md:2: the line ends in blanks",
                "a.md:3: the last line has no newline"
            ]
        );
    }

    #[test]
    fn test_data_is_exempt() {
        assert!(complaints("tests/data/a.json", "[ \n]").is_empty());
    }

    #[test]
    fn machine_paths_are_found_and_similar_paths_are_not() {
        let path = |folder: &str| format!("see /{folder}/a\n");
        assert_eq!(complaints("a.md", &path("farm")), ["a.md:1: a path of one developer's machine"]);
        for harmless in ["workspace", "home"] {
            assert!(complaints("a.md", &path(harmless)).is_empty(), "`{harmless}`");
        }
    }

    #[test]
    fn only_files_of_crates_have_a_length_limit() {
        let long = "a\n".repeat(LINES_MAX + 1);
        assert_eq!(complaints("crates/a/b.rs", &long), ["crates/a/b.rs:801: 801 lines, 800 at most"]);
        assert!(complaints("Cargo.lock", &long).is_empty());
    }
}
