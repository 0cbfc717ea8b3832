//! Writes the picture of `--output`.

use super::{PictureKind, picture};
use crate::flags::OutputArgs;
use crate::output::output_writer::{InputCount, OutputWriter};
use crate::output::target::Target;
use crate::render::messages::Messages;
use crate::user_error::UserError;
use ferrum_trace_analyze::compare::{Comparison, FlameDiff};
use std::path::Path;

/// File of a picture.
pub(crate) struct PictureOutput {
    kind: PictureKind,
    target: Target,
    writer: OutputWriter,
}

impl PictureOutput {
    /// Checks the path. `force` allows to replace a file.
    pub(crate) fn of(path: &Path, force: bool) -> Result<Self, UserError> {
        let expected = "expected a file that ends in .svg or .html";
        let target = Target::of(path);
        let Target::File(path) = &target else { return Err(UserError::new("-o -", expected)) };
        let kind = PictureKind::of(path).ok_or_else(|| UserError::at(path, expected))?;
        // Both sides together make one picture.
        let inputs = InputCount { n_inputs: 1, has_stdin: false };
        let writer = OutputWriter::new(inputs, &OutputArgs { output: Some(path.clone()), force }, false)?;
        Ok(Self { kind, target, writer })
    }

    /// Draws the picture and writes it.
    pub(crate) fn write(
        &self,
        comparison: &Comparison,
        titles: (&str, &str),
        flame: Option<&FlameDiff>,
        messages: &Messages,
    ) -> Result<(), UserError> {
        let text = picture(comparison, titles, flame, self.kind);
        let write =
            |output: &mut dyn std::io::Write| output.write_all(text.as_bytes()).map_err(|cause| cause.to_string());
        if self.writer.write("diff", &self.target, write)?.is_some() {
            messages.print(&format!("diff: drawn to {}\n", self.target.label()));
        }
        Ok(())
    }
}
