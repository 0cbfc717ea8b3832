//! The object of `check`, and findings in those of others.

use crate::input::source::{Source, TraceFacts};
use crate::render::json::{PlaceObject, RecorderObject, VERSION};
use ferrum_trace_analyze::check::{Finding, Report, Viewer};
use ferrum_trace_format::chrome::read::DocumentShape;
use serde::Serialize;

#[derive(Serialize)]
pub struct CheckObject<'a> {
    version: u32,
    file: &'a str,
    kind: &'static str,
    containers: Vec<&'static str>,
    form: &'static str,
    events: u64,
    errors: usize,
    findings: Vec<FindingObject<'a>>,
    recorder: Option<RecorderObject<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct FindingObject<'a> {
    code: &'static str,
    severity: String,
    what: &'static str,
    count: u64,
    viewers: Vec<&'static str>,
    harm: &'static str,
    repair: &'static str,
    first: Vec<PlaceObject<'a>>,
}

impl<'a> CheckObject<'a> {
    /// Of a trace that was checked.
    pub fn new(source: &'a Source, facts: &TraceFacts, report: &'a Report, notes: &'a [String]) -> Self {
        Self {
            version: VERSION,
            file: &source.name,
            kind: facts.kind.name(),
            containers: facts.containers.iter().map(|container| container.name()).collect(),
            form: match report.form {
                DocumentShape::Array => "array",
                DocumentShape::Object => "object",
                DocumentShape::Lines => "lines",
            },
            events: report.n_events,
            errors: report.errors().count(),
            findings: report.findings.iter().map(FindingObject::new).collect(),
            recorder: RecorderObject::of(&report.recordings),
            notes,
        }
    }
}

impl<'a> FindingObject<'a> {
    fn new(finding: &'a Finding) -> Self {
        let rule = finding.rule;
        Self {
            code: rule.code,
            severity: rule.severity.to_string(),
            what: rule.what,
            count: finding.n,
            viewers: rule.viewers.iter().map(Viewer::name).collect(),
            harm: rule.harm,
            repair: rule.repair,
            first: PlaceObject::of(finding),
        }
    }
}
