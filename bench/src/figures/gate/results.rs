//! The answers of `ferrum-trace diff` and `gate`.

use serde::Deserialize;

/// The part of the object of `diff --json` that is counted.
#[derive(Debug, Deserialize)]
pub(super) struct DiffResult {
    pub metrics: Vec<Metric>,
    /// Sorted by impact.
    pub causes: Vec<Cause>,
}

/// A headline metric.
#[derive(Debug, Deserialize)]
pub(super) struct Metric {
    pub name: String,
    pub ratio: Option<f64>,
    pub verdict: Verdict,
}

/// An operation whose time has changed.
#[derive(Debug, Deserialize)]
pub(super) struct Cause {
    pub name: String,
}

/// The verdict about a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Faster,
    Slower,
    Same,
    #[serde(rename = "cannot tell")]
    CannotTell,
}

/// The decision of `gate`, from its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateResult {
    Pass,
    Fail,
    CannotTell,
}

impl GateResult {
    /// `None` if the command failed.
    pub(super) fn of_exit_code(code: Option<i32>) -> Option<Self> {
        match code {
            Some(0) => Some(Self::Pass),
            Some(1) => Some(Self::Fail),
            Some(3) => Some(Self::CannotTell),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_of_diff_is_read() {
        let text = r#"{"version": 1,
            "metrics": [{"name": "step", "base": 2.0, "new": 2.1, "ratio": 1.05, "verdict": "slower"},
                {"name": "ttft", "ratio": null, "verdict": "cannot tell"}],
            "causes": [{"place": "host", "category": "gemm", "name": "lm_head", "layer": null, "change_ns": 7}]}"#;
        let diff: DiffResult = serde_json::from_str(text).unwrap();
        let verdicts: Vec<Verdict> = diff.metrics.iter().map(|metric| metric.verdict).collect();
        assert_eq!(verdicts, [Verdict::Slower, Verdict::CannotTell]);
        assert_eq!(diff.causes[0].name, "lm_head");
    }

    #[test]
    fn an_exit_code_of_gate_is_a_decision_or_a_failure() {
        assert_eq!(GateResult::of_exit_code(Some(3)), Some(GateResult::CannotTell));
        assert_eq!(GateResult::of_exit_code(Some(2)), None);
        assert_eq!(GateResult::of_exit_code(None), None);
    }
}
