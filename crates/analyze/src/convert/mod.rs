//! Conversion of traces to other formats.
//!
//! A conversion takes about 200 MiB of memory for any number of events, and up to 250 bytes for each track: events go
//! through an external sort, and are written in time order.

mod async_ids;
mod collect;
mod csv;
mod error;
mod flows;
mod folded;
mod hash;
mod layerwise;
mod ordered_lanes;
mod output_numbers;
mod pairing;
mod pending_records;
mod perfetto;
mod record;
mod slice_survey;
mod speedscope;
mod stacks;
mod step_marks;
mod summary;
mod svg;
mod timeline;
mod torch;
mod waiting_flows;

pub use error::Error;
pub use layerwise::{LayerwiseOptions, layerwise};
pub use summary::{Left, Summary};
pub use torch::{TorchOptions, torch};

pub use csv::CsvTexts;

use crate::opener::Opener;
use std::io::Write;

/// Target format of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A Perfetto trace, `.pftrace`: everything except what `docs/convert.md` lists.
    Perfetto,
    /// A profile for speedscope: slices of threads.
    Speedscope,
    /// Folded stacks, one line each: self times by stack.
    Folded,
    /// A flame graph of the folded stacks.
    Svg,
    /// A table with one row per slice of a thread, with its layer, step and parent.
    Csv(CsvTexts),
}

/// Converts a trace. The input is opened once, and read once.
///
/// ```
/// use ferrum_trace_analyze::convert::{CsvTexts, Target, convert};
///
/// let trace = br#"[{"ph":"X","name":"decode","ts":1,"dur":2.5,"pid":1,"tid":2}]"#;
/// let mut table = Vec::new();
/// let summary = convert(Target::Csv(CsvTexts::Guarded), &|| Ok(Box::new(&trace[..])), &mut table)?;
/// assert_eq!(summary.n_slices, 1);
/// assert!(String::from_utf8_lossy(&table).contains("\n1000,2500,decode,"));
/// # Ok::<(), ferrum_trace_analyze::convert::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if the input cannot be read or is not a trace, or if the output or a temporary file cannot be
/// written.
pub fn convert(target: Target, open: Opener<'_>, output: &mut dyn Write) -> Result<Summary, Error> {
    let input = open()?;
    match target {
        Target::Perfetto => perfetto::convert(input, output),
        Target::Speedscope => speedscope::convert(input, output),
        Target::Folded => folded::convert(input, output),
        Target::Svg => svg::convert(input, output),
        Target::Csv(texts) => csv::convert(input, texts, output),
    }
}
