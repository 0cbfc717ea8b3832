//! Parses the text of rules. `docs/taxonomy.md` describes the format.

use super::class::{ClassId, Classes};
use super::pattern::{Pattern, VERBS};
use super::rules::{Condition, Refinement, Rule};
use std::fmt;

/// Error in the text of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The valid content.
    pub expected: String,
    /// The content of the line.
    pub found: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}, found {}", self.line, self.expected, self.found)
    }
}

impl std::error::Error for RuleError {}

/// Rules of one text, in the order of their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    /// Stages, of which the first that has a match counts.
    pub stages: Vec<Vec<Rule>>,
    /// Rules that replace a class.
    pub refinements: Vec<Refinement>,
    /// True if the text replaces the built-in rules.
    pub is_only: bool,
}

/// Parses a text, and adds the classes that it declares to `classes`.
pub(super) fn parse(text: &str, classes: &mut Classes) -> Result<Parsed, RuleError> {
    let mut parsed = Parsed { stages: vec![Vec::new()], ..Parsed::default() };
    for (n, line) in text.lines().enumerate() {
        let words = without_comment(line).trim();
        if !words.is_empty() {
            let wrong = |Wrong { expected, found }| RuleError { line: n + 1, expected, found };
            parse_line(words, classes, &mut parsed).map_err(wrong)?;
        }
    }
    Ok(parsed)
}

/// Content of an error, without its line.
struct Wrong {
    expected: String,
    found: String,
}

impl Wrong {
    fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { expected: expected.into(), found: found.into() }
    }
}

/// Removes a comment: `#` at the start of a line or after a blank. Names of kernels contain `#` too.
fn without_comment(line: &str) -> &str {
    let is_comment = |&(at, _): &(usize, &str)| line[..at].chars().next_back().is_none_or(char::is_whitespace);
    line.match_indices('#').find(is_comment).map_or(line, |(at, _)| &line[..at])
}

fn parse_line(line: &str, classes: &mut Classes, parsed: &mut Parsed) -> Result<(), Wrong> {
    let (first, rest) = word(line);
    match first {
        "only" => {
            parsed.is_only = true;
            at_end(rest, "`only`")
        }
        "else" => {
            parsed.stages.push(Vec::new());
            at_end(rest, "`else`")
        }
        "class" => declare(rest, classes),
        name => {
            let class = known(name, classes)?;
            parse_rule(class, rest, classes, parsed)
        }
    }
}

fn at_end(rest: &str, word: &str) -> Result<(), Wrong> {
    if rest.is_empty() { Ok(()) } else { Err(Wrong::new(format!("nothing after {word}"), format!("`{rest}`"))) }
}

/// Parses `NAME` or `NAME in CLASS`.
fn declare(text: &str, classes: &mut Classes) -> Result<(), Wrong> {
    let (name, rest) = word(text);
    if !is_name(name) {
        let found = if name.is_empty() { "nothing".to_owned() } else { format!("`{name}`") };
        return Err(Wrong::new("a name of letters, digits and `_` after `class`", found));
    }
    let outer = match word(rest) {
        ("", _) => None,
        ("in", outer) => Some(known(outer, classes)?),
        (other, _) => return Err(Wrong::new("`in` and a class, or nothing", format!("`{other}`"))),
    };
    // A copy of the built-in rules declares their classes again.
    if let Some(class) = classes.find(name) {
        let declared = classes.outer(class);
        if declared == outer {
            return Ok(());
        }
        let place =
            |outer: Option<ClassId>| outer.map_or("no class".to_owned(), |it| format!("`{}`", classes.name(it)));
        let expected = format!("`{name}` in {}, as declared before", place(declared));
        return Err(Wrong::new(expected, format!("`{name}` in {}", place(outer))));
    }
    classes.push(name, outer);
    Ok(())
}

/// Words that begin a line or a condition, and so cannot name a class.
const KEYWORDS: [&str; 6] = ["only", "else", "class", "from", "parent", "in"];

fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty() && name.chars().all(is_letter) && !KEYWORDS.contains(&name)
}

fn known(name: &str, classes: &Classes) -> Result<ClassId, Wrong> {
    let expected = "a class (declare a new one with `class NAME`), `class`, `else` or `only`";
    classes.find(name).ok_or_else(|| Wrong::new(expected, format!("`{name}`")))
}

/// Parses the rest of a rule: `[from CLASS] [parent] VERB PATTERN`.
fn parse_rule(class: ClassId, text: &str, classes: &Classes, parsed: &mut Parsed) -> Result<(), Wrong> {
    let (first, rest) = word(text);
    if first != "from" {
        let condition = parse_condition(text)?;
        if let Some(stage) = parsed.stages.last_mut() {
            stage.push(Rule { class, condition });
        }
        return Ok(());
    }
    let (name, rest) = word(rest);
    let from = known(name, classes)?;
    parsed.refinements.push(Refinement { from, rule: Rule { class, condition: parse_condition(rest)? } });
    Ok(())
}

fn parse_condition(text: &str) -> Result<Condition, Wrong> {
    match word(text) {
        ("parent", rest) => parse_pattern(rest).map(Condition::Parent),
        _ => parse_pattern(text).map(Condition::Name),
    }
}

fn parse_pattern(text: &str) -> Result<Pattern, Wrong> {
    let (verb, pattern) = word(text);
    let found = if verb.is_empty() { "nothing".to_owned() } else { format!("`{verb}`") };
    if pattern.is_empty() && Pattern::of(verb, pattern).is_some() {
        return Err(Wrong::new(format!("a pattern after `{verb}`"), "nothing"));
    }
    Pattern::of(verb, pattern).ok_or_else(|| Wrong::new(VERBS, found))
}

/// Returns the first word of a text, and the rest without the blanks around it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(text: &str) -> String {
        let mut classes = Classes::default();
        classes.push("gemm", None);
        parse(text, &mut classes).map_or_else(|error| error.to_string(), |parsed| format!("{parsed:?}"))
    }

    #[test]
    fn errors_have_a_line_and_state_what_was_expected_and_found() {
        let class = "a class (declare a new one with `class NAME`), `class`, `else` or `only`";
        let cases = [
            ("gemm contains", "line 1: expected a pattern after `contains`, found nothing".to_owned()),
            ("gemm", format!("line 1: expected {VERBS}, found nothing")),
            ("gemm like x", format!("line 1: expected {VERBS}, found `like`")),
            ("# a\n\ngem contains x", format!("line 3: expected {class}, found `gem`")),
            ("gemm from gem contains x", format!("line 1: expected {class}, found `gem`")),
            ("gemm parent contains # x", "line 1: expected a pattern after `contains`, found nothing".to_owned()),
            (
                "class b\nclass a in gemm\nclass a in b",
                "line 3: expected `a` in `gemm`, as declared before, found `a` in `b`".to_owned(),
            ),
            ("class", "line 1: expected a name of letters, digits and `_` after `class`, found nothing".to_owned()),
            ("class from", "line 1: expected a name of letters, digits and `_` after `class`, found `from`".to_owned()),
            ("class a-b", "line 1: expected a name of letters, digits and `_` after `class`, found `a-b`".to_owned()),
            ("class a of gemm", "line 1: expected `in` and a class, or nothing, found `of`".to_owned()),
            ("class a in gem", format!("line 1: expected {class}, found `gem`")),
            ("only x", "line 1: expected nothing after `only`, found `x`".to_owned()),
            ("else x", "line 1: expected nothing after `else`, found `x`".to_owned()),
        ];
        for (text, expected) in cases {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn a_comment_begins_a_line_or_follows_a_blank() {
        assert_eq!(without_comment("gemm contains lambda()#1 # no"), "gemm contains lambda()#1 ");
        assert_eq!(without_comment("# all"), "");
        assert_eq!(without_comment("ä#b"), "ä#b");
    }

    #[test]
    fn patterns_may_contain_blanks() {
        let mut classes = Classes::default();
        let gemm = classes.push("gemm", None);
        let parsed = parse("gemm   starts  My  Kernel \r\nelse\n", &mut classes);
        let rule = Rule { class: gemm, condition: Condition::Name(Pattern::Starts("my  kernel".to_owned())) };
        assert_eq!(parsed.map(|parsed| parsed.stages), Ok(vec![vec![rule], Vec::new()]));
    }

    proptest! {
        #[test]
        fn arbitrary_texts_do_not_panic(text in "(gemm|class|in|from|parent|contains|only|else|[# \nä*a]){0,20}") {
            let _ = error(&text);
        }
    }
}
