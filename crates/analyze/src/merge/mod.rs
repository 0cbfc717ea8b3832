//! Several traces in one: processes kept apart, ranks in order, clocks aligned.
//!
//! Each input is read twice, one after the other, and memory does not grow with the number of events: the first pass finds
//! processes, clocks and what ranks do together (sorted on disk), the second writes.

mod align;
mod clock_fit;
mod collective;
mod handovers;
mod marks;
mod names;
mod numbering;
mod one_run;
mod open_marks;
mod part_boundaries;
mod parts;
mod plan;
mod rewriter;
mod skew;
mod survey;
mod write;

pub use align::{Align, AlignedBy, Alignment};
pub use one_run::NotRanks;
pub use skew::{RankSkew, Skew, SkewRow};

use crate::convert::{self, Target, convert};
use crate::repair::{RepairOptions, repair};
use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_format::open::channel;
use ferrum_trace_model::Recordings;
use plan::Plan;
use std::fmt;
use std::io::{self, Read, Write};
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

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergedForm {
    /// Chrome trace JSON, an object.
    #[default]
    Chrome,
    /// The same, mended as by [`repair`]: takes 20 bytes of memory a slice.
    ChromeRepaired,
    /// A Perfetto trace.
    Perfetto,
}

/// How to merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeOptions {
    /// How clocks are aligned.
    pub align: Align,
    /// What is written.
    pub form: MergedForm,
}

/// A process in the merged trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedProcess {
    /// What it is called there.
    pub name: String,
    /// Its number there.
    pub pid: u32,
    /// Its id in the input, as text.
    pub old_pid: String,
    /// Its rank, if it has one.
    pub rank: Option<u32>,
}

/// What became of an input.
#[derive(Clone, Debug)]
pub struct MergedInput {
    /// Its place among the inputs as they were given.
    pub place: usize,
    /// What it is called.
    pub name: String,
    /// Its rank, if all of it has one.
    pub rank: Option<u32>,
    /// Its host, if it says.
    pub host: Option<String>,
    /// How its clock was aligned.
    pub alignment: Alignment,
    /// Its processes, in the order of the merged trace.
    pub processes: Vec<MergedProcess>,
    /// How many events it has.
    pub n_events: u64,
    /// What of it could not be read.
    pub losses: Losses,
    /// Facts that the recorder states about the recordings in it.
    pub recordings: Recordings,
}

/// What became of all of them.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The inputs, in the order of the merged trace: by rank, then as they were given.
    pub inputs: Vec<MergedInput>,
    /// How many events were written.
    pub n_events: u64,
    /// When time zero of the merged trace was, in nanoseconds since 1970, if that is known.
    pub start_unix_ns: Option<i128>,
    /// The reason why collectives and steps are not compared, if the inputs are not ranks of one run. The places are
    /// those of [`inputs`](Self::inputs).
    pub not_ranks: Option<NotRanks>,
    /// Collectives, over ranks.
    pub collectives: Skew,
    /// Steps, over ranks.
    pub steps: Skew,
    /// Fields around the events that were too long to keep.
    pub n_fields_lost: u64,
    /// Collectives and steps that are in no table, since there are too many different ones.
    pub n_uncompared: u64,
}

impl Merged {
    /// By how many nanoseconds the times of any input may be off, at most; `None` if that is not known of all.
    pub fn error_ns(&self) -> Option<u64> {
        let mut errors = self.inputs.iter().map(|input| input.alignment.error_ns);
        errors.try_fold(0, |worst, error| Some(worst.max(error?)))
    }
}

/// Traces could not be merged.
#[derive(Debug)]
pub enum Error {
    /// An input cannot be read, or is no trace: its place among the inputs, and why.
    Input {
        /// Its place among the inputs.
        place: usize,
        /// Its name.
        name: String,
        /// What is wrong.
        cause: ferrum_trace_format::Error,
    },
    /// The output cannot be written.
    Write(io::Error),
    /// A temporary file cannot be written or read.
    Spill(io::Error),
    /// Something else, when the output was made.
    Output(ferrum_trace_format::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { name, cause, .. } => write!(f, "{name}: {cause}"),
            Self::Write(cause) => write!(f, "cannot write: {cause}"),
            Self::Spill(cause) => write!(f, "cannot use a temporary file: {cause}"),
            Self::Output(cause) => write!(f, "{cause}"),
        }
    }
}

impl std::error::Error for Error {}

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
/// If an input cannot be read or is no trace, or the output or a temporary file cannot be written. What of an input is
/// damaged is passed over, and counted.
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

/// The merged trace as a stream, for those who make another file of it.
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
