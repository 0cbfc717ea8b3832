//! The spans that a thread has entered.

use super::kept::Kept;
use super::slot::Slot;
use super::span_key::SpanKey;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// A span that the thread entered while the process recorded.
#[derive(Debug)]
pub(super) struct Entered {
    /// The span.
    pub key: SpanKey,
    /// Start, on the clock of the level.
    pub start: u64,
    pub level: u32,
    /// The slot that its state was in when the thread entered it.
    pub slot: Option<&'static Slot>,
    /// Its state, if it was closed while the thread was in it.
    pub closed: Option<Arc<Kept>>,
}

thread_local! {
    /// The last span that the thread has created, `None` if it has entered or left a span since then.
    static CREATED: Cell<Option<SpanKey>> = const { Cell::new(None) };
    static STACK: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

/// Returns a number that is unique among living threads; 0 if this thread is ending.
#[inline]
pub(super) fn thread() -> usize {
    STACK.try_with(|stack| std::ptr::from_ref(stack).addr()).unwrap_or(0)
}

/// Returns the number of the innermost span of a layer that the thread has entered, 0 if there is none.
#[inline]
pub(super) fn innermost(layer: u32) -> u64 {
    let innermost = STACK.try_with(|stack| {
        let stack = stack.try_borrow().ok()?;
        stack.last().filter(|entered| entered.key.layer == layer).map(|entered| entered.key.span)
    });
    innermost.ok().flatten().unwrap_or(0)
}

/// Notes that the thread has created a span.
#[inline]
pub(super) fn note_created(key: SpanKey) {
    CREATED.set(Some(key));
}

/// Notes that the thread enters or leaves a span. Returns the span that it has created just before.
#[inline]
pub(super) fn take_created() -> Option<SpanKey> {
    CREATED.take()
}

/// Adds a span that the thread has entered. Returns false if the thread is ending and cannot store it.
#[inline]
pub(super) fn push(entered: Entered) -> bool {
    STACK.try_with(|stack| stack.try_borrow_mut().map(|mut stack| stack.push(entered)).is_ok()).unwrap_or(false)
}

/// Keeps the state of a span that is closed until the thread leaves it. Returns false if the thread is not in it.
pub(super) fn keep_closed(key: SpanKey, kept: &Arc<Kept>) -> bool {
    let keep = |stack: &RefCell<Vec<Entered>>| {
        let mut stack = stack.try_borrow_mut().ok()?;
        let entered = stack.iter_mut().rfind(|entered| entered.key == key)?;
        entered.closed = Some(Arc::clone(kept));
        Some(())
    };
    STACK.try_with(keep).ok().flatten().is_some()
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
