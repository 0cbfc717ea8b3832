//! The object of `check`.

use crate::input::source::{Source, TraceFacts};
use crate::render::json::{FileObject, FormatObject, PlaceObject, RecorderObject};
use ferrum_trace_analyze::check::{Finding, Report, Viewer};
use ferrum_trace_format::chrome::read::DocumentShape;
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct CheckObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    #[serde(flatten)]
    format: Option<FormatObject>,
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
    /// `facts` is `None` if the trace was not opened.
    pub(crate) fn new(source: &'a Source, facts: Option<&TraceFacts>, report: &'a Report, notes: &'a [String]) -> Self {
        Self {
            file: FileObject::new(&source.name),
            format: facts.map(|facts| FormatObject::new(facts.kind, &facts.containers)),
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
