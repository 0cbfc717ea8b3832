//! Answer to the question whether two sides differ.

use super::compare::TwoSided;

/// Answer to the question whether two sides differ, from a confidence interval and a margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The new side is lower, and the interval is not within the margin.
    Lower,
    /// The new side is higher, and the interval is not within the margin.
    Higher,
    /// The whole interval is within the margin. The sides may still differ by less.
    Same,
    /// The interval contains zero and reaches beyond the margin. More runs may tell.
    Unknown,
}

impl TwoSided {
    /// Returns the verdict for a margin on the scale of the figures, such as `0.02_f64.ln_1p()` for 2 %.
    pub fn verdict(&self, margin: f64) -> Verdict {
        match self {
            it if -margin <= it.low && it.high <= margin => Verdict::Same,
            it if it.low > 0.0 => Verdict::Higher,
            it if it.high < 0.0 => Verdict::Lower,
            _ => Verdict::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::Method;
    use super::*;

    fn verdict(low: f64, high: f64) -> Verdict {
        let shift = (low + high) / 2.0;
        TwoSided { shift, low, high, p_value: 0.5, level: 0.95, method: Method::Exact }.verdict(0.02)
    }

    #[test]
    fn the_verdict_follows_from_the_interval_and_the_margin() {
        assert_eq!(verdict(0.01, 0.03), Verdict::Higher);
        assert_eq!(verdict(-0.03, -0.01), Verdict::Lower);
        assert_eq!(verdict(-0.01, 0.03), Verdict::Unknown);
        assert_eq!(verdict(f64::NEG_INFINITY, f64::INFINITY), Verdict::Unknown);
        assert_eq!(verdict(-0.01, 0.02), Verdict::Same);
        assert_eq!(verdict(0.001, 0.002), Verdict::Same);
    }
}
