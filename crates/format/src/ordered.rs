//! Parallel work whose results are delivered in order.

use crate::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Calls `make` for each number below `n_units`, on up to `n_workers` threads. `hand_over` gets the emitted values one
/// at a time, in the order of the numbers. Stops at the first error.
pub(crate) fn in_order<T>(
    n_units: usize,
    n_workers: usize,
    make: impl Fn(usize, &mut dyn FnMut(T) -> Result<(), Error>) -> Result<(), Error> + Sync,
    hand_over: impl FnMut(T) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let next_unit = AtomicUsize::new(0);
    let turns = Turns::new(hand_over);
    on_workers(n_workers.clamp(1, n_units.max(1)), "ferrum-trace-write", || {
        while turns.is_ok() {
            let unit = next_unit.fetch_add(1, Ordering::Relaxed);
            if unit >= n_units {
                return;
            }
            let made = make(unit, &mut |value| turns.deliver(unit, |hand_over| hand_over(value)));
            turns.end(unit, |_| made);
        }
    });
    turns.into_inner().0
}

/// Runs `work` on the current thread and on `n_workers - 1` others, and waits for all of them.
pub(crate) fn on_workers(n_workers: usize, name: &str, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 1..n_workers {
            // If no thread can be started, the current one does all the work.
            let _ = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, &work);
        }
        work();
    });
}

/// Lets threads that work on numbered units deliver their results to a receiver in the order of the numbers.
///
/// Units are numbered from zero without gaps, and each is ended once by [`end`](Self::end). After an error, the
/// receiver gets nothing more.
pub(crate) struct Turns<T> {
    state: Mutex<TurnState<T>>,
    moved: Condvar,
}

struct TurnState<T> {
    /// The unit that delivers next.
    next: usize,
    result: Result<(), Error>,
    receiver: T,
}

impl<T> Turns<T> {
    pub(crate) fn new(receiver: T) -> Self {
        Self { state: Mutex::new(TurnState { next: 0, result: Ok(()), receiver }), moved: Condvar::new() }
    }

    /// Returns true if there was no error so far.
    pub(crate) fn is_ok(&self) -> bool {
        self.lock().result.is_ok()
    }

    /// Reports an error that belongs to no unit.
    #[cfg(feature = "read")]
    pub(crate) fn fail(&self, error: Error) {
        self.lock().result = Err(error);
    }

    /// Waits until all units before this one have ended, then delivers a part of its result.
    pub(crate) fn deliver(&self, unit: usize, part: impl FnOnce(&mut T) -> Result<(), Error>) -> Result<(), Error> {
        let mut state = self.wait(unit);
        if state.result.is_ok() { part(&mut state.receiver) } else { Ok(()) }
    }

    /// Waits until all units before this one have ended, delivers the rest of its result, and ends it.
    pub(crate) fn end(&self, unit: usize, rest: impl FnOnce(&mut T) -> Result<(), Error>) {
        let mut state = self.wait(unit);
        if state.result.is_ok() {
            state.result = rest(&mut state.receiver);
        }
        state.next += 1;
        drop(state);
        self.moved.notify_all();
    }

    /// Returns the first error, if any, and the receiver.
    pub(crate) fn into_inner(self) -> (Result<(), Error>, T) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        (state.result, state.receiver)
    }

    fn wait(&self, unit: usize) -> MutexGuard<'_, TurnState<T>> {
        let mut state = self.lock();
        while state.next != unit {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    fn lock(&self) -> MutexGuard<'_, TurnState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_arrive_in_order_with_any_number_of_workers() {
        for n_workers in [1, 2, 7] {
            let mut seen = Vec::new();
            let hand_over = |unit| {
                seen.push(unit);
                Ok(())
            };
            in_order(100, n_workers, |unit, emit| emit(unit), hand_over).unwrap();
            assert_eq!(seen, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_stops_the_work_and_is_returned() {
        let make = |unit, emit: &mut dyn FnMut(usize) -> Result<(), Error>| match unit {
            5 => Err(Error::malformed(5, "a", "b")),
            unit => emit(unit),
        };
        let mut n_seen = 0;
        let hand_over = |_| {
            n_seen += 1;
            Ok(())
        };
        assert!(in_order(1000, 4, make, hand_over).is_err());
        assert_eq!(n_seen, 5);
    }
}
