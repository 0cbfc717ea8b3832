//! Folded stacks: `process;thread;outer;inner 1234`, in nanoseconds, one line per stack.

use super::error::Error;
use super::stacks;
use super::summary::Summary;
use std::io::{BufWriter, Read, Write};

/// Converts slices of threads to self times by stack.
pub(super) fn convert(input: impl Read, output: &mut dyn Write) -> Result<Summary, Error> {
    let (stacks, summary) = stacks::read(input)?;
    let mut output = BufWriter::new(output);
    stacks.for_each(|stack, self_ns| writeln!(output, "{stack} {self_ns}")).map_err(Error::Write)?;
    output.flush().map_err(Error::Write)?;
    Ok(summary)
}
