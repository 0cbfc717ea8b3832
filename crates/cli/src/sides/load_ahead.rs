//! Loads traces one ahead of their use.

use crate::user_error::UserError;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Loads each input on a thread of its own and passes the results to `take` in order. The next input is loaded while
/// `take` runs, so at most two results exist at a time. The first error ends both.
pub(super) fn load_ahead<I: Send, L: Send>(
    inputs: impl Iterator<Item = I> + Send,
    load: impl Fn(I) -> Result<L, UserError> + Send,
    mut take: impl FnMut(L) -> Result<(), UserError>,
) -> Result<(), UserError> {
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(0);
        let load_all = move || {
            for input in inputs {
                let loaded = load(input);
                let is_last = loaded.is_err();
                if sender.send(loaded).is_err() || is_last {
                    return;
                }
            }
        };
        let spawned = thread::Builder::new().name("load".to_owned()).spawn_scoped(scope, load_all);
        spawned.map_err(|cause| UserError::new("traces", format!("cannot start a thread to load them: {cause}")))?;
        receiver.into_iter().try_for_each(|loaded| take(loaded?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn refuse(n: usize) -> UserError {
        UserError::new(n.to_string(), "refused")
    }

    #[test]
    fn results_are_taken_in_order() {
        let mut taken = Vec::new();
        let take = |n| {
            taken.push(n);
            Ok(())
        };
        load_ahead(0..100, |n| Ok(n * 2), take).unwrap();
        assert_eq!(taken, (0..100).map(|n| n * 2).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_error_ends_loading_and_taking() {
        let (n_loaded, mut taken) = (AtomicUsize::new(0), Vec::new());
        let load = |n: usize| {
            n_loaded.fetch_add(1, Ordering::Relaxed);
            if n == 3 { Err(refuse(n)) } else { Ok(n) }
        };
        let take = |n| {
            taken.push(n);
            Ok(())
        };
        load_ahead(0..100, load, take).unwrap_err();
        assert_eq!((taken, n_loaded.into_inner()), (vec![0, 1, 2], 4));
        let n_loaded = AtomicUsize::new(0);
        let load = |n: usize| {
            n_loaded.fetch_add(1, Ordering::Relaxed);
            Ok(n)
        };
        load_ahead(0..100, load, |n| if n == 3 { Err(refuse(n)) } else { Ok(()) }).unwrap_err();
        assert!(n_loaded.into_inner() <= 5);
    }
}
