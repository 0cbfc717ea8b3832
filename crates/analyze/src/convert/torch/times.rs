//! Spelling of times.

use crate::rewrite::json::micros;

/// Precision of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    /// As in the trace.
    Exact,
    /// Begins and ends rounded to whole microseconds, so that nested, adjacent and separate slices stay so or become
    /// adjacent. Where any time has a fraction, HTA moves every begin up and every end down.
    WholeMicros,
}

impl Times {
    /// Returns a time in microseconds, as JSON.
    pub(super) fn spell(self, nanos: i64) -> Vec<u8> {
        micros(self.rounded(nanos))
    }

    /// Returns a duration in microseconds, as JSON.
    pub(super) fn spell_duration(self, from: i64, to: i64) -> Vec<u8> {
        micros(self.rounded(to).saturating_sub(self.rounded(from)))
    }

    fn rounded(self, nanos: i64) -> i64 {
        match self {
            Self::Exact => nanos,
            Self::WholeMicros => nanos.saturating_add(500).div_euclid(1000).saturating_mul(1000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_and_ends_are_rounded_instead_of_durations() {
        let spelled = |times: Times, from, to| {
            let both = [times.spell(from), times.spell_duration(from, to)];
            both.map(|text| String::from_utf8(text).unwrap())
        };
        assert_eq!(spelled(Times::Exact, 1499, 2500), ["1.499", "1.001"]);
        assert_eq!(spelled(Times::WholeMicros, 1499, 2500), ["1", "2"]);
        assert_eq!(spelled(Times::WholeMicros, 1500, 2499), ["2", "0"]);
        assert_eq!(spelled(Times::WholeMicros, -1600, -400), ["-2", "2"]);
    }
}
