//! Verdicts of comparisons.

use crate::runs::metric::MetricUnit;

/// Result of comparing one metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The new side is better, beyond chance.
    Faster,
    /// The new side is worse, beyond chance.
    Slower,
    /// The interval lies within this share around no change, for example 0.02.
    Same {
        /// The share.
        within: f64,
    },
    /// The interval includes both no change and a change that matters.
    CannotTell {
        /// Estimated number of runs per side that would be enough, if it can be estimated.
        runs_needed: Option<usize>,
    },
    /// One run per side: the difference is described, and nothing is said about chance.
    OneRun,
    /// A ratio would have no meaning.
    NotComparable,
}

impl Verdict {
    /// Returns its name, as in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same { .. } => "same",
            Self::CannotTell { .. } => "cannot tell",
            Self::OneRun => "one run",
            Self::NotComparable => "not comparable",
        }
    }

    /// Returns true if the sides differ beyond chance.
    pub fn is_difference(&self) -> bool {
        matches!(self, Self::Faster | Self::Slower)
    }
}

/// Interval of a ratio, new to base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioInterval {
    /// Lower bound; 0 if there are too few runs for a bound.
    pub low: f64,
    /// Upper bound; infinite if there are too few runs for a bound.
    pub high: f64,
}

impl RatioInterval {
    /// Creates the interval of the logarithms of its bounds.
    pub(super) fn of_logs(low: f64, high: f64) -> Self {
        Self { low: low.exp(), high: high.exp() }
    }

    /// Returns true if both bounds are known.
    pub fn is_finite(&self) -> bool {
        self.low > 0.0 && self.high.is_finite()
    }

    /// Returns the largest distance from 1 within the interval, as a share.
    pub fn largest_change(&self) -> f64 {
        (self.high - 1.0).max(1.0 - self.low)
    }

    /// Returns the verdict of a metric whose adjusted p value is significant or not. `margin` is the share within which
    /// sides count as the same.
    pub(super) fn verdict(
        &self,
        unit: MetricUnit,
        is_significant: bool,
        margin: f64,
        runs_needed: Option<usize>,
    ) -> Verdict {
        let is_higher = self.low > 1.0;
        match unit {
            _ if !is_significant || (self.low..=self.high).contains(&1.0) => {}
            MetricUnit::PerSecond if is_higher => return Verdict::Faster,
            MetricUnit::Nanoseconds if is_higher => return Verdict::Slower,
            MetricUnit::PerSecond => return Verdict::Slower,
            MetricUnit::Nanoseconds => return Verdict::Faster,
        }
        let within = self.largest_change();
        if within <= margin { Verdict::Same { within } } else { Verdict::CannotTell { runs_needed } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(low: f64, high: f64, unit: MetricUnit) -> Verdict {
        RatioInterval { low, high }.verdict(unit, true, 0.02, Some(7))
    }

    #[test]
    fn the_direction_depends_on_the_metric() {
        assert_eq!(verdict(1.01, 1.05, MetricUnit::Nanoseconds), Verdict::Slower);
        assert_eq!(verdict(1.01, 1.05, MetricUnit::PerSecond), Verdict::Faster);
        assert_eq!(verdict(0.91, 0.95, MetricUnit::Nanoseconds), Verdict::Faster);
        assert_eq!(verdict(0.91, 0.95, MetricUnit::PerSecond), Verdict::Slower);
    }

    #[test]
    fn a_narrow_interval_around_one_is_the_same() {
        let Verdict::Same { within } = verdict(0.99, 1.015, MetricUnit::Nanoseconds) else { panic!() };
        assert!((within - 0.015).abs() < 1e-9);
        assert_eq!(verdict(0.97, 1.015, MetricUnit::Nanoseconds), Verdict::CannotTell { runs_needed: Some(7) });
        assert_eq!(verdict(0.0, f64::INFINITY, MetricUnit::Nanoseconds), Verdict::CannotTell { runs_needed: Some(7) });
    }

    #[test]
    fn a_difference_needs_a_significant_test() {
        let interval = RatioInterval { low: 1.01, high: 1.015 };
        assert_eq!(interval.verdict(MetricUnit::Nanoseconds, false, 0.02, None).name(), "same");
    }
}
