//! Merges traces into one: distinct processes, ranks in order, clocks aligned.
//!
//! Each input is read twice, one after the other, and memory does not grow with the number of events: the first pass
//! finds processes, clocks and events that ranks share (sorted on disk), the second writes.

mod align;
mod clock_fit;
mod collective;
mod error;
mod file_numbers;
mod handovers;
mod input;
mod marks;
mod merged;
mod names;
mod one_run;
mod open_marks;
mod options;
mod part_boundaries;
mod parts;
mod plan;
mod rewriter;
mod skew;
mod survey;
mod write;

pub use align::{Align, AlignedBy, Alignment};
pub use error::Error;
pub use input::{Input, OpenInput};
pub use merged::{Merged, MergedInput, MergedProcess};
pub use one_run::NotRanks;
pub use options::{MergeOptions, MergedForm};
pub use skew::{RankSkew, Skew, SkewRow};

use crate::convert::{self, Target, convert};
use crate::repair::{RepairOptions, repair};
use ferrum_trace_format::open::channel;
use plan::Plan;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Merges traces into one.
///
/// ```
/// use ferrum_trace_analyze::merge::{Input, MergeOptions, merge};
/// use std::sync::Arc;
///
/// let input = |rank: u32| {
///     let json = br#"[{"ph":"X","name":"decode","ts":1,"dur":2.5,"pid":7,"tid":7}]"#;
///     let open = Arc::new(|| Ok(Box::new(&json[..]) as _));
///     Input { name: format!("{rank}.json"), rank: Some(rank), rank_if_unknown: None, open }
/// };
/// let mut out = Vec::new();
/// let merged = merge(&[input(1), input(0)], &mut out, &MergeOptions::default())?;
/// let ranks: Vec<_> = merged.inputs.iter().map(|input| (input.rank, input.processes[0].pid)).collect();
/// assert_eq!(ranks, [(Some(0), 7), (Some(1), 8)]);
/// # Ok::<(), ferrum_trace_analyze::merge::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if an input cannot be read or is not a trace, or if the output or a temporary file cannot be
/// written. Damaged parts of an input are skipped, and counted.
pub fn merge(inputs: &[Input], output: &mut dyn Write, options: &MergeOptions) -> Result<Merged, Error> {
    let (plan, mut merged) = plan::plan(inputs, options)?;
    merged.n_events = match options.form {
        MergedForm::Chrome => write::write(&plan, inputs, output)?,
        MergedForm::ChromeRepaired => {
            let open = opener(plan, inputs);
            repair(&open, output, &RepairOptions::default()).map_err(writing)?.n_written
        }
        MergedForm::Perfetto => {
            let open = opener(plan, inputs);
            let summary = convert(Target::Perfetto, &open, output).map_err(converting)?;
            summary.n_slices + summary.n_instants + summary.n_counter_values + summary.n_flow_points
        }
    };
    Ok(merged)
}

/// Returns the merged trace as a stream, for conversions of it.
fn opener(
    plan: Plan,
    inputs: &[Input],
) -> impl Fn() -> Result<Box<dyn Read + Send>, ferrum_trace_format::Error> + use<> {
    let plan = Arc::new(plan);
    let inputs = inputs.to_vec();
    move || {
        let (plan, inputs) = (Arc::clone(&plan), inputs.clone());
        let stream = channel::spawn(move |out| {
            write::write(&plan, &inputs, out).map(|_| ()).map_err(|error| match error {
                Error::Input { cause, .. } | Error::Output(cause) => cause,
                Error::Write(cause) | Error::Spill(cause) => ferrum_trace_format::Error::writing(cause),
            })
        })?;
        Ok(Box::new(stream))
    }
}

fn writing(error: ferrum_trace_format::Error) -> Error {
    Error::Output(error)
}

fn converting(error: convert::Error) -> Error {
    match error {
        convert::Error::Write(cause) => Error::Write(cause),
        convert::Error::Spill(cause) => Error::Spill(cause),
        convert::Error::Read(cause) => Error::Output(cause),
        convert::Error::Nothing(_) => Error::Write(io::ErrorKind::InvalidData.into()),
    }
}
