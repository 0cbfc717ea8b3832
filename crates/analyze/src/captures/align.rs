//! Alignment of two sequences: the most elements that correspond, in order.

/// Aligns a sequence of `n` elements with one of `m`. Returns the pairs of indices that correspond, with the fewest
/// elements left over; `None` if more than `edits_max` are left over.
///
/// This is the greedy algorithm of Myers (1986): after `d` edits, it keeps the furthest element reached on each
/// diagonal.
pub(super) fn align(
    n: usize,
    m: usize,
    edits_max: usize,
    is_equal: impl Fn(usize, usize) -> bool,
) -> Option<Vec<(usize, usize)>> {
    if n.abs_diff(m) > edits_max {
        return None;
    }
    let mut rounds: Vec<Round> = Vec::new();
    for n_edits in 0..=edits_max {
        let mut round = Round::new(n_edits);
        for diagonal in round.diagonals() {
            let mut x = rounds.last().map_or(0, |previous| previous.step(diagonal).after.0);
            let mut y = row(x, diagonal);
            while x < n && y < m && is_equal(x, y) {
                (x, y) = (x + 1, y + 1);
            }
            round.set(diagonal, x);
            if x >= n && y >= m {
                return Some(pairs(&rounds, (x, y)));
            }
        }
        rounds.push(round);
    }
    None
}

/// Returns the index in the second sequence of an index in the first, on a diagonal.
fn row(x: usize, diagonal: isize) -> usize {
    x.saturating_add_signed(diagonal.saturating_neg())
}

/// The furthest elements of the first sequence that are reached with a number of edits, by diagonal.
struct Round {
    n_edits: isize,
    reached: Vec<usize>,
}

/// An edit: the place before it, and the place after it.
struct Step {
    before: (usize, usize),
    after: (usize, usize),
}

impl Round {
    fn new(n_edits: usize) -> Self {
        Self { n_edits: n_edits as isize, reached: vec![0; 2 * n_edits + 1] }
    }

    fn diagonals(&self) -> impl Iterator<Item = isize> + use<> {
        (-self.n_edits..=self.n_edits).step_by(2)
    }

    fn set(&mut self, diagonal: isize, x: usize) {
        if let Some(reached) = self.reached.get_mut((diagonal + self.n_edits) as usize) {
            *reached = x;
        }
    }

    fn get(&self, diagonal: isize) -> Option<usize> {
        let place = usize::try_from(diagonal + self.n_edits).ok()?;
        self.reached.get(place).copied()
    }

    /// Returns the edit that leads furthest on a diagonal of the next round.
    fn step(&self, diagonal: isize) -> Step {
        let (left, right) = (self.get(diagonal - 1), self.get(diagonal + 1));
        match (left, right) {
            (Some(left), right) if right.is_none_or(|right| left >= right) => {
                let before = (left, row(left, diagonal - 1));
                Step { before, after: (left + 1, before.1) }
            }
            (_, right) => {
                let x = right.unwrap_or(0);
                let before = (x, row(x, diagonal + 1));
                Step { before, after: (x, before.1 + 1) }
            }
        }
    }
}

/// Follows the edits back from the end, and returns the pairs between them.
fn pairs(rounds: &[Round], end: (usize, usize)) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut x, mut y) = end;
    let mut back_to = |(x, y): &mut (usize, usize), to: (usize, usize)| {
        while *x > to.0 && *y > to.1 {
            (*x, *y) = (*x - 1, *y - 1);
            pairs.push((*x, *y));
        }
    };
    for round in rounds.iter().rev() {
        let Step { before, after } = round.step(x as isize - y as isize);
        let mut at = (x, y);
        back_to(&mut at, after);
        (x, y) = before;
    }
    back_to(&mut (x, y), (0, 0));
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn aligned(one: &str, other: &str, edits_max: usize) -> Option<String> {
        let [a, b] = [one.as_bytes(), other.as_bytes()];
        let pairs = align(a.len(), b.len(), edits_max, |x, y| a[x] == b[y])?;
        Some(pairs.into_iter().map(|(x, _)| char::from(a[x])).collect())
    }

    #[test]
    fn extra_and_missing_elements_are_left_over() {
        assert_eq!(aligned("abcd", "abcd", 0).as_deref(), Some("abcd"));
        assert_eq!(aligned("abcd", "abxcd", 1).as_deref(), Some("abcd"));
        assert_eq!(aligned("abcd", "acd", 1).as_deref(), Some("acd"));
        assert_eq!(aligned("abcd", "abxd", 2).as_deref(), Some("abd"));
        assert_eq!(aligned("abcd", "abxd", 1), None, "two are left over");
        assert_eq!(aligned("", "ab", 2).as_deref(), Some(""));
        assert_eq!(aligned("", "", 0).as_deref(), Some(""));
    }

    /// Length of the longest common subsequence, by the usual table.
    fn common(a: &[u8], b: &[u8]) -> usize {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for x in 0..a.len() {
            for y in 0..b.len() {
                let best = table[x][y + 1].max(table[x + 1][y]);
                table[x + 1][y + 1] = if a[x] == b[y] { table[x][y] + 1 } else { best };
            }
        }
        table[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn the_pairs_are_equal_in_order_and_as_many_as_possible(a in "[a-c]{0,12}", b in "[a-c]{0,12}") {
            let (a, b) = (a.as_bytes(), b.as_bytes());
            let pairs = align(a.len(), b.len(), a.len() + b.len(), |x, y| a[x] == b[y]).unwrap();
            prop_assert_eq!(pairs.len(), common(a, b));
            prop_assert!(pairs.iter().all(|&(x, y)| a[x] == b[y]));
            prop_assert!(pairs.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
        }
    }
}
