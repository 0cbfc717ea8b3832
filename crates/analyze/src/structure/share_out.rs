//! Work in many pieces, done by several threads.

use std::sync::{Mutex, PoisonError};

/// So much is worth a trip to the list of what is left to do, or another thread.
const TRIP_SIZE_MIN: usize = 16 * 1024;

/// Does all items, whose sizes sum to `size`, on up to `n_workers` threads. Each takes some items at a time.
pub(crate) fn share_out<T>(
    items: impl Iterator<Item = T> + Send,
    size: usize,
    size_of: impl Fn(&T) -> usize + Sync,
    n_workers: usize,
    work: impl Fn(Vec<T>) + Sync,
) {
    let left = Mutex::new(items);
    let take_trips = || {
        loop {
            let trip = take_some(&mut *left.lock().unwrap_or_else(PoisonError::into_inner), &size_of);
            if trip.is_empty() {
                return;
            }
            work(trip);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_workers.min(size / TRIP_SIZE_MIN) {
            scope.spawn(take_trips);
        }
        take_trips();
    });
}

/// Takes items until they are worth a trip.
fn take_some<T>(items: &mut impl Iterator<Item = T>, size_of: impl Fn(&T) -> usize) -> Vec<T> {
    let mut trip = Vec::new();
    let mut size = 0;
    while size < TRIP_SIZE_MIN
        && let Some(item) = items.next()
    {
        // Also an item of no size is some work.
        size += size_of(&item).max(1);
        trip.push(item);
    }
    trip
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_item_is_done_once() {
        let done: Vec<AtomicUsize> = (0..50_000).map(|_| AtomicUsize::new(0)).collect();
        let work = |trip: Vec<&AtomicUsize>| {
            for item in trip {
                item.fetch_add(1, Ordering::Relaxed);
            }
        };
        share_out(done.iter(), 100_000, |_| 2, 3, work);
        assert!(done.into_iter().all(|item| item.into_inner() == 1));
    }
}
