//! Search for the end of a set of shifts.

/// Precision of an end, relative to the range of the values.
const PRECISION: f64 = 1e-11;

/// Doublings of a distance until it surely exceeds every end.
const N_DOUBLINGS_MAX: i32 = 12;

/// Shifts among which an end is searched.
#[derive(Clone, Debug)]
pub(super) enum Shifts {
    /// Sorted shifts at which ranks change, with zero. Between them, nothing changes.
    Points(Vec<f64>),
    /// All shifts, for values of this range.
    Any(f64),
}

impl Shifts {
    /// Returns the shifts for the given ones at which ranks change, and the range of the values.
    pub(super) fn from_points(mut points: Vec<f64>, range: f64) -> Self {
        let rounding = range * PRECISION;
        points.iter_mut().filter(|point| point.abs() <= rounding).for_each(|point| *point = 0.0);
        points.push(0.0);
        points.sort_unstable_by(f64::total_cmp);
        points.dedup_by(|next, kept| *next - *kept <= rounding);
        Self::Points(points)
    }

    /// Returns the lower end of the shifts that are not too low, or `-inf` if none is too low, or `inf` if all are.
    ///
    /// Zero is always tried, and the end lies on the side of zero that follows: it is above zero exactly if zero is too
    /// low.
    pub(super) fn lower_end(&self, mut is_too_low: impl FnMut(f64) -> bool) -> f64 {
        match self {
            Self::Points(points) => lower_point(points, is_too_low),
            Self::Any(range) => {
                let unit = if *range > 0.0 { *range } else { 1.0 };
                lower_float(unit, is_too_low(0.0), is_too_low)
            }
        }
    }

    /// Returns the upper end of the shifts that are not too high, or `inf` if none is too high, or `-inf` if all are.
    pub(super) fn upper_end(&self, mut is_too_high: impl FnMut(f64) -> bool) -> f64 {
        let mirrored = match self {
            Self::Points(points) => Self::Points(points.iter().rev().map(|point| -point).collect()),
            Self::Any(range) => Self::Any(*range),
        };
        -mirrored.lower_end(|shift| is_too_high(-shift))
    }
}

/// Searches the first gap that is not too low, where gap 0 is before point 0, and then tries the point before it.
///
/// Points have ties, whose probabilities take longer to compute than those of gaps.
fn lower_point(points: &[f64], mut is_too_low: impl FnMut(f64) -> bool) -> f64 {
    let zero = points.partition_point(|point| *point < 0.0);
    let (mut start, mut end) = if is_too_low(0.0) { (zero + 1, points.len() + 1) } else { (0, zero + 1) };
    while start < end {
        let middle = start.midpoint(end);
        if is_too_low(shift_in_gap(points, middle)) { start = middle + 1 } else { end = middle }
    }
    match start.checked_sub(1).and_then(|before| points.get(before)) {
        _ if start > points.len() => f64::INFINITY,
        None => f64::NEG_INFINITY,
        Some(before) if is_too_low(*before) => before.next_up(),
        Some(before) => *before,
    }
}

/// Returns a shift in a gap. Before and behind all points, it is far away.
fn shift_in_gap(points: &[f64], gap: usize) -> f64 {
    let (first, last) = (points.first().copied().unwrap_or(0.0), points.last().copied().unwrap_or(0.0));
    let far = (last - first).max(1.0);
    match (gap.checked_sub(1).and_then(|before| points.get(before)), points.get(gap)) {
        (Some(before), Some(after)) => before / 2.0 + after / 2.0,
        (None, _) => first - far,
        (_, None) => last + far,
    }
}

/// Halves the distance between a shift that is too low and one that is not.
fn lower_float(unit: f64, zero_is_too_low: bool, mut is_too_low: impl FnMut(f64) -> bool) -> f64 {
    let mut distances = (0..N_DOUBLINGS_MAX).map(|doublings| unit * 2.0_f64.powi(doublings));
    let far = if zero_is_too_low {
        distances.find(|distance| !is_too_low(*distance))
    } else {
        distances.map(|distance| -distance).find(|distance| is_too_low(*distance))
    };
    let (mut too_low, mut end) = match far {
        Some(far) => (far.min(0.0), far.max(0.0)),
        None if zero_is_too_low => return f64::INFINITY,
        None => return f64::NEG_INFINITY,
    };
    while end - too_low > unit * PRECISION {
        let middle = too_low / 2.0 + end / 2.0;
        if is_too_low(middle) { too_low = middle } else { end = middle }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Shifts {
        Shifts::from_points(vec![3.0, -2.0, 5.0, 1e-14, 3.0], 10.0)
    }

    #[test]
    fn the_end_is_a_point_or_just_above_it() {
        assert_eq!(points().lower_end(|shift| shift < 3.0), 3.0);
        assert_eq!(points().lower_end(|shift| shift <= 3.0), 3.0_f64.next_up());
        assert_eq!(points().lower_end(|shift| shift < -2.0), -2.0);
        assert_eq!(points().upper_end(|shift| shift > 3.0), 3.0);
        assert_eq!(points().upper_end(|shift| shift >= 3.0), 3.0_f64.next_down());
    }

    #[test]
    fn the_end_is_above_zero_exactly_if_zero_is_too_low() {
        assert_eq!(points().lower_end(|shift| shift < 0.0), 0.0);
        assert!(points().lower_end(|shift| shift <= 0.0) > 0.0);
        assert!(points().upper_end(|shift| shift >= 0.0) < 0.0);
        let any = Shifts::Any(10.0);
        assert!(any.lower_end(|shift| shift <= 0.0) > 0.0);
        assert!(any.lower_end(|shift| shift < 0.0) <= 0.0);
    }

    #[test]
    fn ends_are_infinite_if_all_shifts_are_alike() {
        for shifts in [points(), Shifts::Any(1.0), Shifts::Any(0.0), Shifts::from_points(Vec::new(), 0.0)] {
            assert_eq!(shifts.lower_end(|_| false), f64::NEG_INFINITY);
            assert_eq!(shifts.lower_end(|_| true), f64::INFINITY);
            assert_eq!(shifts.upper_end(|_| false), f64::INFINITY);
            assert_eq!(shifts.upper_end(|_| true), f64::NEG_INFINITY);
        }
    }

    #[test]
    fn any_shift_can_be_an_end() {
        for expected in [-700.0, -1.5, 0.25, 9.0, 300.0] {
            let found = Shifts::Any(1.0).lower_end(|shift| shift < expected);
            assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
        }
    }
}
