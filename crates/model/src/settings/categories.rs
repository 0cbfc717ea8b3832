//! The setting that selects the recorded categories.

use super::error::SettingError;
use std::fmt;
use std::str::FromStr;

/// The set of recorded categories; all categories by default.
///
/// `FERRUM_TRACE_CATEGORIES` has the same text: names separated by commas. `attention,gemm` records only these two;
/// `-memory,-kv_cache` records all but these; `attention*` matches every name with that prefix. The last rule that
/// matches decides. An empty text selects all categories.
///
/// ```
/// let categories: ferrum_trace_model::settings::Categories = "-memory".parse().unwrap();
/// assert!(categories.has("gemm") && !categories.has("memory"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Categories {
    /// True if categories that match no rule are recorded.
    is_on_by_default: bool,
    rules: Vec<Rule>,
}

impl Default for Categories {
    fn default() -> Self {
        Self::all()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    is_on: bool,
    name: String,
    is_prefix: bool,
}

impl Rule {
    fn matches_all(&self) -> bool {
        self.is_prefix && self.name.is_empty()
    }

    fn matches(&self, category: &str) -> bool {
        if self.is_prefix { category.starts_with(&self.name) } else { category == self.name }
    }
}

impl Categories {
    /// Returns true if events of this category are recorded.
    pub fn has(&self, category: &str) -> bool {
        self.rules.iter().rev().find(|rule| rule.matches(category)).map_or(self.is_on_by_default, |rule| rule.is_on)
    }

    /// Returns the set of all categories.
    pub const fn all() -> Self {
        Self { is_on_by_default: true, rules: Vec::new() }
    }

    /// Returns true if every category is recorded.
    pub fn is_all(&self) -> bool {
        match self.rules.iter().rposition(Rule::matches_all) {
            Some(last) => self.rules[last..].iter().all(|rule| rule.is_on),
            None => self.is_on_by_default && self.rules.iter().all(|rule| rule.is_on),
        }
    }

    /// Returns the names in the rules, without those that end in `*`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter(|rule| !rule.is_prefix).map(|rule| rule.name.as_str())
    }

    /// Returns the same set with one category switched on or off.
    pub fn with(mut self, category: &str, is_on: bool) -> Self {
        self.rules.retain(|rule| rule.is_prefix || rule.name != category);
        if self.has(category) != is_on {
            self.rules.push(Rule { is_on, name: category.to_owned(), is_prefix: false });
        }
        self
    }
}

const EXPECTED: &str = "names of categories such as `attention,gemm` or `-memory`";

impl FromStr for Categories {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let rules = parts.map(|part| {
            let (is_on, name) = part.strip_prefix('-').map_or((true, part), |name| (false, name));
            let (name, is_prefix) = name.strip_suffix('*').map_or((name, false), |name| (name, true));
            let is_name = !name.contains('*') && (is_prefix || !name.is_empty());
            let rule = Rule { is_on, name: name.to_owned(), is_prefix };
            is_name.then_some(rule).ok_or_else(|| SettingError::new(EXPECTED, part))
        });
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        // If the first rule removes a category, the set starts with all of them.
        Ok(Self { is_on_by_default: rules.first().is_none_or(|rule| !rule.is_on), rules })
    }
}

impl fmt::Display for Categories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_implied = self.rules.first().map_or(self.is_on_by_default, |rule| rule.is_on != self.is_on_by_default);
        let others = Rule { is_on: self.is_on_by_default, name: String::new(), is_prefix: true };
        let all = Some(&others).filter(|_| !is_implied).into_iter().chain(&self.rules);
        for (n, rule) in all.enumerate() {
            let (comma, minus) = (if n > 0 { "," } else { "" }, if rule.is_on { "" } else { "-" });
            write!(f, "{comma}{minus}{}{}", rule.name, if rule.is_prefix { "*" } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Categories {
        text.parse().unwrap()
    }

    #[test]
    fn names_select_and_a_minus_removes_and_the_last_rule_decides() {
        let cases: [(&str, &[&str], &[&str]); 6] = [
            ("", &["gemm", ""], &[]),
            ("gemm,attention", &["gemm", "attention"], &["norm", ""]),
            ("-memory", &["gemm", ""], &["memory"]),
            ("candle*,-candle::quiet", &["candle", "candle::loud"], &["candle::quiet", "gemm"]),
            ("-*, gemm", &["gemm"], &["norm"]),
            ("*", &["gemm", ""], &[]),
        ];
        for (text, on, off) in cases {
            let categories = parsed(text);
            assert!(on.iter().all(|name| categories.has(name)), "{text}");
            assert!(!off.iter().any(|name| categories.has(name)), "{text}");
        }
        assert!(parsed("").is_all() && parsed("*").is_all() && !parsed("-a").is_all());
    }

    #[test]
    fn switching_one_category_leaves_the_others_unchanged() {
        let categories = parsed("gemm").with("norm", true).with("gemm", false);
        assert!(categories.has("norm") && !categories.has("gemm") && !categories.has("act"));
        assert!(Categories::all().with("norm", false).with("norm", true).is_all());
        let none = parsed("gemm").with("gemm", false);
        assert!(!none.has("gemm") && !none.has("norm"));
        assert_eq!(none.to_string(), "-*");
    }

    #[test]
    fn an_invalid_name_is_reported() {
        for text in ["a,-", "a*b", "**"] {
            assert!(text.parse::<Categories>().unwrap_err().to_string().contains('`'), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_parses_to_the_same_set_as_its_printed_form(text in "[-*,a-c ]{0,12}|.{0,20}") {
            if let Ok(categories) = text.parse::<Categories>() {
                prop_assert_eq!(parsed(&categories.to_string()), categories);
            }
        }
    }
}
