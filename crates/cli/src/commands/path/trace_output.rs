//! The trace of `-o`: the input with its critical path.

use super::args::PathArgs;
use crate::flags::OutputArgs;
use crate::input::source::{Reopen, Source};
use crate::output::format::Format;
use crate::output::output_writer::{InputCount, OutputWriter};
use crate::output::target::Target;
use crate::render::messages::Messages;
use crate::render::table::clean;
use crate::user_error::UserError;
use ferrum_trace_analyze::convert::{self, convert};
use ferrum_trace_analyze::repair::{ChromeOptions, OutputForm, chrome};
use ferrum_trace_analyze::{CriticalPath, write_with_path};
use ferrum_trace_model::Trace;
use std::io::{Cursor, Read, Write};

/// The output of `-o`.
pub(super) struct TraceOutput {
    format: Format,
    target: Target,
    writer: OutputWriter,
}

impl TraceOutput {
    /// Returns `None` without `-o`.
    pub(super) fn of(args: &PathArgs, inputs: InputCount) -> Result<Option<Self>, UserError> {
        let Some(path) = &args.output else { return Ok(None) };
        let expected = "expected a file that ends in .json or .pftrace, or in these and .gz or .zst";
        let target = Target::of(path);
        let Target::File(path) = &target else { return Err(UserError::new("-o -", expected)) };
        let format = Format::of(path).filter(|format| matches!(format, Format::Chrome | Format::Perfetto));
        let format = format.ok_or_else(|| UserError::at(path, expected))?;
        let output = OutputArgs { output: Some(path.clone()), force: args.force };
        let writer = OutputWriter::new(inputs, &output, false)?;
        Ok(Some(Self { format, target, writer }))
    }

    /// Writes the trace.
    pub(super) fn write(
        &self,
        source: &Source,
        trace: &Trace,
        path: &CriticalPath,
        messages: &Messages,
    ) -> Result<(), UserError> {
        let passes = Reopen::new(source);
        let mut joined = Vec::new();
        write_with_path(&|| passes.open(), &mut joined, trace, path).map_err(|error| source.error(&error))?;
        let write = |output: &mut dyn Write| write_as(self.format, &joined, output);
        if self.writer.write(&source.label, &self.target, write)?.is_some() {
            messages.print(&format!("{}: written with its path to {}\n", clean(&source.label), self.target.label()));
        }
        Ok(())
    }
}

/// Writes Chrome JSON in a form that viewers accept.
fn write_as(format: Format, json: &[u8], output: &mut dyn Write) -> Result<(), String> {
    let json = std::sync::Arc::<[u8]>::from(json);
    let open =
        || -> Result<Box<dyn Read + Send>, ferrum_trace_format::Error> { Ok(Box::new(Cursor::new(json.clone()))) };
    match format {
        Format::Perfetto => convert(convert::Target::Perfetto, &open, output).map(drop).map_err(|it| it.to_string()),
        _ => {
            let options = ChromeOptions { form: OutputForm::Object, as_is: false };
            chrome(&open, output, &options).map(drop).map_err(|it| it.to_string())
        }
    }
}
