//! Unfinished work: ignored tests and macros such as `todo`.

use super::Finding;
use super::file::TextFile;

const MACROS: [&str; 3] = ["todo", "unimplemented", "dbg"];
const IGNORED: &str = concat!("#[", "ignore");

pub(super) fn findings(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line_idx, line) in file.code.lines().enumerate() {
        if line.contains(IGNORED) {
            findings.push(file.finding(line_idx, "assert the current result instead of ignoring the test"));
        }
        for name in MACROS.into_iter().filter(|name| calls(line, name)) {
            findings.push(file.finding(line_idx, format!("`{name}!` is left over")));
        }
    }
    findings
}

fn calls(line: &str, name: &str) -> bool {
    let call = format!("{name}!");
    let mut hits = line.match_indices(&call);
    hits.any(|(at, _)| !line[..at].ends_with(|ch: char| ch.is_alphanumeric() || ch == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let file = TextFile::new("a.rs", text.replace('§', "!"));
        findings(&file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_kind_is_found() {
        assert_eq!(lines("fn f() { todo§() }\ndbg§(x);\nunimplemented§()"), [1, 2, 3]);
        assert_eq!(lines(&format!("{IGNORED} = \"slow\"]")), [1]);
    }

    #[test]
    fn comments_literals_and_other_macros_are_no_findings() {
        assert_eq!(lines("// todo§()\nlet a = \"dbg§(\";\nmy_dbg§(x)"), []);
    }
}
