//! Distributes work items over threads.

use std::sync::{Mutex, PoisonError};

/// Minimum amount of work that is worth taking from the shared list, or another thread.
const BATCH_SIZE_MIN: usize = 16 * 1024;

/// Processes all items, whose sizes sum to `size`, on up to `n_workers` threads. Each thread takes a batch of items at
/// a time.
pub(crate) fn share_out<T>(
    items: impl Iterator<Item = T> + Send,
    size: usize,
    size_of: impl Fn(&T) -> usize + Sync,
    n_workers: usize,
    work: impl Fn(Vec<T>) + Sync,
) {
    let left = Mutex::new(items);
    let work_off = || {
        loop {
            let batch = take_batch(&mut *left.lock().unwrap_or_else(PoisonError::into_inner), &size_of);
            if batch.is_empty() {
                return;
            }
            work(batch);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_workers.min(size / BATCH_SIZE_MIN) {
            scope.spawn(work_off);
        }
        work_off();
    });
}

/// Takes items until their size is worth a batch.
fn take_batch<T>(items: &mut impl Iterator<Item = T>, size_of: impl Fn(&T) -> usize) -> Vec<T> {
    let mut batch = Vec::new();
    let mut size = 0;
    while size < BATCH_SIZE_MIN
        && let Some(item) = items.next()
    {
        // An item of size zero is some work too.
        size += size_of(&item).max(1);
        batch.push(item);
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_item_is_done_once() {
        let done: Vec<AtomicUsize> = (0..50_000).map(|_| AtomicUsize::new(0)).collect();
        let work = |batch: Vec<&AtomicUsize>| {
            for item in batch {
                item.fetch_add(1, Ordering::Relaxed);
            }
        };
        share_out(done.iter(), 100_000, |_| 2, 3, work);
        assert!(done.into_iter().all(|item| item.into_inner() == 1));
    }
}
