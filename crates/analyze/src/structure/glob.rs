//! Patterns for texts.

use std::str::Chars;

/// Pattern for whole texts: `*` matches any text, also the empty one, `?` matches one character, everything else
/// matches itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pattern: String,
}

impl Glob {
    /// Creates a pattern. Every text is a valid pattern.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into() }
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Returns true if the pattern matches the whole text. Case matters.
    pub fn matches(&self, text: &str) -> bool {
        let (mut pattern, mut text) = (self.pattern.chars(), text.chars());
        // The pattern after the latest `*`, and the text after the part that this `*` matches.
        let mut star: Option<(Chars, Chars)> = None;
        loop {
            let rest = text.clone();
            match (pattern.next(), text.next()) {
                (Some('*'), _) => {
                    star = Some((pattern.clone(), rest.clone()));
                    text = rest;
                }
                (None, None) => return true,
                (Some('?'), Some(_)) => {}
                (Some(wanted), Some(found)) if wanted == found => {}
                _ => {
                    // Let the `*` match one character more.
                    let Some((after_star, longer)) = &mut star else { return false };
                    if longer.next().is_none() {
                        return false;
                    }
                    (pattern, text) = (after_star.clone(), longer.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_glob_matches_whole_texts() {
        let matches = |pattern: &str, text: &str| Glob::new(pattern).matches(text);
        assert!(matches("decode", "decode") && !matches("decode", "decode 1") && !matches("decode", "Decode"));
        assert!(matches("decode*", "decode") && matches("decode*", "decode 1"));
        assert!(matches("*", "") && matches("", "") && !matches("", "a") && !matches("?", ""));
        assert!(matches("a*b*c", "a--b-b--c") && !matches("a*b*c", "a--b-b--cd"));
        assert!(matches("step[*]", "step[DECODE bs=4]") && matches("??", "äö") && !matches("?", "äö"));
        assert!(matches("**a?*", "bab") && !matches("**a?*", "ba"));
    }

    /// Reference implementation that tries every match.
    fn naive_match(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            ([], text) => text.is_empty(),
            (['*', rest @ ..], text) => (0..=text.len()).any(|n| naive_match(rest, &text[n..])),
            (['?', rest @ ..], [_, text @ ..]) => naive_match(rest, text),
            ([wanted, rest @ ..], [found, text @ ..]) => wanted == found && naive_match(rest, text),
            (_, []) => false,
        }
    }

    proptest! {
        #[test]
        fn a_glob_agrees_with_the_naive_match(pattern in "[ab*?]{0,8}", text in "[ab]{0,10}") {
            let [pattern_chars, text_chars] = [&pattern, &text].map(|text| text.chars().collect::<Vec<_>>());
            prop_assert_eq!(Glob::new(pattern).matches(&text), naive_match(&pattern_chars, &text_chars));
        }
    }
}
