//! Columns for reuse: returning memory to the system makes all processors wait for each other.

use super::columns::{ArgsOf, Columns};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Empty columns, which keep their memory.
#[derive(Debug)]
pub(crate) struct ColumnPool<'w> {
    spare: Mutex<Vec<Columns<'w>>>,
    wanted: &'w [String],
    args_of: ArgsOf,
}

impl<'w> ColumnPool<'w> {
    /// Creates a pool of columns for the arguments with the keys in `wanted`.
    pub(crate) fn new(wanted: &'w [String], args_of: ArgsOf) -> Self {
        Self { spare: Mutex::default(), wanted, args_of }
    }

    /// Returns columns for a piece.
    pub(crate) fn take(&self) -> Columns<'w> {
        self.lock().pop().unwrap_or_else(|| Columns::new(self.wanted, self.args_of))
    }

    /// Takes back the columns of a piece, and empties them.
    pub(crate) fn give_back(&self, mut columns: Columns<'w>) {
        columns.clear();
        self.lock().push(columns);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Columns<'w>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
