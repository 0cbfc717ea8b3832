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
    let turn = Turn { state: Mutex::new(TurnState { next: 0, result: Ok(()), hand_over }), moved: Condvar::new() };
    let work = || {
        while turn.is_fine() {
            let unit = next_unit.fetch_add(1, Ordering::Relaxed);
            if unit >= n_units {
                return;
            }
            let made = make(unit, &mut |value| turn.hand_over(unit, value));
            turn.end(unit, made);
        }
    };
    thread::scope(|scope| {
        for _ in 1..n_workers.clamp(1, n_units.max(1)) {
            // If no thread can be started, the current one does all the work.
            let _ = thread::Builder::new().name("ferrum-trace-write".into()).spawn_scoped(scope, work);
        }
        work();
    });
    turn.state.into_inner().unwrap_or_else(PoisonError::into_inner).result
}

struct Turn<F> {
    state: Mutex<TurnState<F>>,
    moved: Condvar,
}

struct TurnState<F> {
    next: usize,
    result: Result<(), Error>,
    hand_over: F,
}

impl<F> Turn<F> {
    fn lock(&self) -> MutexGuard<'_, TurnState<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_fine(&self) -> bool {
        self.lock().result.is_ok()
    }

    /// Waits until all units before this one have ended.
    fn wait(&self, unit: usize) -> MutexGuard<'_, TurnState<F>> {
        let mut state = self.lock();
        while state.next != unit {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    fn hand_over<T>(&self, unit: usize, value: T) -> Result<(), Error>
    where
        F: FnMut(T) -> Result<(), Error>,
    {
        let mut state = self.wait(unit);
        // After an error of an earlier unit, nothing more is delivered.
        if state.result.is_ok() { (state.hand_over)(value) } else { Ok(()) }
    }

    fn end(&self, unit: usize, made: Result<(), Error>) {
        let mut state = self.wait(unit);
        if state.result.is_ok() {
            state.result = made;
        }
        state.next += 1;
        self.moved.notify_all();
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
