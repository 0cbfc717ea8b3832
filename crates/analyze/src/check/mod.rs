//! Whether viewers take a file, and what they make of it.
//!
//! Each [`Rule`] says what files should not have, and which viewers suffer from it. The rules were seen on the viewers
//! themselves; `docs/check.md` lists them.

pub(crate) mod asyncs;
pub(crate) mod document;
pub(crate) mod events;
pub(crate) mod findings;
pub(crate) mod flows;
pub(crate) mod ids;
mod labels;
mod rule;
pub mod rules;
pub(crate) mod slices;
pub(crate) mod survey;
pub(crate) mod texts;

pub use findings::{Finding, PLACES_MAX, Place};
pub use rule::{Rule, Severity, Viewer, Viewers};

use crate::Opener;
use document::Watch;
use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{Form, for_each};
use findings::Places;

/// What was found in a file.
#[derive(Clone, Debug)]
pub struct Report {
    /// What is wrong or worth knowing, in the order of the rules.
    pub findings: Vec<Finding>,
    /// How the file is built.
    pub form: Form,
    /// How many events it has.
    pub n_events: u64,
}

impl Report {
    /// Findings that are errors.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.rule.severity == Severity::Error)
    }

    /// Whether some viewer refuses the file, or loses something of it, or draws it wrong.
    pub fn has_errors(&self) -> bool {
        self.errors().next().is_some()
    }

    /// The finding of a rule.
    pub fn get(&self, code: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.rule.code == code)
    }
}

/// Checks a file. It is read a second time if something was found whose place can only be told at the end.
///
/// # Errors
///
/// If the file cannot be read, or is no trace.
pub fn check(open: Opener<'_>) -> Result<Report, Error> {
    let surveyed = survey::survey(open)?;
    let wanted = surveyed.findings.wanted();
    let mut places = Places::of(wanted);
    if !places.is_empty() {
        for_each(Watch::new(open()?), &mut places)?;
    }
    let findings = surveyed.findings.finish(&places);
    Ok(Report { findings, form: surveyed.form, n_events: u64::from(surveyed.n_events) })
}
