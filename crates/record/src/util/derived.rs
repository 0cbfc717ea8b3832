//! A value derived from state that several threads change without a lock.

/// Recomputes a derived value; call it after each change of the state. `look` reads the state, `store` stores the value
/// derived from it. When all calls have returned, the stored value is that of the last change. `fence` must be
/// sequentially consistent.
pub(crate) fn follow<S: PartialEq>(look: impl Fn() -> S, store: impl Fn(&S), fence: impl Fn()) {
    loop {
        fence();
        let seen = look();
        store(&seen);
        // A thread whose change is not seen by the `look` below has its fence after this one, so it stores after us.
        fence();
        if look() == seen {
            return;
        }
    }
}
