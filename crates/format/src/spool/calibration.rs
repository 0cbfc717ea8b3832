//! Converts ticks to nanoseconds.

/// Pairs of ticks and nanoseconds, with straight lines between them.
///
/// The mapping is monotonic, so slices that nest in ticks nest in nanoseconds. Points are only added at the end: a time
/// between two points is always mapped to the same value, so slices written by one flush nest in slices that a later
/// flush writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calibration {
    lines: Vec<CalibrationLine>,
    last: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct CalibrationLine {
    ticks: u64,
    nanos: u64,
    /// Nanoseconds per tick, times 2^SCALE_BITS.
    scale: u64,
    /// End of the line; within the line, the result stays below `end_nanos`.
    end_ticks: u64,
    end_nanos: u64,
}

const SCALE_BITS: u32 = 40;
const SCALE_ONE: u64 = 1 << SCALE_BITS;

impl Calibration {
    /// Adds a point. It is ignored unless it is later than the last one on both clocks.
    pub(crate) fn add(&mut self, ticks: u64, nanos: u64) {
        let Some((last_ticks, last_nanos)) = self.last else {
            self.last = Some((ticks, nanos));
            return;
        };
        let (true, true) = (ticks > last_ticks, nanos > last_nanos) else {
            return;
        };
        let scale = (u128::from(nanos - last_nanos) << SCALE_BITS) / u128::from(ticks - last_ticks);
        self.lines.push(CalibrationLine {
            ticks: last_ticks,
            nanos: last_nanos,
            scale: u64::try_from(scale).unwrap_or(u64::MAX),
            end_ticks: ticks,
            end_nanos: nanos,
        });
        self.last = Some((ticks, nanos));
    }

    /// Returns the nanoseconds of the monotonic clock at the start of the trace.
    pub(crate) fn start_nanos(&self) -> u64 {
        match (self.lines.first(), self.last) {
            (Some(line), _) => line.nanos,
            (None, Some((_, nanos))) => nanos,
            (None, None) => 0,
        }
    }

    /// Returns the nanoseconds from the start of the trace to the last point.
    pub(crate) fn last_nanos_since_start(&self) -> u64 {
        self.last.map_or(0, |(_, nanos)| nanos.saturating_sub(self.start_nanos()))
    }

    /// Returns a view that remembers the last line, for many conversions in a row.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor {
            calibration: self,
            line: self.lines.first().copied().unwrap_or_else(|| self.single_point_line()),
            start_nanos: self.start_nanos(),
        }
    }

    /// Returns the line for a single point, which takes ticks for nanoseconds: no better value is known.
    fn single_point_line(&self) -> CalibrationLine {
        let (ticks, nanos) = self.last.unwrap_or((0, 0));
        CalibrationLine { ticks, nanos, scale: SCALE_ONE, end_ticks: u64::MAX, end_nanos: u64::MAX }
    }

    /// Returns the line for `ticks`. Beyond the last point, and before the first, the nearest line is extended.
    fn line_for(&self, ticks: u64) -> CalibrationLine {
        let n_before = self.lines.partition_point(|line| line.ticks <= ticks);
        match self.lines.get(n_before.saturating_sub(1)) {
            None => self.single_point_line(),
            Some(line) if n_before == self.lines.len() && ticks >= line.end_ticks => self.extended(*line),
            Some(line) => *line,
        }
    }

    /// Extends the last line, with the slope of the longest of the last few: a short line is imprecise.
    fn extended(&self, last: CalibrationLine) -> CalibrationLine {
        let recent = &self.lines[self.lines.len().saturating_sub(4)..];
        let longest = recent.iter().max_by_key(|line| line.end_ticks - line.ticks);
        CalibrationLine {
            ticks: last.end_ticks,
            nanos: last.end_nanos,
            scale: longest.map_or(last.scale, |line| line.scale),
            end_ticks: u64::MAX,
            end_nanos: u64::MAX,
        }
    }
}

/// A view that remembers the last line; see [`Calibration::cursor`].
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    calibration: &'a Calibration,
    line: CalibrationLine,
    start_nanos: u64,
}

impl Cursor<'_> {
    /// Returns the nanoseconds of the monotonic clock at the start of the trace.
    pub(crate) fn start_nanos(&self) -> u64 {
        self.start_nanos
    }

    /// Converts to nanoseconds since the start of the trace; earlier times are moved to the start.
    #[inline]
    pub(crate) fn nanos_since_start(&mut self, ticks: u64) -> u64 {
        if ticks < self.line.ticks || ticks >= self.line.end_ticks {
            self.line = self.calibration.line_for(ticks);
        }
        let line = self.line;
        if ticks < line.ticks {
            return 0;
        }
        let nanos = (u128::from(ticks - line.ticks) * u128::from(line.scale)) >> SCALE_BITS;
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        line.nanos.saturating_add(nanos).min(line.end_nanos).saturating_sub(self.start_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Calibration {
        fn nanos_since_start(&self, ticks: u64) -> u64 {
            self.cursor().nanos_since_start(ticks)
        }
    }

    #[test]
    fn points_are_mapped_exactly_and_lines_are_straight() {
        let mut calibration = Calibration::default();
        calibration.add(1_000, 50);
        calibration.add(3_000, 1_050);
        calibration.add(4_000, 2_050);
        let at = |ticks| calibration.nanos_since_start(ticks);
        assert_eq!([at(1_000), at(2_000), at(3_000), at(3_500), at(4_000)], [0, 500, 1_000, 1_500, 2_000]);
    }

    #[test]
    fn times_outside_the_points_follow_the_nearest_line() {
        let mut calibration = Calibration::default();
        calibration.add(1_000, 50);
        calibration.add(3_000, 1_050);
        assert_eq!(calibration.nanos_since_start(5_000), 2_000);
        assert_eq!(calibration.nanos_since_start(900), 0);
    }

    #[test]
    fn a_point_that_is_not_later_is_ignored() {
        let mut calibration = Calibration::default();
        calibration.add(1_000, 50);
        calibration.add(1_000, 60);
        calibration.add(2_000, 40);
        calibration.add(3_000, 1_050);
        assert_eq!(calibration.nanos_since_start(2_000), 500);
    }

    proptest! {
        #[test]
        fn the_mapping_is_monotonic(
            steps in prop::collection::vec((1u64..1 << 36, 1u64..1 << 36), 1..8),
            mut ticks in prop::collection::vec(0u64..1 << 40, 2..50),
        ) {
            let mut calibration = Calibration::default();
            let mut point = (1 << 20, 1 << 20);
            calibration.add(point.0, point.1);
            for (more_ticks, more_nanos) in steps {
                point = (point.0 + more_ticks, point.1 + more_nanos);
                calibration.add(point.0, point.1);
            }
            ticks.sort_unstable();
            let mut cursor = calibration.cursor();
            let nanos: Vec<u64> = ticks.iter().map(|&ticks| cursor.nanos_since_start(ticks)).collect();
            prop_assert!(nanos.is_sorted());
        }

        #[test]
        fn a_later_point_does_not_change_earlier_times(
            steps in prop::collection::vec((1u64..1 << 30, 1u64..1 << 30), 2..6),
            fraction in 0.0f64..1.0,
        ) {
            let mut calibration = Calibration::default();
            let mut point = (7, 9);
            calibration.add(point.0, point.1);
            for (more_ticks, more_nanos) in steps {
                point = (point.0 + more_ticks, point.1 + more_nanos);
                calibration.add(point.0, point.1);
                let ticks = 7 + ((point.0 - 7) as f64 * fraction) as u64;
                let before = calibration.nanos_since_start(ticks);
                let mut later = calibration.clone();
                later.add(point.0 + 12_345, point.1 + 999_999);
                prop_assert_eq!(later.nanos_since_start(ticks), before);
            }
        }
    }
}
