//! Patterns for names.

use crate::structure::glob::Glob;

/// Condition on a name. Names and patterns are compared in lowercase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The name begins with this text.
    Starts(String),
    /// The name contains this text.
    Contains(String),
    /// The name is this text.
    Is(String),
    /// The name matches this glob.
    Glob(Glob),
}

/// Verbs of the rule format.
pub(super) const VERBS: &str = "`starts`, `contains`, `is` or `glob`";

impl Pattern {
    /// Creates the pattern of a verb and a text; `None` if the verb is unknown.
    pub(super) fn of(verb: &str, text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        Some(match verb {
            "starts" => Self::Starts(text),
            "contains" => Self::Contains(text),
            "is" => Self::Is(text),
            "glob" => Self::Glob(Glob::new(text)),
            _ => return None,
        })
    }

    /// Returns true if a name in lowercase matches.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Starts(text) => name.starts_with(text.as_str()),
            Self::Contains(text) => name.contains(text.as_str()),
            Self::Is(text) => name == text,
            Self::Glob(glob) => glob.matches(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_has_its_condition() {
        let matches = |verb: &str, name: &str| Pattern::of(verb, "B_c").is_some_and(|pattern| pattern.matches(name));
        assert_eq!(["b_c", "b_cd", "ab_cd", "b"].map(|name| matches("starts", name)), [true, true, false, false]);
        assert_eq!(["b_c", "b_cd", "ab_cd", "b"].map(|name| matches("contains", name)), [true, true, true, false]);
        assert_eq!(["b_c", "b_cd", "ab_cd", "b"].map(|name| matches("is", name)), [true, false, false, false]);
        assert!(Pattern::of("glob", "*B?c").is_some_and(|pattern| pattern.matches("ab_c")));
        assert_eq!(Pattern::of("matches", "b"), None);
    }
}
