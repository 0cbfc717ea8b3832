//! The rules, by subject.

pub(crate) mod asyncs;
pub(crate) mod counters;
pub(crate) mod document;
pub(crate) mod events;
pub(crate) mod flows;
pub(crate) mod ids;
pub(crate) mod profiles;
pub(crate) mod slices;
pub(crate) mod texts;
pub(crate) mod times;

use super::rule::Rule;

/// Returns all rules, in the order of reports.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let groups: [&[&Rule]; 10] = [
        document::ALL,
        events::ALL,
        texts::ALL,
        ids::ALL,
        times::ALL,
        slices::ALL,
        flows::ALL,
        asyncs::ALL,
        counters::ALL,
        profiles::ALL,
    ];
    groups.into_iter().flatten().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn every_code_is_there_once() {
        let mut seen = HashSet::new();
        for rule in super::all() {
            assert!(seen.insert(rule.code), "{} is there twice", rule.code);
            assert!(rule.viewers.0.chars().all(|letter| "PCSFH".contains(letter)), "{}", rule.code);
        }
    }
}
