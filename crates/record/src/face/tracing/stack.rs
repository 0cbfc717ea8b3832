//! The spans that a thread has entered.

use super::span_key::SpanKey;
use std::cell::RefCell;

/// A span that the thread entered while the process recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    /// The span.
    pub key: SpanKey,
    /// Start, on the clock of the level.
    pub start: u64,
    pub level: u32,
}

thread_local! {
    static STACK: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

/// Returns a number that is unique among living threads; 0 if this thread is ending.
#[inline]
pub(super) fn thread() -> usize {
    STACK.try_with(|stack| std::ptr::from_ref(stack).addr()).unwrap_or(0)
}

/// Adds a span that the thread has entered. Returns false if the thread is ending and cannot store it.
#[inline]
pub(super) fn push(entered: Entered) -> bool {
    STACK.try_with(|stack| stack.try_borrow_mut().map(|mut stack| stack.push(entered)).is_ok()).unwrap_or(false)
}

/// Removes and returns a span that the thread leaves. Usually it is the last one.
#[inline]
pub(super) fn take(key: SpanKey) -> Option<Entered> {
    STACK
        .try_with(|stack| {
            let mut stack = stack.try_borrow_mut().ok()?;
            match stack.last() {
                Some(last) if last.key == key => stack.pop(),
                _ => {
                    let place = stack.iter().rposition(|entered| entered.key == key)?;
                    Some(stack.remove(place))
                }
            }
        })
        .ok()
        .flatten()
}
