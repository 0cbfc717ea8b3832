//! Whether viewers take a file, and what they make of it.
//!
//! Each [`Rule`] says what files should not have, and which viewers suffer from it. The rules were seen on the viewers
//! themselves; `docs/check.md` lists them.

pub(crate) mod asyncs;
pub(crate) mod document;
pub(crate) mod events;
pub(crate) mod fields;
pub(crate) mod findings;
pub(crate) mod flows;
pub(crate) mod ids;
mod labels;
mod profile_sample;
pub(crate) mod profiles;
mod rule;
pub mod rules;
pub(crate) mod slices;
pub(crate) mod survey;
pub(crate) mod texts;

pub use findings::{Finding, Location, PLACES_MAX};
pub use rule::{Rule, Severity, Viewer, Viewers};

use crate::Opener;
use document::Watch;
use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{DocumentShape, Outline, for_each};
use ferrum_trace_model::Recordings;
use findings::Places;
use rules::asyncs::UNMATCHED_ASYNC;
use rules::flows::{FLOW_FAN_OUT, FLOW_ID_TEXT};
use rules::slices::{SHARED_START, UNCLOSED_BEGIN, UNFINISHED, ZERO_LENGTH_PAIR};
use rules::times::{EPOCH_PRECISION, LONG_SPAN};

/// What was found in a file.
#[derive(Clone, Debug)]
pub struct Report {
    /// What is wrong or worth knowing, in the order of the rules.
    pub findings: Vec<Finding>,
    /// How the file is built.
    pub form: DocumentShape,
    /// How many events it has.
    pub n_events: u64,
    /// Facts that the recorder states about the recordings in it.
    pub recordings: Recordings,
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

    /// Returns what of this holds for a Perfetto trace that was read as Chrome trace JSON. Its times are whole numbers, it
    /// has no complete events beside begins and ends, its arrows may end several times, and what does not end is drawn as such.
    #[must_use]
    pub fn of_perfetto(self) -> Self {
        let mut findings: Vec<Finding> = Vec::new();
        for finding in self.findings {
            let is = |rules: &[&'static Rule]| rules.iter().any(|rule| std::ptr::eq(*rule, finding.rule));
            if is(&[&EPOCH_PRECISION, &LONG_SPAN, &ZERO_LENGTH_PAIR, &SHARED_START, &FLOW_FAN_OUT, &FLOW_ID_TEXT]) {
                continue;
            }
            if !is(&[&UNCLOSED_BEGIN, &UNMATCHED_ASYNC]) {
                findings.push(finding);
            } else if let Some(other) = findings.iter_mut().find(|other| std::ptr::eq(other.rule, &UNFINISHED)) {
                other.n += finding.n;
            } else {
                findings.push(Finding { rule: &UNFINISHED, ..finding });
            }
        }
        Self { findings, ..self }
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
    let Outline { shape: form, recordings } = surveyed.outline;
    Ok(Report { findings, form, n_events: u64::from(surveyed.n_events), recordings })
}
