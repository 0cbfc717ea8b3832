//! Time that each result takes. Time that overlapping steps share counts once.

use super::device::Work;
use ferrum_trace_model::{Trace, TrackId};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A step in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Index of its engine, see [`engines`].
    pub engine: usize,
    /// Its start.
    pub start: i64,
    /// End of its result.
    pub end: i64,
}

/// Distributes time among steps: of the steps in flight on one engine, each moment belongs to the one whose result
/// comes next. All shares of an engine sum to the time in which it has any step in flight. Steps that do not overlap
/// have all of their time.
pub(super) fn shares(flights: &[Flight]) -> Vec<i64> {
    let mut shares = vec![0_i64; flights.len()];
    let mut order: Vec<usize> = (0..flights.len()).collect();
    order.sort_by_key(|&place| (flights[place].engine, flights[place].start, place));
    for of_engine in order.chunk_by(|&one, &other| flights[one].engine == flights[other].engine) {
        let mut sweep = Sweep { now: i64::MIN, open: BinaryHeap::new() };
        for &place in of_engine {
            sweep.advance(flights[place].start, &mut shares);
            sweep.open.push(Reverse((flights[place].end, place)));
        }
        sweep.advance(i64::MAX, &mut shares);
    }
    shares
}

struct Sweep {
    now: i64,
    /// Steps that have begun, by the end of their results.
    open: BinaryHeap<Reverse<(i64, usize)>>,
}

impl Sweep {
    fn advance(&mut self, to: i64, shares: &mut [i64]) {
        while self.now < to
            && let Some(&Reverse((end, place))) = self.open.peek()
        {
            let until = end.min(to);
            shares[place] = shares[place].saturating_add(until.saturating_sub(self.now).max(0));
            self.now = self.now.max(until);
            if end <= self.now {
                self.open.pop();
            }
        }
        self.now = self.now.max(to);
    }
}

/// Returns the engine of each step. Steps of one track, and steps that use the same device, belong to one engine. Ranks
/// with separate devices are separate engines.
pub(super) fn engines(trace: &Trace, tracks: &[TrackId], works: &[Work]) -> Vec<usize> {
    let mut sets = Sets { parents: (0..trace.tracks.len()).collect() };
    let mut devices = HashMap::new();
    for work in works {
        let track = tracks[work.step as usize].index();
        let user = *devices.entry(work.device).or_insert(track);
        sets.join(user, track);
    }
    tracks.iter().map(|track| sets.root(track.index())).collect()
}

/// Disjoint sets of tracks (union-find).
struct Sets {
    parents: Vec<usize>,
}

impl Sets {
    fn root(&mut self, mut place: usize) -> usize {
        while self.parents[place] != place {
            // Halves the path for later lookups.
            self.parents[place] = self.parents[self.parents[place]];
            place = self.parents[place];
        }
        place
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares_of(times: &[(i64, i64)]) -> Vec<i64> {
        let flights: Vec<_> = times.iter().map(|&(start, end)| Flight { engine: 0, start, end }).collect();
        shares(&flights)
    }

    #[test]
    fn each_moment_belongs_to_the_step_whose_result_comes_next() {
        assert_eq!(shares_of(&[(0, 10), (10, 15), (20, 25)]), [10, 5, 5], "consecutive steps");
        assert_eq!(shares_of(&[(0, 12), (2, 42), (4, 52)]), [12, 30, 10], "steps launched ahead");
        assert_eq!(shares_of(&[(0, 20), (10, 12)]), [18, 2], "nested steps");
        assert_eq!(shares_of(&[]), [0; 0]);
        let one_each = [Flight { engine: 0, start: 0, end: 5 }, Flight { engine: 1, start: 0, end: 5 }];
        assert_eq!(shares(&one_each), [5, 5]);
    }

    proptest! {
        #[test]
        fn shares_sum_to_the_time_in_which_any_step_is_in_flight(
            times in prop::collection::vec((0_i64..60, 0_i64..20), 0..12),
        ) {
            let times: Vec<_> = times.iter().map(|&(start, length)| (start, start + length)).collect();
            let shares = shares_of(&times);
            let is_open = |now: &i64| times.iter().any(|(start, end)| (start..end).contains(&now));
            prop_assert_eq!(shares.iter().sum::<i64>(), (0..100).filter(is_open).count() as i64);
            prop_assert!(shares.iter().zip(&times).all(|(&share, (start, end))| (0..=end - start).contains(&share)));
        }
    }
}
