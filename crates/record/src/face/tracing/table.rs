//! Tables of slots: one for each thread that creates spans.
//!
//! Only the owner of a table stores spans in it. The table of a thread that has ended goes to the next thread that
//! needs one, together with the spans that still exist, so there are as many tables as there were threads at a time.

use super::slot::{Created, Slot};
use super::span_key::SpanKey;
use crate::thread::buffer::quietly;
use crate::util::lock::lock;
use std::cell::Cell;
use std::sync::{Mutex, PoisonError, RwLock};

/// Slots of a table. Spans beyond that are kept in the registry alone.
const SLOTS: usize = 256;

/// Number of slots that a span may be in.
const WAYS: usize = 2;

/// Slots of the spans that a thread has created.
struct Table {
    slots: Box<[Slot]>,
}

static TABLES: RwLock<Vec<&'static Table>> = RwLock::new(Vec::new());
/// Tables of threads that have ended.
static UNUSED: Mutex<Vec<&'static Table>> = Mutex::new(Vec::new());

thread_local! {
    /// Without a destructor, so that reading it is one instruction.
    static OWN: Cell<Own> = const { Cell::new(Own::Unknown) };
    static RETURN: ReturnAtEnd = const { ReturnAtEnd };
}

/// The calling thread's table.
#[derive(Clone, Copy)]
enum Own {
    /// The thread has not created a span yet.
    Unknown,
    Table(&'static Table),
    /// The thread is ending.
    Returned,
}

/// Passes on the table of a thread that ends.
struct ReturnAtEnd;

impl Drop for ReturnAtEnd {
    fn drop(&mut self) {
        if let Own::Table(table) = OWN.replace(Own::Returned) {
            quietly(|| lock(&UNUSED).push(table));
        }
    }
}

impl Table {
    /// Returns the slots that a span may be in. Registries number spans from low bits, so the slots of the spans that
    /// exist at a time are mostly different.
    #[inline]
    fn places(&'static self, span: u64) -> [&'static Slot; WAYS] {
        let place = span as usize % SLOTS;
        [&self.slots[place], &self.slots[place ^ 1]]
    }

    #[inline]
    fn find(&'static self, key: SpanKey) -> Option<&'static Slot> {
        self.places(key.span).into_iter().find(|slot| slot.has(key))
    }
}

#[cold]
fn get_own() -> Own {
    // Ensures the destructor runs, or finds that it has run.
    if RETURN.try_with(|_| ()).is_err() {
        return Own::Returned;
    }
    let own = quietly(|| {
        let unused = lock(&UNUSED).pop();
        unused.unwrap_or_else(|| {
            let slots = std::iter::repeat_with(Slot::default).take(SLOTS).collect();
            let table = &*Box::leak(Box::new(Table { slots }));
            TABLES.write().unwrap_or_else(PoisonError::into_inner).push(table);
            table
        })
    });
    OWN.set(Own::Table(own));
    Own::Table(own)
}

/// Stores a span that the calling thread creates. Returns false if there is no room.
#[inline]
pub(super) fn insert(span: &Created<'_>) -> bool {
    let own = match OWN.get() {
        Own::Unknown => get_own(),
        own => own,
    };
    let Own::Table(table) = own else {
        return false;
    };
    match table.places(span.key.span).into_iter().find(|slot| slot.is_free()) {
        Some(slot) => {
            slot.fill(span);
            true
        }
        None => false,
    }
}

/// Returns the slot of a span in the calling thread's table.
#[inline]
pub(super) fn find_own(key: SpanKey) -> Option<&'static Slot> {
    match OWN.get() {
        Own::Table(table) => table.find(key),
        Own::Unknown | Own::Returned => None,
    }
}

/// Returns the slot of a span in any table. Takes time in proportion to the number of threads.
#[cold]
pub(super) fn find(key: SpanKey) -> Option<&'static Slot> {
    find_own(key).or_else(|| {
        quietly(|| {
            let tables = TABLES.read().unwrap_or_else(PoisonError::into_inner);
            tables.iter().find_map(|table| table.find(key))
        })
    })
}
