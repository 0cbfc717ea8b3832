//! Locking that ignores poison.

use crate::os::clock;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Time that an event waits for a lock before it is counted as lost.
const EVENT_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval at which a waiting thread retries.
const PAUSE: Duration = Duration::from_micros(20);
/// Number of attempts before the first pause: most locks are held for less than a microsecond.
const ATTEMPTS: usize = 100;

/// Locks a mutex, also if a thread has panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex to record an event. Returns `None` after [`EVENT_TIMEOUT`]: the program must not hang with the
/// recorder.
///
/// The caller may be a signal handler that interrupted the allocator, and the thread that holds the lock may wait for
/// the allocator. Neither would ever continue. Otherwise, only a thread that records faster than the disk writes has to
/// wait for long.
pub(crate) fn lock_for_event<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let mut deadline = None;
    for n in 0_usize.. {
        if let Some(guard) = try_lock(mutex) {
            return Some(guard);
        }
        if n < ATTEMPTS {
            std::hint::spin_loop();
            continue;
        }
        let now = clock::monotonic_nanos();
        if now > *deadline.get_or_insert(now + EVENT_TIMEOUT.as_nanos() as u64) {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    None
}

/// Locks a mutex if no other thread holds it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
