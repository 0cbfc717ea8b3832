//! Inputs of a merge.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// Opens an input again for each pass over it, on any thread.
pub type OpenInput = Arc<dyn Fn() -> Result<Box<dyn Read + Send>, ferrum_trace_format::Error> + Send + Sync>;

/// Trace to merge with others.
#[derive(Clone)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its rank; overrides the rank in the trace.
    pub rank: Option<u32>,
    /// Its rank if the trace does not state one, for example from [`rank_in`](crate::rank_in) and the name of the file.
    pub rank_if_unknown: Option<u32>,
    /// Opens the input.
    pub open: OpenInput,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("name", &self.name).field("rank", &self.rank).finish_non_exhaustive()
    }
}
