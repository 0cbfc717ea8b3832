//! Writer of flame graphs.

use super::error::Error;
use super::stacks;
use super::summary::{Summary, lost_text};
use inferno::flamegraph::{self, Options};
use std::io::{BufWriter, Read, Write};

/// Stacks with less than 1/`PART` of the whole are not drawn: at the usual width they take a twentieth of a pixel.
const PART: i64 = 24_000;

/// Converts slices of threads to a flame graph of their self times.
pub(super) fn convert(input: impl Read, output: &mut dyn Write) -> Result<Summary, Error> {
    let (mut stacks, summary) = stacks::read(input)?;
    stacks.prune(PART);
    let mut lines = Vec::new();
    let Ok(()) = stacks.for_each(|stack, self_ns| {
        lines.push(format!("{stack} {self_ns}"));
        Ok::<(), std::convert::Infallible>(())
    });
    drop(stacks);
    if lines.is_empty() {
        // inferno refuses an empty graph.
        lines.push("no slices 1".to_owned());
    }
    let mut options = Options::default();
    options.title = "Self time by stack".to_owned();
    options.subtitle = lost_text(&summary.recordings);
    options.count_name = "ns".to_owned();
    let mut output = BufWriter::new(output);
    let drawn = flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut output);
    drawn.and_then(|()| output.flush()).map_err(Error::Write)?;
    Ok(summary)
}
