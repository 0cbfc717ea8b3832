//! One figure, measured once per round.

/// The values of one contender over the rounds of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rounds(Vec<f64>);

impl Rounds {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().copied()
    }

    /// The fastest round: the cost without disturbance by other processes.
    pub(crate) fn min(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::min)
    }

    /// The typical round: the cost beside other processes.
    pub(crate) fn median(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            n if n % 2 == 1 => Some(sorted[middle]),
            _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
        }
    }

    pub(crate) fn max(&self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::max)
    }
}

impl FromIterator<f64> for Rounds {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_of_rounds_is_the_middle_of_two() {
        let rounds: Rounds = [4.0, 1.0, 3.0, 2.0].into_iter().collect();
        assert_eq!(rounds.median(), Some(2.5));
        assert_eq!(rounds.min(), Some(1.0));
        assert_eq!(rounds.max(), Some(4.0));
    }

    #[test]
    fn no_rounds_have_no_figure() {
        assert_eq!(Rounds::default().median(), None);
        assert_eq!(Rounds::default().min(), None);
    }
}
