//! Flame graphs.

use super::error::Error;
use super::stacks;
use super::summary::{Summary, lost_text};
use crate::flame_graph::{self, Heading};
use std::io::{BufWriter, Read, Write};

/// Converts slices of threads to a flame graph of their self times.
pub(super) fn convert(input: impl Read, output: &mut dyn Write) -> Result<Summary, Error> {
    let (stacks, summary) = stacks::read(input)?;
    let heading = Heading { title: "Self time by stack".to_owned(), note: lost_text(&summary.recordings) };
    let mut output = BufWriter::new(output);
    let written = flame_graph::write(&stacks, &heading, &mut output);
    written.and_then(|()| output.flush()).map_err(Error::Write)?;
    Ok(summary)
}
