//! Two computations at the same time.

use std::panic::resume_unwind;
use std::thread;

/// Runs `one` on a thread of its own and `other` on this thread, and returns both results. If there is no other thread
/// to be had, both run on this thread.
pub(crate) fn both<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let spawned = thread::Builder::new().spawn_scoped(scope, &one);
        let other = other();
        let one = match spawned {
            Ok(handle) => handle.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => one(),
        };
        (one, other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_results_are_returned() {
        let text = String::from("abc");
        assert_eq!(both(|| text.len(), || text.as_str()), (3, "abc"));
    }
}
