//! Instants of a trace, by name.

use ferrum_trace_analyze::{InstantRow, instants};
use ferrum_trace_model::Trace;
use serde::Serialize;

/// Largest number of names that are listed.
const ROWS_MAX: usize = 1000;

/// Instants of one name and category.
#[derive(Serialize)]
pub(crate) struct InstantObject<'a> {
    name: &'a str,
    cat: &'a str,
    count: u64,
    first_ns: i64,
    last_ns: i64,
}

impl<'a> InstantObject<'a> {
    /// Returns the [`ROWS_MAX`] most frequent ones.
    pub(crate) fn all(trace: &'a Trace) -> Vec<Self> {
        let new = |row: InstantRow| Self {
            name: trace.strings.get(row.name),
            cat: trace.strings.get(row.category),
            count: row.count,
            first_ns: row.first,
            last_ns: row.last,
        };
        instants(trace).into_iter().take(ROWS_MAX).map(new).collect()
    }
}
