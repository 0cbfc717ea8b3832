//! The width of prose: comments in Rust, paragraphs and list items in Markdown.

use super::Finding;
use super::file::TextFile;

const COLUMNS_MAX: usize = 120;

pub(super) fn findings(file: &TextFile) -> Vec<Finding> {
    let is_rust = file.path.ends_with(".rs");
    if file.is_test_data() || file.path.starts_with("bench/runs/") || !(is_rust || file.path.ends_with(".md")) {
        return Vec::new();
    }
    let mut is_code = false;
    let mut findings = Vec::new();
    for (line_idx, line) in file.text.lines().enumerate() {
        let prose = if is_rust { comment(line) } else { Some(line.trim_start()) };
        let Some(prose) = prose else {
            is_code = false;
            continue;
        };
        let is_fence = prose.starts_with("```") || prose.starts_with("~~~");
        is_code ^= is_fence;
        let columns = line.chars().count();
        if columns > COLUMNS_MAX && !is_code && !is_fence && !is_exempt(prose) {
            findings.push(file.finding(line_idx, format!("prose of {columns} columns, {COLUMNS_MAX} at most")));
        }
    }
    findings
}

/// The text of a line that is a comment and nothing else.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim_start())
}

/// True for headings, rows of tables, link definitions, and text that cannot be broken.
fn is_exempt(prose: &str) -> bool {
    let is_link_definition = prose.starts_with('[') && prose.contains("]: ");
    let is_heading = prose.trim_start_matches('#').len() < prose.len();
    let words = prose.trim_start_matches(['-', '*', '+', '>', ' ']).trim_end();
    prose.starts_with('|') || is_link_definition || is_heading || !words.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines with findings.
    fn lines(path: &str, text: &str) -> Vec<usize> {
        findings(&TextFile::new(path, text.into())).iter().map(|finding| finding.line).collect()
    }

    /// `start`, filled up with words to a number of columns.
    fn line(start: &str, columns: usize) -> String {
        format!("{start}{} z", "y".repeat(columns - start.chars().count() - 2))
    }

    #[test]
    fn comments_and_paragraphs_may_be_120_characters_wide() {
        for (path, start) in
            [("a.rs", "// ö"), ("a.rs", "    /// x "), ("a.rs", "//! "), ("a.md", "ö "), ("a.md", "  - x ")]
        {
            assert_eq!(lines(path, &line(start, 120)), [0; 0], "`{start}`");
            assert_eq!(lines(path, &line(start, 121)), [1], "`{start}`");
        }
    }

    #[test]
    fn the_message_names_the_width() {
        let file = TextFile::new("a.md", line("x ", 130));
        assert_eq!(findings(&file)[0].to_string(), "a.md:1: prose of 130 columns, 120 at most");
    }

    #[test]
    fn tables_headings_links_and_single_words_are_exempt() {
        let word = "x".repeat(130);
        for start in ["| a | ", "## ", "[a]: "] {
            assert_eq!(lines("a.md", &line(start, 130)), [0; 0], "`{start}`");
            assert_eq!(lines("a.rs", &line(&format!("/// {start}"), 130)), [0; 0], "`{start}`");
        }
        for text in [word.clone(), format!("- {word}")] {
            assert_eq!(lines("a.md", &text), [0; 0]);
            assert_eq!(lines("a.rs", &format!("// {text}")), [0; 0]);
        }
    }

    #[test]
    fn code_is_exempt() {
        let wide = line("a ", 130);
        assert_eq!(lines("a.md", &format!("```text\n{wide}\n```\n{wide}\n")), [4]);
        assert_eq!(lines("a.rs", &format!("/// ```\n/// {wide}\n/// ```\nfn f() {{}}\n/// {wide}\n")), [5]);
        assert_eq!(lines("a.rs", &wide), [0; 0]);
    }

    #[test]
    fn data_results_and_other_files_are_exempt() {
        let wide = line("a ", 130);
        for path in ["crates/a/tests/data/a.md", "bench/runs/a.md", "a.py"] {
            assert_eq!(lines(path, &wide), [0; 0], "`{path}`");
        }
    }
}
