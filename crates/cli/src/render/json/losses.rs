//! Parts of a file that could not be read.

use ferrum_trace_format::chrome::read::Losses;
use serde::Serialize;

/// The number of losses, and the first of them.
#[derive(Serialize)]
pub(crate) struct LossesObject<'a> {
    count: u64,
    bytes: u64,
    first: Vec<LossObject<'a>>,
}

#[derive(Serialize)]
struct LossObject<'a> {
    offset: u64,
    bytes: u64,
    reason: &'a str,
}

impl<'a> From<&'a Losses> for LossesObject<'a> {
    fn from(losses: &'a Losses) -> Self {
        let first = losses.first.iter();
        Self {
            count: losses.n,
            bytes: losses.n_bytes,
            first: first.map(|it| LossObject { offset: it.offset, bytes: it.n_bytes, reason: &it.reason }).collect(),
        }
    }
}
