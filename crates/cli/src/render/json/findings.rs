//! Findings of `check` and their places.

use ferrum_trace_analyze::check::Finding;
use serde::Serialize;

/// A position in a file.
#[derive(Serialize)]
pub(crate) struct PlaceObject<'a> {
    offset: u64,
    excerpt: &'a str,
}

impl<'a> PlaceObject<'a> {
    /// Returns the first positions of a finding.
    pub(crate) fn of(finding: &'a Finding) -> Vec<Self> {
        finding.first.iter().map(|place| Self { offset: place.offset, excerpt: &place.excerpt }).collect()
    }
}

/// Violations of a rule that were repaired.
#[derive(Serialize)]
pub(crate) struct RepairedObject<'a> {
    code: &'static str,
    count: u64,
    what: &'static str,
    repair: &'static str,
    first: Vec<PlaceObject<'a>>,
}

impl<'a> RepairedObject<'a> {
    /// Returns an object for each finding.
    pub(crate) fn all(findings: &'a [Finding]) -> Vec<Self> {
        let new = |finding: &'a Finding| {
            let rule = finding.rule;
            let first = PlaceObject::of(finding);
            Self { code: rule.code, count: finding.n, what: rule.what, repair: rule.repair, first }
        };
        findings.iter().map(new).collect()
    }
}
