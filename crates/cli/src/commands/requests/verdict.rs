//! The verdict of `--fail`.

use super::args::RequestsArgs;
use crate::render::units::{count, number, percent, time};
use ferrum_trace_analyze::{Figures, Slo, SloViolations};
use std::str::FromStr;

/// A required share of requests, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share(u32);

impl Share {
    /// All requests.
    const ALL: Self = Self(1_000_000);

    /// Returns the share as a number from 0 to 1.
    pub(crate) fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ALL.0)
    }

    fn is_reached(self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(Self::ALL.0) >= u128::from(self.0) * u128::from(whole)
    }
}

impl FromStr for Share {
    type Err = String;

    /// Parses a percentage above 0 and up to 100, such as `99.9%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected a percentage above 0 and up to 100, such as `95%`, found `{text}`");
        let percent: f64 = text.strip_suffix('%').and_then(|number| number.parse().ok()).ok_or_else(expected)?;
        let millionths = (percent * 1e4).round();
        if !(1.0..=f64::from(Self::ALL.0)).contains(&millionths) {
            return Err(expected());
        }
        Ok(Self(millionths as u32))
    }
}

/// Result of `--fail` for one trace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// The share of completed requests that must meet all limits.
    pub(crate) required: Share,
    /// The share that does; `None` if no request completed.
    pub(crate) share: Option<f64>,
    /// The reason why the requests do not pass.
    pub(crate) violation: Option<String>,
}

impl Verdict {
    /// Returns `None` without `--fail`.
    pub(crate) fn of(figures: &Figures, args: &RequestsArgs) -> Option<Self> {
        let (required, good, completed) = (args.fail?, figures.good.unwrap_or(0), figures.completed);
        if completed == 0 {
            let violation = Some("SLO violated: no request completed".to_owned());
            return Some(Self { required, share: None, violation });
        }
        let is_violated = !required.is_reached(good, completed);
        Some(Self {
            required,
            share: Some(good as f64 / completed as f64),
            violation: is_violated.then(|| violation(figures, &args.slos, required)),
        })
    }
}

fn violation(figures: &Figures, slos: &[Slo], required: Share) -> String {
    let violated = slos.iter().zip(&figures.violations).filter(|(_, violations)| violations.count > 0);
    let violated: Vec<String> = violated.map(|(slo, violations)| violated_limit(slo, violations)).collect();
    let (good, completed) = (number(figures.good.unwrap_or(0)), count(figures.completed, "request"));
    let required = match required {
        Share::ALL => String::new(),
        required => format!(", {} % required", percent(required.as_f64())),
    };
    format!("SLO violated: {}; {good} of {completed} meet all limits{required}", violated.join(", "))
}

/// Returns the violations of one limit: `ttft above 500.0 ms in 3 requests (worst 812.0 ms, 1 unknown)`.
fn violated_limit(slo: &Slo, violations: &SloViolations) -> String {
    let worst = violations.worst.map(|worst| format!("worst {}", time(worst)));
    let unknown = (violations.n_unknown > 0).then(|| format!("{} unknown", number(violations.n_unknown)));
    let details: Vec<String> = worst.into_iter().chain(unknown).collect();
    let (name, limit) = (slo.metric.name(), time(slo.limit));
    format!("{name} above {limit} in {} ({})", count(violations.count, "request"), details.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_and_compared_exactly() {
        let share = |text: &str| text.parse::<Share>().unwrap();
        assert!(share("100%").is_reached(7, 7) && !share("100%").is_reached(6, 7));
        assert!(share("99.9%").is_reached(999, 1000) && !share("99.9%").is_reached(998, 1000));
        assert!(share("95%").is_reached(19, 20) && !share("95.0001%").is_reached(19, 20));
        assert!(share("100%").is_reached(u64::MAX, u64::MAX));
        for wrong in ["", "95", "%", "0%", "-1%", "100.1%", "NaN%", "inf%", "many%"] {
            assert!(wrong.parse::<Share>().unwrap_err().starts_with("expected a percentage"), "{wrong}");
        }
    }
}
