//! Writes the picture of `--output`.

use super::args::RooflineArgs;
use super::picture::{Picture, document};
use super::report::RooflineReport;
use super::text::rows;
use crate::flags::OutputArgs;
use crate::input::source::Source;
use crate::output::output_writer::{InputCount, OutputWriter};
use crate::output::target::Target;
use crate::render::chart_format::ChartFormat;
use crate::render::messages::Messages;
use crate::render::page::page;
use crate::render::png;
use crate::render::table::clean;
use crate::user_error::UserError;

/// Number of rows of the table in HTML.
const ROWS_MAX: usize = 200;

/// The picture of `--output`.
pub(crate) struct PictureOutput {
    format: ChartFormat,
    target: Target,
    writer: OutputWriter,
}

impl PictureOutput {
    /// Returns `None` without `--output`.
    pub(crate) fn of(args: &RooflineArgs, inputs: InputCount) -> Result<Option<Self>, UserError> {
        let Some(path) = &args.output else { return Ok(None) };
        let expected = "expected a file that ends in .svg, .png or .html";
        let target = Target::of(path);
        let Target::File(path) = &target else { return Err(UserError::new("-o -", expected)) };
        let format = ChartFormat::of(path).ok_or_else(|| UserError::at(path, expected))?;
        let output = OutputArgs { output: Some(path.clone()), force: args.force };
        let writer = OutputWriter::new(inputs, &output, false)?;
        Ok(Some(Self { format, target, writer }))
    }

    /// Draws the picture and writes it.
    pub(crate) fn write(&self, source: &Source, report: &RooflineReport, messages: &Messages) -> Result<(), UserError> {
        let name = source.path.as_deref().and_then(|path| path.file_name());
        let title = name.map_or_else(|| source.label.clone(), |name| name.to_string_lossy().into_owned());
        let svg = document(&Picture::of(&title, &report.roofline, report.device.as_ref()));
        let bytes = match self.format {
            ChartFormat::Svg => svg.into_bytes(),
            ChartFormat::Png => png::render(&svg)?,
            ChartFormat::Html => page(&title, &svg, &rows(report, ROWS_MAX, false)).into_bytes(),
        };
        let write = |output: &mut dyn std::io::Write| output.write_all(&bytes).map_err(|cause| cause.to_string());
        if self.writer.write(&source.label, &self.target, write)?.is_some() {
            messages.print(&format!("{}: drawn to {}\n", clean(&source.label), self.target.label()));
        }
        Ok(())
    }
}
