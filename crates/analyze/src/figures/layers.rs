//! Time by layer of a model and category, name or argument.

use super::layer_search::{LayerSource, NONE, find_layers};
use super::unlayered_work::UnlayeredWork;
use crate::structure::arg_filter::arg_column;
use crate::structure::glob::Glob;
use crate::structure::nesting::Nesting;
use crate::structure::select::{Enclosing, Selected};
use ferrum_trace_model::{ArgColumn, ArgValue, Trace};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::hash::Hash;

/// Property of slices by which the time of a layer is split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LayerColumns {
    /// Their categories.
    #[default]
    Category,
    /// Their names.
    Name,
    /// The values of this argument, which must be loaded.
    Arg(String),
}

/// Options of [`layers`].
#[derive(Clone, Debug, Default)]
pub struct LayersOptions {
    /// The columns.
    pub columns: LayerColumns,
    /// The source of the layers.
    pub source: LayerSource,
    /// Phases to separate: patterns for the name of an enclosing slice. Empty for the whole trace.
    pub phases: Vec<Glob>,
}

/// Time by layer and column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// The source that was used; never [`LayerSource::Auto`].
    pub source: LayerSource,
    /// The numbers of the layers, ascending: the rows.
    pub layers: Vec<u32>,
    /// The categories, names or values of slices, the one with the most self time in layers first: the columns. Slices
    /// without the argument are in the column `None`.
    pub columns: Vec<Option<ArgValue>>,
    /// One table per phase.
    pub phases: Vec<PhaseLayers>,
    /// The selected device work that belongs to no layer.
    pub unlayered: UnlayeredWork,
}

/// Time by layer and column, in one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseLayers {
    /// The pattern of the phase; `None` is all of the trace.
    pub phase: Option<String>,
    /// Number of slices that match the pattern, which is how often the phase occurred. Zero if there is no pattern.
    pub n_enclosing: usize,
    /// Slices that belong to no layer, one cell per column.
    pub without_layer: Vec<Cell>,
    /// The cells that are not empty, by row and column. Most cells are empty, so a full table would be large.
    cells: HashMap<(u32, u32), Cell>,
}

impl PhaseLayers {
    /// Returns the cell of a row and a column, by their indices in [`Layers::layers`] and [`Layers::columns`].
    pub fn cell(&self, row: usize, column: usize) -> Cell {
        self.cells.get(&(row as u32, column as u32)).copied().unwrap_or_default()
    }

    /// Returns the sum of all cells, without slices that belong to no layer.
    pub fn sum(&self) -> Cell {
        sum(self.cells.values().copied())
    }
}

/// Sum of slices. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Number of slices.
    pub count: u64,
    /// Sum of their self times. All cells together have the busy time of the tracks.
    pub self_time: i64,
    /// Sum of their durations. Nested slices both count.
    pub total: i64,
}

impl Cell {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.self_time = self.self_time.saturating_add(other.self_time);
        self.total = self.total.saturating_add(other.total);
    }
}

impl Layers {
    /// Returns the sum of a row.
    pub fn row_sum(&self, phase: &PhaseLayers, row: usize) -> Cell {
        sum((0..self.columns.len()).map(|column| phase.cell(row, column)))
    }

    /// Returns the sum of a column, without slices that belong to no layer.
    pub fn column_sum(&self, phase: &PhaseLayers, column: usize) -> Cell {
        sum((0..self.layers.len()).map(|row| phase.cell(row, column)))
    }
}

fn sum(cells: impl Iterator<Item = Cell>) -> Cell {
    cells.fold(Cell::default(), |mut sum, cell| {
        sum.add(cell);
        sum
    })
}

/// Sums the selected slices of a trace by layer and column. The arguments [`LAYER_ARGS`] must be loaded.
///
/// [`LAYER_ARGS`]: super::layer_search::LAYER_ARGS
pub fn layers(trace: &Trace, nesting: &Nesting, selected: &Selected, options: &LayersOptions) -> Layers {
    let (source, layer_of) = find_layers(trace, nesting, options.source);
    let mut layers: Vec<u32> = selected.iter().map(|slice| layer_of[slice]).filter(|&layer| layer != NONE).collect();
    layers.sort_unstable();
    layers.dedup();
    let property = Property::of(trace, &options.columns);
    let columns = columns(nesting, selected, &layer_of, &property);
    let (rows, places) = (places(&layers), places(&columns));
    let table = Table { nesting, selected, layer_of: &layer_of, property, rows, columns: places };
    let phases = match &options.phases[..] {
        [] => vec![table.fill(None)],
        phases => phases.iter().map(|phase| table.fill(Some(phase))).collect(),
    };
    let unlayered = UnlayeredWork::of(trace, nesting, selected, &layer_of);
    Layers { source, layers, columns, phases, unlayered }
}

/// Returns the index of each element.
fn places<T: Copy + Eq + Hash>(list: &[T]) -> HashMap<T, u32> {
    list.iter().zip(0..).map(|(&element, place)| (element, place)).collect()
}

/// The property of slices that the columns are made of.
struct Property<'a> {
    trace: &'a Trace,
    columns: &'a LayerColumns,
    arg: Option<&'a ArgColumn>,
}

impl<'a> Property<'a> {
    fn of(trace: &'a Trace, columns: &'a LayerColumns) -> Self {
        let arg = match columns {
            LayerColumns::Arg(name) => arg_column(trace, name),
            LayerColumns::Category | LayerColumns::Name => None,
        };
        Self { trace, columns, arg }
    }

    fn get(&self, slice: usize) -> Option<ArgValue> {
        let slices = &self.trace.slices;
        match self.columns {
            LayerColumns::Category => Some(ArgValue::Text(slices.category[slice])),
            LayerColumns::Name => Some(ArgValue::Text(slices.name[slice])),
            LayerColumns::Arg(_) => self.arg?.of(slices.order[slice]),
        }
    }
}

/// Returns the columns of selected slices, the one with the most self time in layers first.
fn columns(nesting: &Nesting, selected: &Selected, layer_of: &[u32], property: &Property<'_>) -> Vec<Option<ArgValue>> {
    let mut in_layers: HashMap<Option<ArgValue>, i64> = HashMap::new();
    for slice in selected.iter() {
        let sum = in_layers.entry(property.get(slice)).or_default();
        if layer_of[slice] != NONE {
            *sum = sum.saturating_add(nesting.self_time[slice]);
        }
    }
    let mut columns: Vec<Option<ArgValue>> = in_layers.keys().copied().collect();
    let text = |column: Option<ArgValue>| column.map(|column| column.content(&property.trace.strings));
    columns.sort_by_key(|&column| (Reverse(in_layers[&column]), column.is_none(), text(column)));
    columns
}

/// Inputs for the table of a phase.
struct Table<'a> {
    nesting: &'a Nesting,
    selected: &'a Selected,
    layer_of: &'a [u32],
    property: Property<'a>,
    rows: HashMap<u32, u32>,
    columns: HashMap<Option<ArgValue>, u32>,
}

impl Table<'_> {
    fn fill(&self, phase: Option<&Glob>) -> PhaseLayers {
        let trace = self.property.trace;
        let enclosing = phase.map(|phase| Enclosing::new(trace, std::slice::from_ref(phase)));
        let mut filled = PhaseLayers {
            phase: phase.map(|phase| phase.as_str().to_owned()),
            n_enclosing: enclosing.as_ref().map_or(0, Enclosing::len),
            without_layer: vec![Cell::default(); self.columns.len()],
            cells: HashMap::new(),
        };
        let is_in = |slice| enclosing.as_ref().is_none_or(|enclosing| enclosing.holds(trace, slice));
        for slice in self.selected.iter().filter(|&slice| is_in(slice)) {
            let column = self.columns[&self.property.get(slice)];
            let cell = match self.rows.get(&self.layer_of[slice]) {
                Some(&row) => filled.cells.entry((row, column)).or_default(),
                None => &mut filled.without_layer[column as usize],
            };
            let (self_time, total) = (self.nesting.self_time[slice], trace.slices.duration[slice]);
            cell.add(Cell { count: 1, self_time, total });
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::layer_search::{LAYER_ARG, LAYER_ARGS};
    use crate::figures::unlayered_work::WorkSum;
    use crate::test_traces;
    use ferrum_trace_format::chrome::read::{LoadOptions, load};
    use std::borrow::Cow;

    fn found(trace: &Trace, source: LayerSource, phases: &[&str]) -> Layers {
        let phases = phases.iter().map(|&phase| Glob::new(phase)).collect();
        let options = LayersOptions { source, phases, ..LayersOptions::default() };
        layers(trace, &Nesting::of(trace), &Selected::all(trace), &options)
    }

    fn cell(count: u64, self_time: i64, total: i64) -> Cell {
        Cell { count, self_time, total }
    }

    fn category_names(trace: &Trace, layers: &Layers) -> Vec<String> {
        layers.columns.iter().map(|&column| column.unwrap().content(&trace.strings).into_owned()).collect()
    }

    fn two_layers() -> Trace {
        test_traces::trace(&[
            ("1", "1", "step", "decode 1", 0, 100),
            ("1", "1", "module", "layers.0", 10, 40),
            ("1", "1", "gemm", "qkv", 12, 30),
            ("1", "1", "module", "layers.1", 40, 70),
            ("1", "1", "gemm", "qkv", 45, 65),
            ("1", "1", "sampling", "argmax", 80, 90),
            ("1", "1", "step", "prefill", 200, 300),
            ("1", "1", "module", "layers.0", 210, 290),
        ])
    }

    #[test]
    fn slices_in_a_layer_belong_to_it() {
        let trace = two_layers();
        let layers = found(&trace, LayerSource::Auto, &[]);
        assert_eq!((layers.source, &layers.layers[..]), (LayerSource::Name, &[0, 1][..]));
        assert_eq!(category_names(&trace, &layers), ["module", "gemm", "sampling", "step"]);
        let all = &layers.phases[0];
        assert_eq!((all.cell(0, 0), all.cell(0, 1)), (cell(2, 92, 110), cell(1, 18, 18)));
        assert_eq!((all.cell(1, 0), all.cell(1, 1)), (cell(1, 10, 30), cell(1, 20, 20)));
        assert_eq!(all.without_layer, [cell(0, 0, 0), cell(0, 0, 0), cell(1, 10, 10), cell(2, 50, 200)]);
        assert_eq!(layers.row_sum(all, 1), cell(2, 30, 50));
        assert_eq!(layers.column_sum(all, 0), cell(3, 102, 140));
        assert_eq!((all.sum(), all.n_enclosing, &all.phase), (cell(5, 140, 178), 0, &None));
    }

    #[test]
    fn each_phase_has_a_table() {
        let trace = two_layers();
        let layers = found(&trace, LayerSource::Name, &["prefill", "decode*"]);
        let [prefill, decode] = &layers.phases[..] else { panic!("two phases") };
        assert_eq!((prefill.phase.as_deref(), prefill.n_enclosing), (Some("prefill"), 1));
        assert_eq!((prefill.cell(0, 0), prefill.cell(1, 0)), (cell(1, 80, 80), Cell::default()));
        assert_eq!((decode.cell(0, 0), decode.cell(1, 1)), (cell(1, 12, 30), cell(1, 20, 20)));
        assert_eq!(decode.without_layer[2], cell(1, 10, 10));
    }

    #[test]
    fn an_argument_takes_precedence_over_a_name() {
        let mut trace = two_layers();
        let values = ["4", "model.layers.5", "none"].map(|text| ArgValue::intern(text, &mut trace.strings));
        trace.args.push(ArgColumn { key: LAYER_ARG.to_owned(), order: vec![1, 3, 5], value: values.to_vec() });
        let layers = found(&trace, LayerSource::Auto, &[]);
        assert_eq!((layers.source, &layers.layers[..]), (LayerSource::Arg, &[4, 5][..]));
        assert_eq!(layers.row_sum(&layers.phases[0], 0), cell(2, 30, 48));
    }

    #[test]
    fn tracks_are_layers_if_their_ids_are_consecutive() {
        let slices = |tids: [&'static str; 3]| {
            test_traces::trace(&[
                ("0", tids[0], "attention", "attn", 0, 10),
                ("0", tids[1], "moe", "moe", 10, 20),
                ("0", tids[2], "moe", "moe", 20, 30),
            ])
        };
        let layers = found(&slices(["0", "1", "2"]), LayerSource::Auto, &[]);
        assert_eq!((layers.source, &layers.layers[..]), (LayerSource::Tid, &[0, 1, 2][..]));
        assert_eq!(layers.phases[0].sum(), cell(3, 30, 30));
        for tids in [["25738", "25739", "main"], ["0", "1", "3"]] {
            let layers = found(&slices(tids), LayerSource::Auto, &[]);
            assert_eq!((layers.source, &layers.layers[..]), (LayerSource::Name, &[][..]));
        }
        let threads = slices(["25738", "25745", "main"]);
        assert_eq!(found(&threads, LayerSource::Tid, &[]).layers, [25738, 25745]);
    }

    #[test]
    fn columns_are_categories_names_or_values_of_an_argument() {
        let mut trace = two_layers();
        let value = ArgValue::intern("64", &mut trace.strings);
        trace.args.push(ArgColumn { key: "m".to_owned(), order: vec![2, 5], value: vec![value; 2] });
        let found = |columns: LayerColumns| {
            let options = LayersOptions { columns, ..LayersOptions::default() };
            let layers = layers(&trace, &Nesting::of(&trace), &Selected::all(&trace), &options);
            let text = |column: &Option<ArgValue>| column.map_or("-".into(), |column| column.content(&trace.strings));
            let columns: Vec<Cow<'_, str>> = layers.columns.iter().map(text).collect();
            let all = &layers.phases[0];
            let rows: Vec<Cell> = (0..layers.layers.len()).map(|row| layers.row_sum(all, row)).collect();
            (columns.join(" "), all.cell(0, 1), (rows, sum(all.without_layer.iter().copied())))
        };
        let by_category = found(LayerColumns::Category);
        let by_name = found(LayerColumns::Name);
        assert_eq!((by_name.0.as_str(), by_name.1), ("layers.0 qkv layers.1 argmax decode 1 prefill", cell(1, 18, 18)));
        let by_arg = found(LayerColumns::Arg("m".to_owned()));
        assert_eq!((by_arg.0.as_str(), by_arg.1), ("- 64", cell(1, 18, 18)));
        assert_eq!(found(LayerColumns::Arg("not loaded".to_owned())).0, "-");
        assert!(by_name.2 == by_category.2 && by_arg.2 == by_category.2, "sums depend on the columns");
    }

    #[test]
    fn the_cells_sum_to_the_busy_time() {
        let trace = two_layers();
        let layers = found(&trace, LayerSource::Name, &[]);
        let all = &layers.phases[0];
        let without = sum(all.without_layer.iter().copied());
        assert_eq!(all.sum().self_time + without.self_time, Nesting::of(&trace).total_self());
        assert_eq!(all.sum().count + without.count, trace.slices.len() as u64);
    }

    /// Two layers on the host that launch a kernel each, a graph outside of layers with one kernel, and a kernel whose
    /// launch is not in the file.
    fn launches() -> Trace {
        let events = [
            r#"{"ph":"X","cat":"python_function","name":"nn.Module: LlamaDecoderLayer_0","ts":0,"dur":9,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":1,"dur":1,"pid":1,"tid":1,"args":{"correlation":1}}"#,
            r#"{"ph":"X","cat":"python_function","name":"nn.Module: LlamaDecoderLayer_1","ts":10,"dur":9,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":11,"dur":2,"pid":1,"tid":1,"args":{"External id":5}}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","ts":20,"dur":1,"pid":1,"tid":1,"args":{"correlation":3}}"#,
            r#"{"ph":"X","cat":"kernel","name":"a","ts":30,"dur":5,"pid":0,"tid":7,"args":{"correlation":1}}"#,
            r#"{"ph":"X","cat":"kernel","name":"b","ts":40,"dur":6,"pid":0,"tid":7,"args":{"correlation":2,"External id":5}}"#,
            r#"{"ph":"X","cat":"kernel","name":"c","ts":50,"dur":7,"pid":0,"tid":7,"args":{"correlation":3}}"#,
            r#"{"ph":"X","cat":"kernel","name":"d","ts":60,"dur":8,"pid":0,"tid":7,"args":{"correlation":4}}"#,
        ];
        let args = LAYER_ARGS.map(str::to_owned).to_vec();
        let json = format!("[{}]", events.join(","));
        load(json.as_bytes(), &LoadOptions { args, ..LoadOptions::default() }).unwrap().trace
    }

    #[test]
    fn kernels_have_the_layer_of_their_launch() {
        let trace = launches();
        let layers = found(&trace, LayerSource::Auto, &[]);
        assert_eq!((layers.source, &layers.layers[..]), (LayerSource::Name, &[0, 1][..]));
        let kernels = category_names(&trace, &layers).iter().position(|name| name == "kernel").unwrap();
        let phase = &layers.phases[0];
        assert_eq!(phase.cell(0, kernels), cell(1, 5_000, 5_000), "by the call");
        assert_eq!(phase.cell(1, kernels), cell(1, 6_000, 6_000), "by the operation");
        assert_eq!(phase.without_layer[kernels], cell(2, 15_000, 15_000));
        let sum = |total: i64| WorkSum { count: u64::from(total > 0), total };
        let expected = UnlayeredWork { by_graph: sum(7_000), outside_layers: sum(0), unknown_launch: sum(8_000) };
        assert_eq!(layers.unlayered, expected);
        assert_eq!(layers.unlayered.all(), WorkSum { count: 2, total: 15_000 });
    }

    #[test]
    fn kernels_without_any_layer_are_counted() {
        let trace = test_traces::trace(&[("0", "7", "kernel", "gemm", 0, 10), ("1", "1", "cpu_op", "aten::mm", 0, 9)]);
        let layers = found(&trace, LayerSource::Auto, &[]);
        assert_eq!(layers.layers, [0; 0]);
        assert_eq!(layers.unlayered.unknown_launch, WorkSum { count: 1, total: 10 });
    }
}
