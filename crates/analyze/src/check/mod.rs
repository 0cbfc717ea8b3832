//! Checks that viewers accept a file, and show all of it.
//!
//! Each [`Rule`] describes something that files should not have, and the viewers that it affects. Every rule was
//! observed in the viewers; `docs/check.md` lists them.

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

pub use findings::{Finding, Location};
pub use rule::{Rule, Severity, Viewer, Viewers};

use crate::opener::Opener;
use document::Watch;
use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{DocumentShape, Outline, for_each};
use ferrum_trace_model::Recordings;
use findings::Places;
use rules::asyncs::UNMATCHED_ASYNC;
use rules::flows::{FLOW_FAN_OUT, FLOW_ID_TEXT};
use rules::slices::{SHARED_START, UNCLOSED_BEGIN, UNFINISHED, ZERO_LENGTH_PAIR};
use rules::times::{EPOCH_PRECISION, LONG_SPAN};

/// Result of a check.
#[derive(Clone, Debug)]
pub struct Report {
    /// Errors and notes, in the order of the rules.
    pub findings: Vec<Finding>,
    /// Shape of the document.
    pub form: DocumentShape,
    /// Number of events.
    pub n_events: u64,
    /// Metadata that the recorder wrote about the recordings.
    pub recordings: Recordings,
}

impl Report {
    /// Returns the findings that are errors.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.rule.severity == Severity::Error)
    }

    /// Returns true if a viewer refuses the file, loses a part of it, or draws it wrong.
    pub fn has_errors(&self) -> bool {
        self.errors().next().is_some()
    }

    /// Keeps the findings that apply to a Perfetto trace that was read as Chrome trace JSON. Its times are whole
    /// numbers, it has no complete events beside begins and ends, its flows may end several times, and open slices are
    /// drawn as such.
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

    /// Returns the finding of a rule.
    pub fn get(&self, code: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.rule.code == code)
    }
}

/// Checks a file. It is read a second time if the location of a finding is only known at the end.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or is not a trace.
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
