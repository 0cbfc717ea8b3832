//! The allowed licenses of `deny.toml`.

use crate::Result;
use spdx::{Expression, LicenseId, LicenseReq, ParseMode};

/// The part of `deny.toml` that the step uses. The rest is for cargo-deny.
#[derive(Debug)]
pub(super) struct AllowList {
    licenses: Vec<LicenseId>,
}

impl AllowList {
    /// Reads the list `allow` of the table `licenses`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut licenses = Vec::new();
        for name in names(text)? {
            let unknown = || format!("{}: expected a license of SPDX, found `{name}`", super::RULES);
            licenses.push(spdx::license_id(name).ok_or_else(unknown)?);
        }
        Ok(Self { licenses })
    }

    /// Returns why a license expression is not accepted.
    pub(super) fn complaint(&self, license: &str) -> Option<String> {
        if license.is_empty() {
            return Some("expected a license in its manifest, found none".to_owned());
        }
        match expression(license) {
            Err(error) => Some(format!("expected a license expression of SPDX, found `{license}`: {}", error.reason)),
            Ok(expression) if expression.evaluate(|it| self.allows(it)) => None,
            Ok(_) => Some(format!("license `{license}` is not allowed by {}", super::RULES)),
        }
    }

    /// An exception to a license, such as that of LLVM for Apache-2.0, is not listed: without it the license is allowed
    /// too.
    fn allows(&self, required: &LicenseReq) -> bool {
        required.license.id().is_some_and(|id| self.licenses.contains(&id))
    }

    /// Returns the licenses that no expression names.
    pub(super) fn unused<'a>(&self, expressions: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'static str> {
        let mut unused = self.licenses.clone();
        for expression in expressions.filter_map(|text| expression(text).ok()) {
            unused.retain(|id| !expression.requirements().any(|it| it.req.license.id() == Some(*id)));
        }
        unused.into_iter().map(|id| id.name)
    }
}

/// Parses an expression, also in the old form `MIT/Apache-2.0`.
fn expression(text: &str) -> std::result::Result<Expression, spdx::ParseError> {
    Expression::parse_mode(text, ParseMode { allow_slash_as_or_operator: true, ..ParseMode::STRICT })
}

/// Returns the strings of the list. It is the only one of the table, and has one string per line or all in one line.
fn names(text: &str) -> Result<Vec<&str>> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let table: Vec<&str> = lines
        .skip_while(|line| *line != "[licenses]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty())
        .collect();
    let unexpected =
        |found: &str| format!("{}: expected a list `allow` in `[licenses]`, found `{found}`", super::RULES);
    let first = table.first().copied().unwrap_or_default();
    let begin = first.strip_prefix("allow").map(str::trim_start).and_then(|rest| rest.strip_prefix('='));
    let begin = begin.and_then(|rest| rest.trim_start().strip_prefix('[')).ok_or_else(|| unexpected(first))?;
    let mut found = Vec::new();
    for line in std::iter::once(begin).chain(table.into_iter().skip(1)) {
        for word in line.trim_end_matches(']').split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let name = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
            found.push(name.ok_or_else(|| unexpected(word))?);
        }
    }
    if found.is_empty() { Err(unexpected("an empty list")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &str) -> AllowList {
        AllowList::parse(&format!("[graph]\na = [1]\n\n[licenses]\n# Reason.\nallow = [{names}]\n\n[bans]\nb = [2]\n"))
            .unwrap()
    }

    #[test]
    fn the_list_may_have_any_layout() {
        let names = |text: &str| list(text).licenses.iter().map(|id| id.name).collect::<Vec<_>>();
        assert_eq!(names("\"MIT\", \"ISC\""), ["MIT", "ISC"]);
        assert_eq!(names("\n    \"MIT\", # Reason.\n    \"ISC\",\n"), ["MIT", "ISC"]);
    }

    #[test]
    fn what_the_step_does_not_understand_is_an_error() {
        for text in ["", "[licenses]\n", "[licenses]\nallow = []\n", "[licenses]\nexceptions = []\n"] {
            assert!(AllowList::parse(text).unwrap_err().contains("expected a list `allow`"), "{text}");
        }
        let unknown = AllowList::parse("[licenses]\nallow = [\"MYT\"]\n").unwrap_err();
        assert_eq!(unknown, "deny.toml: expected a license of SPDX, found `MYT`");
        let more = "[licenses]\nallow = [\"MIT\"]\nexceptions = [{ crate = \"a\" }]\n";
        assert!(AllowList::parse(more).is_err());
    }

    #[test]
    fn expressions_are_evaluated() {
        let allowed = list("\"MIT\", \"Apache-2.0\", \"Unicode-3.0\"");
        let accepted = [
            "MIT",
            "MIT/Apache-2.0",
            "MIT OR LGPL-2.1-or-later",
            "(MIT OR GPL-2.0-only) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ];
        for license in accepted {
            assert_eq!(allowed.complaint(license), None, "{license}");
        }
        for license in ["CDDL-1.0", "MIT AND GPL-3.0-only", "(ISC OR Zlib) AND MIT", "LGPL-2.1-or-later", "", "MIT OR"]
        {
            assert!(allowed.complaint(license).is_some(), "{license}");
        }
    }

    #[test]
    fn licenses_that_nothing_has_are_found() {
        let allowed = list("\"MIT\", \"ISC\", \"Zlib\"");
        let unused: Vec<&str> = allowed.unused(["MIT OR Apache-2.0", "GPL-2.0-only AND Zlib"].into_iter()).collect();
        assert_eq!(unused, ["ISC"]);
    }
}
