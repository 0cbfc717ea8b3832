//! The figures that `layers` prints.

use super::args::{LayerFrom, LayersArgs};
use crate::flags::By;
use crate::input::captures::Captures;
use crate::input::source::Source;
use crate::render::captures;
use crate::render::contents;
use crate::render::limits;
use crate::render::recorder;
use crate::render::table::clean;
use crate::render::units::{count, number, time};
use crate::user_error::UserError;
use ferrum_trace_analyze::{
    Cell, LAYER_ARGS, LayerSource, Layers, Nesting, Selected, Transfer, UnlayeredWork, WorkSum, layers,
};
use ferrum_trace_format::chrome::read::Loaded;
use ferrum_trace_model::{ArgValue, StringId, Trace};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Largest number of cells of a table, empty ones included. Models have hundreds of layers and dozens of categories;
/// with more cells than this, the numbers are not layers.
const CELLS_MAX: usize = 1_000_000;

/// Results for one trace.
pub(crate) struct LayersReport {
    pub(crate) loaded: Loaded,
    pub(crate) notes: Vec<String>,
    pub(crate) layers: Layers,
    /// The reason why there are no layers.
    pub(crate) missing: Option<String>,
    /// True for durations, false for self times.
    is_total: bool,
    /// The key of the columns.
    pub(crate) by: By,
    /// The result of `--capture`.
    pub(crate) transfer: Option<Transfer>,
}

impl LayersReport {
    /// Loads a trace and sums its time by layer.
    pub(crate) fn of(source: &Source, args: &LayersArgs, captures: &Captures) -> Result<Self, UserError> {
        let wanted = LAYER_ARGS.into_iter().chain(args.by.arg()).chain(args.selection.arg_names());
        let wanted = wanted.chain(captures.arg_names());
        let (mut loaded, facts) = source.load(wanted.map(str::to_owned).collect())?;
        let transfer = captures.apply(&mut loaded.trace);
        let nesting = Nesting::of(&loaded.trace);
        let selected = args.selection.selection().apply(&loaded.trace);
        let layers = layers(&loaded.trace, &nesting, &selected, &args.options());
        let mut notes = facts.notes();
        notes.extend(recorder::notes(&loaded.recordings));
        notes.extend(limits::notes(&loaded.trace));
        notes.extend(captures::notes(transfer.as_ref()));
        notes.extend(unlayered_note(&layers));
        let missing = missing(&loaded.trace, &selected, &layers, args).or_else(|| missing_arg(&layers, &args.by));
        let unmatched = layers.phases.iter().filter(|phase| missing.is_none() && phase.n_enclosing == 0);
        let patterns = unmatched.filter_map(|phase| phase.phase.as_ref());
        notes.extend(patterns.map(|pattern| format!("no slice name matches `{pattern}`")));
        let (n_layers, n_columns) = (layers.layers.len(), layers.columns.len());
        if n_layers.saturating_mul(n_columns).saturating_mul(layers.phases.len()) > CELLS_MAX {
            let columns = if args.by == By::Cat { "categories" } else { "columns" };
            let what = format!("{n_layers} layers and {n_columns} {columns} are too many for a table");
            let hint =
                "select fewer slices with `--filter cat=GLOB`, or choose another source of layers with `--layer-from`";
            return Err(UserError::new(source.label.clone(), what).hint(hint));
        }
        Ok(Self { notes, layers, missing, is_total: args.total, by: args.by.clone(), transfer, loaded })
    }

    /// Returns the name of the source of layer numbers.
    pub(crate) fn source_name(&self) -> &'static str {
        match self.layers.source {
            LayerSource::Auto => "auto",
            LayerSource::Arg => "arg",
            LayerSource::Name => "name",
            LayerSource::Tid => "tid",
        }
    }

    /// Returns the names of the columns.
    pub(crate) fn columns(&self) -> Vec<String> {
        let text = |&column: &Option<ArgValue>| {
            column.map_or_else(|| self.by.none(), |column| column.content(&self.loaded.trace.strings).into_owned())
        };
        self.layers.columns.iter().map(text).collect()
    }

    /// Returns the time of a cell that is shown.
    pub(crate) fn time(&self, cell: Cell) -> i64 {
        if self.is_total { cell.total } else { cell.self_time }
    }

    /// Returns the title of the table.
    pub(crate) fn description(&self) -> String {
        let what = if self.is_total { "total" } else { "self" };
        let origin = match self.layers.source {
            LayerSource::Arg => "the argument `layer`",
            LayerSource::Tid => "the tid",
            LayerSource::Name | LayerSource::Auto => "names",
        };
        let by = match &self.by {
            By::Cat => String::new(),
            by => format!(" by {}", clean(&by.name())),
        };
        format!("{what} time of {}{by}, from {origin}", count(self.layers.layers.len() as u64, "layer"))
    }
}

/// Returns the device time that is in no layer, and the reasons, if there is any.
fn unlayered_note(layers: &Layers) -> Option<String> {
    let UnlayeredWork { by_graph, outside_layers, unknown_launch } = layers.unlayered;
    let all = layers.unlayered.all();
    let reason = |sum: WorkSum, reason: &str| (sum.count > 0).then(|| format!("{} {reason}", time(sum.total)));
    let reasons = [
        reason(by_graph, "launched by graphs outside of layers"),
        reason(outside_layers, "launched outside of layers"),
        reason(unknown_launch, "whose launch is not in the file"),
    ];
    let reasons = match layers.layers.is_empty() {
        true => "the trace names no layers".to_owned(),
        false => Vec::from_iter(reasons.into_iter().flatten()).join(", "),
    };
    (all.count > 0).then(|| format!("{} of kernels and copies are in no layer: {reasons}", time(all.total)))
}

/// Returns that no slice has the argument of the columns, if so.
fn missing_arg(layers: &Layers, by: &By) -> Option<String> {
    let is_missing = layers.columns.iter().all(Option::is_none);
    by.arg().filter(|_| is_missing).map(|name| format!("no slice has an argument `{}`", clean(name)))
}

/// Returns the reason why there are no layers, if there are none.
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
    let left = left + &args.selection.values_text(trace);
    Some(format!("no layers: looked for {looked_for}; {}{left}", contents::contents_text(trace)))
}

/// Returns the names of the slices that take the most time.
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
