//! A word that follows from another one, which several threads change without a lock.

/// Stores what follows from what `look` sees. Whoever changes that calls this afterwards; when all have returned, what is
/// stored follows from the last change. `fence` is one of sequential consistency.
pub fn follow<S: PartialEq>(look: impl Fn() -> S, store: impl Fn(&S), fence: impl Fn()) {
    loop {
        fence();
        let seen = look();
        store(&seen);
        // Who makes a change that the look below does not see has its fence after this one, and stores after we did.
        fence();
        if look() == seen {
            return;
        }
    }
}
