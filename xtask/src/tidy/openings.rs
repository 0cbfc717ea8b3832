//! Doc comments open with a noun or a verb that names the thing, not with a relative clause.

use std::collections::BTreeMap;

use super::Finding;
use super::file::TextFile;

/// First words of a doc comment that paraphrases instead of naming.
const VAGUE: [&str; 7] = ["What", "Which", "Whose", "Whoever", "Who", "Where", "Those"];

/// Share of a package's doc comments that may open with one of them.
const PERCENT_MAX: usize = 2;

pub(super) fn findings(files: &[TextFile]) -> Vec<Finding> {
    let packages: Vec<&str> = files.iter().filter_map(|file| file.path.strip_suffix("Cargo.toml")).collect();
    let mut by_package: BTreeMap<&str, Vec<&TextFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs") && !file.is_test_data()) {
        let owners = packages.iter().copied().filter(|folder| file.path.starts_with(folder));
        let package = owners.max_by_key(|folder| folder.len()).unwrap_or_default();
        by_package.entry(package).or_default().push(file);
    }
    by_package.iter().flat_map(|(package, files)| findings_of(package, files)).collect()
}

fn findings_of(package: &str, files: &[&TextFile]) -> Vec<Finding> {
    let openings: Vec<(&TextFile, Opening<'_>)> =
        files.iter().flat_map(|file| openings(&file.text).into_iter().map(|opening| (*file, opening))).collect();
    let vague: Vec<&(&TextFile, Opening<'_>)> = openings.iter().filter(|(_, it)| is_vague(it.text)).collect();
    if vague.len() * 100 <= openings.len() * PERCENT_MAX {
        return Vec::new();
    }
    let share =
        format!("{} of {} doc comments in `{package}` do, {PERCENT_MAX} % at most", vague.len(), openings.len());
    let finding = |(file, it): &&(&TextFile, Opening<'_>)| {
        let word = first_word(it.text);
        file.finding(it.line_idx, format!("the doc comment opens with `{word}` instead of a noun or a verb; {share}"))
    };
    vague.iter().map(finding).collect()
}

/// The first line of a doc comment.
struct Opening<'a> {
    line_idx: usize,
    text: &'a str,
}

fn openings(text: &str) -> Vec<Opening<'_>> {
    let mut found = Vec::new();
    let mut previous = None;
    for (line_idx, line) in text.lines().enumerate() {
        let doc = doc_line(line);
        if let Some((marker, text)) = doc.filter(|(marker, _)| previous != Some(*marker)) {
            found.push(Opening { line_idx, text });
            previous = Some(marker);
        } else if doc.is_none() {
            previous = None;
        }
    }
    found
}

/// The marker and the text of a line of a doc comment.
fn doc_line(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let marker = ["///", "//!"].into_iter().find(|marker| line.starts_with(marker) && !line.starts_with("////"))?;
    Some((marker, line[marker.len()..].trim()))
}

fn first_word(text: &str) -> &str {
    text.split(|ch: char| !ch.is_alphanumeric()).next().unwrap_or_default()
}

fn is_vague(text: &str) -> bool {
    VAGUE.contains(&first_word(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> = files.iter().map(|(path, text)| TextFile::new(path, text.to_string())).collect();
        findings(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_vague_opening_is_found_with_its_place() {
        let text = "//! A noun.\n\n/// Returns.\nfn f() {}\n\n    /// Which is it?\n    fn g() {}\n";
        let expected = "a/src/lib.rs:6: the doc comment opens with `Which` instead of a noun or a verb; 1 of 3 doc comments in `a/` do, 2 % at most";
        assert_eq!(complaints(&[("a/Cargo.toml", ""), ("a/src/lib.rs", text)]), [expected]);
    }

    #[test]
    fn only_the_first_line_and_the_whole_word_count() {
        let text = "/// A noun.\n/// What follows.\n// What a comment says.\n//// What no doc comment says.\n/// Whatsoever.\n";
        assert_eq!(complaints(&[("a.rs", text)]), [""; 0]);
    }

    #[test]
    fn few_of_many_are_no_finding() {
        let few = format!("/// What.\n{}", "fn f() {}\n/// A.\n".repeat(49));
        assert_eq!(complaints(&[("a.rs", &few)]), [""; 0]);
        assert_eq!(complaints(&[("a.rs", &few.replacen("/// A.\n", "", 1))]).len(), 1);
    }

    #[test]
    fn each_package_has_its_own_share() {
        let plain = "fn f() {}\n/// A.\n".repeat(100);
        let files =
            [("Cargo.toml", ""), ("a/Cargo.toml", ""), ("a/lib.rs", "/// Those.\n"), ("lib.rs", plain.as_str())];
        assert_eq!(complaints(&files).len(), 1);
    }
}
