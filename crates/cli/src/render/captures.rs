//! Results of `--capture`, as lines and as JSON.

use super::table::clean;
use super::units::{count, number};
use ferrum_trace_analyze::{Mismatch, Transfer};
use serde::Serialize;

/// Number of mismatches that are listed in text.
const LISTED: usize = 10;

/// Returns the matched share and the first mismatches, one per line.
pub(crate) fn notes(transfer: Option<&Transfer>) -> Vec<String> {
    let Some(transfer) = transfer else { return Vec::new() };
    if transfer.n_replays == 0 {
        return vec!["--capture has no effect: the trace has no replays of graphs".to_owned()];
    }
    let share = 100.0 * transfer.matched_total as f64 / transfer.total.max(1) as f64;
    let replays = count(transfer.n_replays, "replay");
    let mut lines = vec![format!(
        "--capture: {} of {} of {replays} match, {share:.1} % of their time",
        number(transfer.n_matched),
        count(transfer.n_kernels, "kernel")
    )];
    if transfer.n_by_order > 0 {
        let kernels = count(transfer.n_by_order, "kernel");
        lines.push(format!("{kernels} of replays matched by order alone: the capture does not state their names"));
    }
    if transfer.n_unmatched_replays > 0 {
        let replays = count(transfer.n_unmatched_replays, "replay");
        lines.push(format!("{replays} match no captured graph of their batch size"));
    }
    lines.extend(transfer.mismatches.iter().take(LISTED).map(mismatch));
    let n_more = transfer.mismatches.len().saturating_sub(LISTED);
    lines.extend((n_more > 0).then(|| format!("… {} more", count(n_more as u64, "mismatch"))));
    lines
}

fn mismatch(mismatch: &Mismatch) -> String {
    let name = |name: Option<&String>| name.map_or_else(|| "nothing".to_owned(), |it| format!("`{}`", clean(it)));
    let [expected, found] = [&mismatch.expected, &mismatch.found].map(|it| name(it.as_ref()));
    let (graph, position) = (mismatch.graph + 1, mismatch.position + 1);
    let replays = count(mismatch.count, "replay");
    format!("graph {graph}, kernel {position}: expected {expected}, found {found}, in {replays}")
}

/// The JSON of `--capture`.
#[derive(Serialize)]
pub(crate) struct CaptureObject<'a> {
    replays: u64,
    unmatched_replays: u64,
    kernels: u64,
    total_ns: i64,
    matched: u64,
    matched_ns: i64,
    matched_by_order: u64,
    mismatches: Vec<MismatchObject<'a>>,
}

#[derive(Serialize)]
struct MismatchObject<'a> {
    graph: usize,
    position: usize,
    expected: Option<&'a str>,
    found: Option<&'a str>,
    replays: u64,
}

impl<'a> From<&'a Transfer> for CaptureObject<'a> {
    fn from(transfer: &'a Transfer) -> Self {
        Self {
            replays: transfer.n_replays,
            unmatched_replays: transfer.n_unmatched_replays,
            kernels: transfer.n_kernels,
            total_ns: transfer.total,
            matched: transfer.n_matched,
            matched_ns: transfer.matched_total,
            matched_by_order: transfer.n_by_order,
            mismatches: transfer.mismatches.iter().map(MismatchObject::from).collect(),
        }
    }
}

impl<'a> From<&'a Mismatch> for MismatchObject<'a> {
    fn from(mismatch: &'a Mismatch) -> Self {
        Self {
            graph: mismatch.graph,
            position: mismatch.position,
            expected: mismatch.expected.as_deref(),
            found: mismatch.found.as_deref(),
            replays: mismatch.count,
        }
    }
}
