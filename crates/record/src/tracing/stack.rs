//! The spans that a thread is in.

use std::cell::RefCell;

/// A span that the thread has entered while the process recorded.
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    /// The span.
    pub span: u64,
    /// On the clock of the level.
    pub start: u64,
    pub level: u32,
}

thread_local! {
    static STACK: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

/// The thread has entered a span. False if the thread is ending, and keeps nothing any more.
pub fn push(entered: Entered) -> bool {
    STACK.try_with(|stack| stack.try_borrow_mut().map(|mut stack| stack.push(entered)).is_ok()).unwrap_or(false)
}

/// The thread leaves a span: what was kept of it. Mostly it is the last one.
pub fn take(span: u64) -> Option<Entered> {
    STACK
        .try_with(|stack| {
            let mut stack = stack.try_borrow_mut().ok()?;
            let place = stack.iter().rposition(|entered| entered.span == span)?;
            Some(stack.remove(place))
        })
        .ok()
        .flatten()
}
