//! The files that may contain `unsafe`; each use needs a SAFETY comment.
//!
//! Clippy requires the comment too, but only in packages with the workspace's lints, and not on private functions.

use super::Finding;
use super::file::TextFile;

/// Files that need it for speed, and files that call device drivers. Tests and benchmarks are allowed too: see
/// [`is_allowed`].
const ALLOWED: [&str; 17] = [
    "crates/device/src/cuda_driver.rs",
    "crates/device/src/opencl_event.rs",
    "crates/device/src/vulkan_clock.rs",
    "crates/record/src/face/tracing/slot.rs",
    "crates/record/src/thread/buffer.rs",
    "crates/record/src/os/clock.rs",
    "crates/record/src/os/fault.rs",
    "crates/record/src/os/file.rs",
    "crates/record/src/os/file_size.rs",
    "crates/record/src/os/memory.rs",
    "crates/record/src/os/thread.rs",
    "crates/record/src/os/signal.rs",
    "crates/record/src/lifecycle/fork_and_exit.rs",
    "crates/record/src/memory/segment.rs",
    "crates/record/src/memory/spool.rs",
    "crates/record/src/os/process.rs",
    "crates/record/src/os/stderr.rs",
];

const KEYWORD: &str = "unsafe";
const LINT: &str = "unsafe_code";

pub(super) fn findings(file: &TextFile) -> Vec<Finding> {
    let code: Vec<&str> = file.code.lines().collect();
    let text: Vec<&str> = file.text.lines().collect();
    let mut findings = Vec::new();
    for (line_idx, line) in code.iter().enumerate() {
        if lifts_the_lint(line) && !is_allowed(&file.path) {
            findings.push(file.finding(line_idx, format!("`{LINT}` may not be lifted here")));
        }
        let Some(after) = after_keyword(line) else {
            continue;
        };
        if !is_allowed(&file.path) {
            findings.push(file.finding(line_idx, format!("`{KEYWORD}` may not stand here")));
        } else if needs_reason(after, &code[line_idx + 1..]) && !has_reason(&text, &code, line_idx) {
            findings.push(file.finding(line_idx, format!("`{KEYWORD}` without a SAFETY comment")));
        }
    }
    findings
}

fn is_allowed(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["bench" | "tests", ..] | ["crates", _, "tests", ..] => true,
        _ => ALLOWED.contains(&path),
    }
}

fn lifts_the_lint(line: &str) -> bool {
    line.contains(LINT) && ["allow", "expect", "warn"].iter().any(|level| line.contains(level))
}

/// The text after the keyword, if the line contains it as a word.
fn after_keyword(line: &str) -> Option<&str> {
    let is_word = |ch: char| ch.is_alphanumeric() || ch == '_' || ch == '#';
    let mut hits = line.match_indices(KEYWORD);
    hits.find_map(|(at, _)| {
        let after = &line[at + KEYWORD.len()..];
        (!line[..at].ends_with(is_word) && !after.starts_with(is_word)).then_some(after)
    })
}

/// Returns true for blocks, impls, traits and functions. Attributes, function types and blocks of foreign declarations
/// need no comment: the calls of these functions have it.
fn needs_reason(after: &str, following: &[&str]) -> bool {
    let next = following.iter().find(|line| !line.trim().is_empty());
    let after = match after.trim() {
        "" => next.map_or("", |line| line.trim()),
        after => after,
    };
    let head = after.split('{').next().unwrap_or_default();
    match head.split_once("fn") {
        _ if after.starts_with('(') => false,
        Some((_, name)) => !name.trim_start().starts_with('('),
        None => !head.starts_with("extern"),
    }
}

/// Returns true if the statement or item of the line has the comment above it or in it.
fn has_reason(text: &[&str], code: &[&str], line_idx: usize) -> bool {
    if gives_reason(text[line_idx]) {
        return true;
    }
    for above in (0..line_idx).rev() {
        if gives_reason(text[above]) {
            return true;
        }
        let is_blank = text[above].trim().is_empty();
        if is_blank || code[above].trim_end().ends_with([';', '{', '}']) {
            return false;
        }
    }
    false
}

fn gives_reason(line: &str) -> bool {
    let comment = line.find("//").map_or("", |at| &line[at..]);
    comment.contains("SAFETY:") || comment.contains("# Safety")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `§` stands for the keyword.
    fn complaints(path: &str, text: &str) -> Vec<String> {
        let file = TextFile::new(path, text.replace('§', KEYWORD));
        findings(&file).iter().map(|finding| format!("{}: {}", finding.line, finding.message)).collect()
    }

    const HOME: &str = "crates/record/src/thread/buffer.rs";

    #[test]
    fn only_listed_files_may_contain_it() {
        let text = "// SAFETY: the caller's.\n§ { f() }\n";
        for path in [HOME, "crates/record/tests/kill.rs", "bench/src/main.rs"] {
            assert_eq!(complaints(path, text), [""; 0], "`{path}`");
        }
        for path in ["crates/record/src/lib.rs", "crates/format/src/spool.rs", "xtask/src/main.rs"] {
            assert_eq!(complaints(path, text), ["2: `unsafe` may not stand here"], "`{path}`");
        }
    }

    #[test]
    fn the_lint_may_be_lifted_only_there() {
        let text = "#![allow(§_code)]\n";
        assert_eq!(complaints(HOME, text), [""; 0]);
        assert_eq!(complaints("crates/cli/src/main.rs", text), ["1: `unsafe_code` may not be lifted here"]);
        assert_eq!(complaints("crates/cli/src/main.rs", "#![forbid(§_code)]\n"), [""; 0]);
    }

    #[test]
    fn each_use_needs_its_own_reason() {
        let text = "// SAFETY: a.\n§ { a() };\n§ { b() };\n\n§ impl Send for A {}\n§ fn c() {}\n";
        let lines: Vec<char> = complaints(HOME, text).iter().filter_map(|it| it.chars().next()).collect();
        assert_eq!(lines, ['3', '5', '6']);
    }

    #[test]
    fn the_reason_may_stand_above_the_statement_its_attributes_or_in_the_docs() {
        let texts = [
            "// SAFETY: a.\nlet a =\n    § { a() };\n",
            "/// Does.\n///\n/// # Safety\n///\n/// Only once.\n#[inline]\npub § fn a() {}\n",
            "let a = § { a() }; // SAFETY: a.\n",
        ];
        for text in texts {
            assert_eq!(complaints(HOME, text), [""; 0], "{text}");
        }
    }

    #[test]
    fn types_declarations_attributes_and_comments_need_no_reason() {
        let text = "// §\ntype F = § extern \"C\" fn(u32);\n§ extern \"C\" { fn f(); }\n#[§(link_section = \".init_array\")]\nlet a = \"§ {\";\n";
        assert_eq!(complaints(HOME, text), [""; 0]);
    }
}
