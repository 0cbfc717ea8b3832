//! `layers`: time by layer of the model and category.

use super::args::{LayerFrom, LayersArgs};
use super::chart::{Chart, ChartFormat, Panel, SERIES_MAX};
use super::json::LayersObject;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand, report_missing};
use crate::exit_status::ExitStatus;
use crate::flags::OutputArgs;
use crate::input::paths::Inputs;
use crate::input::source::{Passes, Source};
use crate::os::interrupt;
use crate::output::output_writer::OutputWriter;
use crate::output::target::Target;
use crate::render::contents;
use crate::render::limits;
use crate::render::messages::Messages;
use crate::render::printer::Printer;
use crate::render::recorder;
use crate::render::table;
use crate::render::table::{Column, Table, clean, cut};
use crate::render::units::{count, number, time_in_column};
use crate::user_error::UserError;
use anstyle::Style;
use ferrum_trace_analyze::{Cell, LAYER_ARG, LayerSource, Layers, Nesting, PhaseLayers, Selected, layers};
use ferrum_trace_format::chrome::read::{LoadOptions, Loaded, load};
use ferrum_trace_model::{StringId, Trace};
use std::cmp::Reverse;
use std::collections::HashMap;

const TITLE: Style = Style::new().bold();
/// Layers that are drawn.
const LAYERS_DRAWN: usize = 1000;
/// Cells of a table, empty ones included. Models have hundreds of layers and dozens of categories; what has more cells than
/// this has other things in them.
const CELLS_MAX: usize = 1_000_000;
/// What of a category or a phase stands above a column.
const TITLE_CHARS: usize = 18;

pub fn run(args: &LayersArgs) -> ExitStatus {
    let messages = Messages { verbose: args.verbose };
    let inputs = expand(&args.inputs);
    let picture = match ChartOutput::of(args, &inputs) {
        Ok(picture) => picture,
        Err(error) => return messages.refuse(&error),
    };
    interrupt::install("no partial file is left behind");
    let mut is_first = true;
    let mut printer = Printer::new(messages, args.json);
    each_trace(inputs, Passes::One, OnClosedPipe::Stop, &mut printer, |source, printer| {
        let report = LayersReport::of(source, args)?;
        let mut status = ExitStatus::Success;
        if let Some(picture) = picture.as_ref().filter(|_| report.missing.is_none()) {
            picture.make(source, &report, &messages)?;
        }
        if args.json {
            status = printer.object(&LayersObject::new(source, &report));
        } else {
            if report.missing.is_none() {
                let gap = if std::mem::take(&mut is_first) { "" } else { "\n" };
                status = printer.text(&format!("{gap}{}", text(source, &report)));
            }
            messages.losses(&source.label, &report.loaded.losses, &report.notes);
        }
        Ok(status.max(report_missing(&messages, source, report.missing.as_deref())))
    })
}

/// All that is said of a trace.
pub struct LayersReport {
    pub loaded: Loaded,
    pub notes: Vec<String>,
    pub layers: Layers,
    /// Why there are no layers.
    pub missing: Option<String>,
    /// Whether durations count, not self times.
    is_total: bool,
}

impl LayersReport {
    fn of(source: &Source, args: &LayersArgs) -> Result<Self, UserError> {
        let options = LoadOptions { args: vec![LAYER_ARG.to_owned()], ..LoadOptions::default() };
        let opened = source.open().map_err(|error| source.error(&error))?;
        let loaded = load(opened, &options).map_err(|error| source.error(&error))?;
        let nesting = Nesting::of(&loaded.trace);
        let selected = args.selection.selection().apply(&loaded.trace);
        let layers = layers(&loaded.trace, &nesting, &selected, &args.options());
        let mut notes = source.facts().notes();
        notes.extend(recorder::notes(&loaded.recordings));
        notes.extend(limits::notes(&loaded.trace));
        let missing = missing(&loaded.trace, &selected, &layers, args);
        let unmatched = layers.phases.iter().filter(|phase| missing.is_none() && phase.n_enclosing == 0);
        let patterns = unmatched.filter_map(|phase| phase.phase.as_ref());
        notes.extend(patterns.map(|pattern| format!("no slice name matches `{pattern}`")));
        let (n_layers, n_categories) = (layers.layers.len(), layers.categories.len());
        if n_layers.saturating_mul(n_categories).saturating_mul(layers.phases.len()) > CELLS_MAX {
            let what = format!("{n_layers} layers and {n_categories} categories are too many for a table");
            let hint =
                "select fewer slices with `--filter cat=GLOB`, or choose another source of layers with `--layer-from`";
            return Err(UserError::new(source.label.clone(), what).hint(hint));
        }
        Ok(Self { notes, layers, missing, is_total: args.total, loaded })
    }

    /// What told the layers.
    pub fn source_name(&self) -> &'static str {
        match self.layers.source {
            LayerSource::Auto => "auto",
            LayerSource::Arg => "arg",
            LayerSource::Name => "name",
            LayerSource::Tid => "tid",
        }
    }

    /// What a category is called.
    pub fn category(&self, id: StringId) -> &str {
        self.loaded.trace.strings.get(id)
    }

    fn time(&self, cell: Cell) -> i64 {
        if self.is_total { cell.total } else { cell.self_time }
    }

    fn description(&self) -> String {
        let what = if self.is_total { "total" } else { "self" };
        let result = match self.layers.source {
            LayerSource::Arg => "the argument `layer`",
            LayerSource::Tid => "the tid",
            LayerSource::Name | LayerSource::Auto => "names",
        };
        format!("{what} time of {}, from {result}", count(self.layers.layers.len() as u64, "layer"))
    }
}

/// Says why there are no layers, if there are none.
fn missing(trace: &Trace, selected: &Selected, layers: &Layers, args: &LayersArgs) -> Option<String> {
    if !args.phases.is_empty() && layers.phases.iter().all(|phase| phase.n_enclosing == 0) {
        let patterns: Vec<String> = args.phases.iter().map(|pattern| format!("`{}`", clean(pattern))).collect();
        return Some(format!(
            "no slice name matches {}: the longest slices of the file are {}",
            patterns.join(" or "),
            longest_names(trace)
        ));
    }
    if !layers.layers.is_empty() {
        return None;
    }
    let looked_for = match args.layer_from {
        LayerFrom::Auto => "an argument `layer`, names such as `layers.12.attn`, and consecutive tids",
        LayerFrom::Arg => "an argument `layer`",
        LayerFrom::Name => "names such as `layers.12.attn`",
        LayerFrom::Tid => "numbers as tids",
    };
    let (n_selected, n_slices) = (selected.iter().count(), trace.slices.len());
    let left = match n_selected == n_slices {
        true => String::new(),
        false => format!(", of which --filter and --within leave {}", number(n_selected as u64)),
    };
    Some(format!("no layers: looked for {looked_for}; {}{left}", contents::contents_words(trace)))
}

/// The names of slices that take the most time.
fn longest_names(trace: &Trace) -> String {
    let mut totals: HashMap<StringId, i64> = HashMap::new();
    for (&name, &duration) in trace.slices.name.iter().zip(&trace.slices.duration) {
        let total = totals.entry(name).or_default();
        *total = total.saturating_add(duration);
    }
    let mut totals: Vec<(StringId, i64)> = totals.into_iter().collect();
    totals.sort_unstable_by_key(|&(name, total)| (Reverse(total), name));
    contents::list(totals.iter().map(|&(name, _)| format!("`{}`", clean(trace.strings.get(name)))))
}

fn text(source: &Source, report: &LayersReport) -> String {
    let table = table(report).render(table::width());
    format!("{TITLE}{}{TITLE:#}: {}\n\n{table}", clean(&source.label), report.description())
}

/// Categories without a name have one here.
fn named(category: &str) -> &str {
    if category.is_empty() { "(no category)" } else { category }
}

fn table(report: &LayersReport) -> Table {
    let layers = &report.layers;
    let n_categories = layers.categories.len();
    let title_chars = table::name_width(TITLE_CHARS);
    let mut columns = vec![Column::number("layer")];
    for phase in &layers.phases {
        let prefix = phase.phase.as_ref().map_or_else(String::new, |phase| format!("{} ", cut(phase, title_chars)));
        columns.push(Column::number(format!("{prefix}all")));
        for (place, &category) in layers.categories.iter().enumerate() {
            let title = format!("{prefix}{}", cut(&clean(named(report.category(category))), title_chars));
            // Those with the most time stay longest.
            columns.push(Column::number(title).importance(n_categories - place));
        }
    }
    let mut table = Table::new(columns);
    for (row, layer) in layers.layers.iter().enumerate() {
        table.push(cells(report, layer.to_string(), |phase, column| phase.cell(row, column)));
    }
    table.push(cells(report, "all".to_owned(), |phase, column| layers.column_sum(phase, column)));
    table.push(cells(report, "none".to_owned(), |phase, column| phase.without_layer[column]));
    table
}

fn cells(report: &LayersReport, label: String, cell: impl Fn(&PhaseLayers, usize) -> Cell) -> Vec<String> {
    let spelled = |time: i64| if time == 0 { "-".to_owned() } else { time_in_column(time) };
    let mut cells = vec![label];
    for phase in &report.layers.phases {
        let times: Vec<i64> =
            (0..report.layers.categories.len()).map(|column| report.time(cell(phase, column))).collect();
        cells.push(spelled(times.iter().fold(0, |sum: i64, &time| sum.saturating_add(time))));
        cells.extend(times.into_iter().map(spelled));
    }
    cells
}

/// A picture that is wanted.
struct ChartOutput {
    kind: ChartFormat,
    target: Target,
    making: OutputWriter,
}

impl ChartOutput {
    fn of(args: &LayersArgs, inputs: &Inputs) -> Result<Option<Self>, UserError> {
        let Some(path) = &args.output else { return Ok(None) };
        let target = Target::of(path);
        let Target::File(path) = &target else {
            return Err(UserError::new("-o -", "expected a file that ends in .svg, .png or .html"));
        };
        let kind = ChartFormat::of(path)
            .ok_or_else(|| UserError::at(path, "expected a file that ends in .svg, .png or .html"))?;
        let output = OutputArgs { output: Some(path.clone()), force: args.force };
        let making = OutputWriter::new(inputs, &output, false)?;
        Ok(Some(Self { kind, target, making }))
    }

    fn make(&self, source: &Source, report: &LayersReport, messages: &Messages) -> Result<(), UserError> {
        let picture = chart(source, report).render(self.kind, &table(report))?;
        let write = |output: &mut dyn std::io::Write| output.write_all(&picture).map_err(|cause| cause.to_string());
        if self.making.make(source, &self.target, write)?.is_some() {
            messages.say(&format!("{}: drawn to {}\n", clean(&source.label), self.target.label()));
        }
        Ok(())
    }
}

fn chart(source: &Source, report: &LayersReport) -> Chart {
    let layers = &report.layers;
    let n_rows = layers.layers.len().min(LAYERS_DRAWN);
    let is_seen = |&column: &usize| layers.phases.iter().any(|phase| report.time(layers.column_sum(phase, column)) > 0);
    let columns: Vec<usize> = (0..layers.categories.len()).filter(is_seen).collect();
    // What has no color of its own shares the last.
    let n_own = if columns.len() > SERIES_MAX { SERIES_MAX - 1 } else { columns.len() };
    let (own, others) = columns.split_at(n_own);
    let name = |&column: &usize| named(report.category(layers.categories[column])).to_owned();
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
