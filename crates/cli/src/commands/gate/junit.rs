//! JUnit XML: a test case for each metric and limit.

use super::decision::{BudgetVerdict, MetricDecision};
use super::limit::LimitResult;
use super::report::GateReport;
use super::text::{failure, verdict, violating, violation};
use crate::render::table::clean;
use crate::render::xml;
use crate::user_error::UserError;

/// Name of the test suite, and of the class of its test cases.
const SUITE: &str = "ferrum-trace gate";

/// Result of a test case.
enum Outcome {
    Passed,
    Skipped(String),
    Failed(String, String),
    Error(String),
}

/// A test case.
struct Case {
    class: &'static str,
    name: String,
    outcome: Outcome,
}

/// Returns the report as JUnit XML.
pub(super) fn junit(report: &GateReport) -> String {
    let metrics = report.decision.iter().flat_map(|decision| &decision.metrics);
    let mut cases: Vec<Case> = metrics.map(|metric| of_metric(metric, report.is_strict)).collect();
    cases.extend(report.limits.iter().map(of_limit));
    document(&cases)
}

/// Returns JUnit XML for a gate that could not decide because of an error.
pub(super) fn junit_of_error(error: &UserError) -> String {
    document(&[Case { class: "gate", name: "decision".to_owned(), outcome: Outcome::Error(error.to_string()) }])
}

fn document(cases: &[Case]) -> String {
    let count = |is_counted: fn(&Outcome) -> bool| cases.iter().filter(|case| is_counted(&case.outcome)).count();
    let failures = count(|outcome| matches!(outcome, Outcome::Failed(..)));
    let errors = count(|outcome| matches!(outcome, Outcome::Error(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    let tests = cases.len();
    let body: String = cases.iter().map(Case::xml).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{SUITE}\" tests=\"{tests}\" \
         failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">\n{body}  </testsuite>\n</testsuites>\n"
    )
}

fn of_metric(metric: &MetricDecision, is_strict: bool) -> Case {
    let words = format!("{}; {}", failure(metric), verdict(metric));
    let outcome = match metric.verdict {
        BudgetVerdict::Within => Outcome::Passed,
        BudgetVerdict::Worse => Outcome::Failed("worse than its budget".to_owned(), words),
        BudgetVerdict::CannotTell { .. } if is_strict => Outcome::Failed(verdict(metric), words),
        BudgetVerdict::CannotTell { .. } => Outcome::Skipped(words),
    };
    Case { class: "metric", name: metric.metric.name.clone(), outcome }
}

fn of_limit(limit: &LimitResult) -> Case {
    let outcome = match limit.is_met {
        true => Outcome::Passed,
        false => Outcome::Failed(violation(limit), format!("runs that violate it: {}", violating(limit))),
    };
    Case { class: "limit", name: limit.limit.text.clone(), outcome }
}

impl Case {
    fn xml(&self) -> String {
        let (class, name) = (self.class, xml_text(&self.name));
        let inner = match &self.outcome {
            Outcome::Passed => String::new(),
            Outcome::Skipped(message) => format!("      <skipped message=\"{}\"/>\n", xml_text(message)),
            Outcome::Error(message) => format!("      <error message=\"{}\"/>\n", xml_text(message)),
            Outcome::Failed(message, text) => {
                format!("      <failure message=\"{}\">{}</failure>\n", xml_text(message), xml_text(text))
            }
        };
        format!("    <testcase classname=\"{SUITE}.{class}\" name=\"{name}\">\n{inner}    </testcase>\n")
    }
}

/// Escapes a text for XML, and replaces control characters.
fn xml_text(text: &str) -> String {
    xml::escape(&clean(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_a_message_and_a_text() {
        let outcome = Outcome::Failed("a & b".to_owned(), "x < y".to_owned());
        let case = Case { class: "limit", name: "ttft<5ms\u{1b}".to_owned(), outcome };
        let expected = "    <testcase classname=\"ferrum-trace gate.limit\" name=\"ttft&lt;5ms\u{fffd}\">\n      \
                        <failure message=\"a &amp; b\">x &lt; y</failure>\n    </testcase>\n";
        assert_eq!(case.xml(), expected);
    }
}
