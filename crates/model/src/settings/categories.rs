//! Which categories are recorded.

use super::error::SettingError;
use std::fmt;
use std::str::FromStr;

/// Which categories are recorded. All of them, if nothing else is said.
///
/// As text, in `FERRUM_TRACE_CATEGORIES`: names with commas between them. `attention,gemm` records these and no others;
/// `-memory,-kv_cache` records all but these; `attention*` stands for all that begin so. The last that matches decides. An empty text
/// is all.
///
/// ```
/// let categories: ferrum_trace_model::settings::Categories = "-memory".parse().unwrap();
/// assert!(categories.has("gemm") && !categories.has("memory"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Categories {
    /// Whether those are recorded that no rule is about.
    are_others_on: bool,
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
    fn is_about_all(&self) -> bool {
        self.is_prefix && self.name.is_empty()
    }

    fn matches(&self, category: &str) -> bool {
        if self.is_prefix { category.starts_with(&self.name) } else { category == self.name }
    }
}

impl Categories {
    /// Whether events of this category are recorded.
    pub fn has(&self, category: &str) -> bool {
        self.rules.iter().rev().find(|rule| rule.matches(category)).map_or(self.are_others_on, |rule| rule.is_on)
    }

    /// All of them.
    pub const fn all() -> Self {
        Self { are_others_on: true, rules: Vec::new() }
    }

    /// Whether all are.
    pub fn is_all(&self) -> bool {
        match self.rules.iter().rposition(Rule::is_about_all) {
            Some(last) => self.rules[last..].iter().all(|rule| rule.is_on),
            None => self.are_others_on && self.rules.iter().all(|rule| rule.is_on),
        }
    }

    /// The names that they are chosen or left out by, without those that end in `*`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter(|rule| !rule.is_prefix).map(|rule| rule.name.as_str())
    }

    /// The same, but for this category.
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
        // If the first one takes something away, all is there to begin with.
        Ok(Self { are_others_on: rules.first().is_none_or(|rule| !rule.is_on), rules })
    }
}

impl fmt::Display for Categories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_told_by_first = self.rules.first().map_or(self.are_others_on, |rule| rule.is_on != self.are_others_on);
        let others = Rule { is_on: self.are_others_on, name: String::new(), is_prefix: true };
        let all = Some(&others).filter(|_| !is_told_by_first).into_iter().chain(&self.rules);
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
    fn names_choose_and_minus_takes_away_and_the_last_decides() {
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
    fn one_is_switched_and_the_others_stay() {
        let categories = parsed("gemm").with("norm", true).with("gemm", false);
        assert!(categories.has("norm") && !categories.has("gemm") && !categories.has("act"));
        assert!(Categories::all().with("norm", false).with("norm", true).is_all());
        let none = parsed("gemm").with("gemm", false);
        assert!(!none.has("gemm") && !none.has("norm"));
        assert_eq!(none.to_string(), "-*");
    }

    #[test]
    fn what_is_no_name_is_told() {
        for text in ["a,-", "a*b", "**"] {
            assert!(text.parse::<Categories>().unwrap_err().to_string().contains('`'), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_means_what_it_is_printed_as(text in "[-*,a-c ]{0,12}|.{0,20}") {
            if let Ok(categories) = text.parse::<Categories>() {
                prop_assert_eq!(parsed(&categories.to_string()), categories);
            }
        }
    }
}
