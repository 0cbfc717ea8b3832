//! Inputs of a merge.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// Opens an input anew, for each pass over it, on whatever thread.
pub type OpenInput = Arc<dyn Fn() -> Result<Box<dyn Read + Send>, ferrum_trace_format::Error> + Send + Sync>;

/// A trace that is to be merged with others.
#[derive(Clone)]
pub struct Input {
    /// What it is called.
    pub name: String,
    /// Which rank it is of, whatever the trace says.
    pub rank: Option<u32>,
    /// Which rank it is of if the trace itself tells none: what [`rank_in`](crate::rank_in) finds in the name of a file, say.
    pub rank_if_unknown: Option<u32>,
    /// Opens it.
    pub open: OpenInput,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("name", &self.name).field("rank", &self.rank).finish_non_exhaustive()
    }
}
