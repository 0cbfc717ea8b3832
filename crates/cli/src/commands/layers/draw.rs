//! Draws the chart of `layers`.

use super::args::LayersArgs;
use super::chart::{Chart, Panel, SERIES_MAX};
use super::report::LayersReport;
use super::text::{named, table};
use crate::flags::OutputArgs;
use crate::input::source::Source;
use crate::output::output_writer::{InputCount, OutputWriter};
use crate::output::target::Target;
use crate::render::chart_format::ChartFormat;
use crate::render::messages::Messages;
use crate::render::table::clean;
use crate::render::units::count;
use crate::user_error::UserError;
use ferrum_trace_analyze::PhaseLayers;

/// Largest number of layers that are drawn.
const LAYERS_DRAWN: usize = 1000;

/// The chart of `--output`.
pub(crate) struct ChartOutput {
    format: ChartFormat,
    target: Target,
    writer: OutputWriter,
}

impl ChartOutput {
    /// Returns `None` without `--output`.
    pub(crate) fn of(args: &LayersArgs, inputs: InputCount) -> Result<Option<Self>, UserError> {
        let Some(path) = &args.output else { return Ok(None) };
        let target = Target::of(path);
        let Target::File(path) = &target else {
            return Err(UserError::new("-o -", "expected a file that ends in .svg, .png or .html"));
        };
        let format = ChartFormat::of(path)
            .ok_or_else(|| UserError::at(path, "expected a file that ends in .svg, .png or .html"))?;
        let output = OutputArgs { output: Some(path.clone()), force: args.force };
        let writer = OutputWriter::new(inputs, &output, false)?;
        Ok(Some(Self { format, target, writer }))
    }

    /// Draws the chart and writes it.
    pub(crate) fn write(&self, source: &Source, report: &LayersReport, messages: &Messages) -> Result<(), UserError> {
        let bytes = chart(source, report).render(self.format, &table(report))?;
        let write = |output: &mut dyn std::io::Write| output.write_all(&bytes).map_err(|cause| cause.to_string());
        if self.writer.write(&source.label, &self.target, write)?.is_some() {
            messages.print(&format!("{}: drawn to {}\n", clean(&source.label), self.target.label()));
        }
        Ok(())
    }
}

fn chart(source: &Source, report: &LayersReport) -> Chart {
    let layers = &report.layers;
    let n_rows = layers.layers.len().min(LAYERS_DRAWN);
    let is_visible =
        |&column: &usize| layers.phases.iter().any(|phase| report.time(layers.column_sum(phase, column)) > 0);
    let columns: Vec<usize> = (0..layers.columns.len()).filter(is_visible).collect();
    let names = report.columns();
    // Columns beyond the colors share the last color.
    let n_own = if columns.len() > SERIES_MAX { SERIES_MAX - 1 } else { columns.len() };
    let (own, others) = columns.split_at(n_own);
    let name = |&column: &usize| named(report, &names[column]).to_owned();
    let mut series: Vec<String> = own.iter().map(name).collect();
    series.extend((!others.is_empty()).then(|| format!("{} others", others.len())));
    let bar = |phase: &PhaseLayers, row: usize| {
        let time = |&column: &usize| report.time(phase.cell(row, column));
        let mut parts: Vec<i64> = own.iter().map(time).collect();
        let rest = others.iter().map(time).fold(0, |sum: i64, time| sum.saturating_add(time));
        parts.extend((!others.is_empty()).then_some(rest));
        parts
    };
    let panel = |phase: &PhaseLayers| Panel {
        title: phase
            .phase
            .as_ref()
            .map_or_else(String::new, |pattern| format!("{pattern} ({})", count(phase.n_enclosing as u64, "slice"))),
        bars: (0..n_rows).map(|row| bar(phase, row)).collect(),
    };
    let cut_off =
        if n_rows < layers.layers.len() { format!("; only the first {n_rows} are drawn") } else { String::new() };
    let name = source.path.as_deref().and_then(|path| path.file_name());
    Chart {
        title: name.map_or_else(|| source.label.clone(), |name| name.to_string_lossy().into_owned()),
        subtitle: format!("{}{cut_off}", report.description()),
        series,
        rows: layers.layers[..n_rows].iter().map(u32::to_string).collect(),
        panels: layers.phases.iter().map(panel).collect(),
    }
}
