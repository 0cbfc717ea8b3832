//! Time by layer of a model and category.

use crate::structure::nesting::Nesting;
use crate::structure::select::{Enclosing, Glob, Selected};
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::hash::Hash;

/// The argument that states the layer of a slice. It must be loaded for [`LayerSource::Arg`] to work.
pub const LAYER_ARG: &str = "layer";

/// Source of the layer of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayerSource {
    /// The first of the other sources, in their order, that finds more than one layer; [`Name`](Self::Name) if none
    /// does. Track ids count only if they are consecutive numbers from 0 or 1: thread ids are no layers.
    #[default]
    Auto,
    /// The argument [`LAYER_ARG`] of the slice or of an enclosing one: a number, or a text that contains a layer as a
    /// name does.
    Arg,
    /// The name of the slice or of an enclosing one, for example `model.layers.12.self_attn`.
    Name,
    /// The id of the track, if it is a number.
    Tid,
}

/// Options of [`layers`].
#[derive(Clone, Debug, Default)]
pub struct LayersOptions {
    /// The source of the layers.
    pub source: LayerSource,
    /// Phases to separate: patterns for the name of an enclosing slice. Empty for the whole trace.
    pub phases: Vec<Glob>,
}

/// Time by layer and category.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// The source that was used; never [`LayerSource::Auto`].
    pub source: LayerSource,
    /// The numbers of the layers, ascending: the rows.
    pub layers: Vec<u32>,
    /// The categories of slices, the one with the most self time in layers first: the columns.
    pub categories: Vec<StringId>,
    /// One table per phase.
    pub phases: Vec<PhaseLayers>,
}

/// Time by layer and category, in one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseLayers {
    /// The pattern of the phase; `None` is all of the trace.
    pub phase: Option<String>,
    /// Number of slices that match the pattern, which is how often the phase occurred. Zero if there is no pattern.
    pub n_enclosing: usize,
    /// Slices that belong to no layer, one cell per category.
    pub without_layer: Vec<Cell>,
    /// The cells that are not empty, by row and column. Most cells are empty, so a full table would be large.
    cells: HashMap<(u32, u32), Cell>,
}

impl PhaseLayers {
    /// Returns the cell of a row and a column, by their indices in [`Layers::layers`] and [`Layers::categories`].
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
        sum((0..self.categories.len()).map(|column| phase.cell(row, column)))
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

/// Sums the selected slices of a trace by layer and category.
pub fn layers(trace: &Trace, nesting: &Nesting, selected: &Selected, options: &LayersOptions) -> Layers {
    let (source, layer_of) = find_layers(trace, nesting, options.source);
    let mut layers: Vec<u32> = selected.iter().map(|slice| layer_of[slice]).filter(|&layer| layer != NONE).collect();
    layers.sort_unstable();
    layers.dedup();
    let categories = categories(trace, nesting, selected, &layer_of);
    let table =
        Table { trace, nesting, selected, layer_of: &layer_of, rows: places(&layers), columns: places(&categories) };
    let phases = match &options.phases[..] {
        [] => vec![table.fill(None)],
        phases => phases.iter().map(|phase| table.fill(Some(phase))).collect(),
    };
    Layers { source, layers, categories, phases }
}

/// No layer.
pub(crate) const NO_LAYER: u32 = u32::MAX;
const NONE: u32 = NO_LAYER;

/// Returns the layer of each slice, or [`NO_LAYER`]; from the source that [`LayerSource::Auto`] finds, except for track
/// ids. The argument [`LAYER_ARG`] must be loaded.
pub(crate) fn layer_of_each(trace: &Trace, nesting: &Nesting) -> Vec<u32> {
    match find_layers(trace, nesting, LayerSource::Auto) {
        (LayerSource::Tid, layer_of) => vec![NO_LAYER; layer_of.len()],
        (_, layer_of) => layer_of,
    }
}

/// Returns the index of each element.
fn places<T: Copy + Eq + Hash>(list: &[T]) -> HashMap<T, u32> {
    list.iter().zip(0..).map(|(&element, place)| (element, place)).collect()
}

/// Returns the categories of selected slices, the one with the most self time in layers first.
fn categories(trace: &Trace, nesting: &Nesting, selected: &Selected, layer_of: &[u32]) -> Vec<StringId> {
    let mut in_layers: HashMap<StringId, i64> = HashMap::new();
    for slice in selected.iter() {
        let sum = in_layers.entry(trace.slices.category[slice]).or_default();
        if layer_of[slice] != NONE {
            *sum = sum.saturating_add(nesting.self_time[slice]);
        }
    }
    let mut categories: Vec<StringId> = in_layers.keys().copied().collect();
    categories.sort_by_key(|category| (Reverse(in_layers[category]), trace.strings.get(*category)));
    categories
}

/// Inputs for the table of a phase.
struct Table<'a> {
    trace: &'a Trace,
    nesting: &'a Nesting,
    selected: &'a Selected,
    layer_of: &'a [u32],
    rows: HashMap<u32, u32>,
    columns: HashMap<StringId, u32>,
}

impl Table<'_> {
    fn fill(&self, phase: Option<&Glob>) -> PhaseLayers {
        let enclosing = phase.map(|phase| Enclosing::new(self.trace, std::slice::from_ref(phase)));
        let mut filled = PhaseLayers {
            phase: phase.map(|phase| phase.as_str().to_owned()),
            n_enclosing: enclosing.as_ref().map_or(0, Enclosing::len),
            without_layer: vec![Cell::default(); self.columns.len()],
            cells: HashMap::new(),
        };
        let is_in = |slice| enclosing.as_ref().is_none_or(|enclosing| enclosing.holds(self.trace, slice));
        for slice in self.selected.iter().filter(|&slice| is_in(slice)) {
            let column = self.columns[&self.trace.slices.category[slice]];
            let cell = match self.rows.get(&self.layer_of[slice]) {
                Some(&row) => filled.cells.entry((row, column)).or_default(),
                None => &mut filled.without_layer[column as usize],
            };
            let (self_time, total) = (self.nesting.self_time[slice], self.trace.slices.duration[slice]);
            cell.add(Cell { count: 1, self_time, total });
        }
        filled
    }
}

/// Returns the layer of each slice, and the source that was used.
fn find_layers(trace: &Trace, nesting: &Nesting, source: LayerSource) -> (LayerSource, Vec<u32>) {
    match source {
        LayerSource::Arg => (source, by_arg(trace, nesting)),
        LayerSource::Name => (source, by_name(trace, nesting)),
        LayerSource::Tid => (source, by_tid(trace)),
        LayerSource::Auto => {
            let layer_of = by_arg(trace, nesting);
            if has_several(&layer_of) {
                return (LayerSource::Arg, layer_of);
            }
            let layer_of = by_name(trace, nesting);
            if !has_several(&layer_of) {
                let by_tid = by_tid(trace);
                if has_several(&by_tid) && are_consecutive(&by_tid) {
                    return (LayerSource::Tid, by_tid);
                }
            }
            (LayerSource::Name, layer_of)
        }
    }
}

fn has_several(layer_of: &[u32]) -> bool {
    let mut layers = layer_of.iter().filter(|&&layer| layer != NONE);
    layers.next().is_some_and(|first| layers.any(|layer| layer != first))
}

/// Returns true if every number from 0 or 1 to the largest occurs.
fn are_consecutive(layer_of: &[u32]) -> bool {
    let layers: BTreeSet<u32> = layer_of.iter().copied().filter(|&layer| layer != NONE).collect();
    let (first, last) = (layers.first().copied().unwrap_or(0), layers.last().copied().unwrap_or(0));
    first <= 1 && layers.len() == (last - first) as usize + 1
}

fn by_arg(trace: &Trace, nesting: &Nesting) -> Vec<u32> {
    let Some(column) = trace.args.iter().find(|column| column.key == LAYER_ARG) else {
        return vec![NONE; trace.slices.len()];
    };
    let mut known: HashMap<StringId, u32> = HashMap::new();
    let mut layer_of_value = |value: StringId| {
        *known.entry(value).or_insert_with(|| {
            let text = trace.strings.get(value);
            number(text).or_else(|| layer_in(text)).unwrap_or(NONE)
        })
    };
    inherit(trace, nesting, |slice| column.of(trace.slices.order[slice]).map_or(NONE, &mut layer_of_value))
}

fn by_name(trace: &Trace, nesting: &Nesting) -> Vec<u32> {
    let mut known: HashMap<StringId, u32> = HashMap::new();
    inherit(trace, nesting, |slice| {
        let name = trace.slices.name[slice];
        *known.entry(name).or_insert_with(|| layer_in(trace.strings.get(name)).unwrap_or(NONE))
    })
}

fn by_tid(trace: &Trace) -> Vec<u32> {
    let of_track = |tid: Option<StringId>| number(trace.strings.get(tid?));
    let layers: Vec<u32> = trace.tracks.iter().map(|(_, track)| of_track(track.tid).unwrap_or(NONE)).collect();
    trace.slices.track.iter().map(|track| layers[track.index()]).collect()
}

/// Gives each slice its own layer, or that of the nearest enclosing slice on its track.
fn inherit(trace: &Trace, nesting: &Nesting, mut own: impl FnMut(usize) -> u32) -> Vec<u32> {
    let mut layer_of = vec![NONE; trace.slices.len()];
    for (track, _) in trace.tracks.iter() {
        nesting.walk(trace, track, |slice, around| {
            let own = own(slice as usize);
            layer_of[slice as usize] = match around.last() {
                Some(&parent) if own == NONE => layer_of[parent as usize],
                _ => own,
            };
        });
    }
    layer_of
}

/// Parses a number that consists of digits only.
fn number(text: &str) -> Option<u32> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().ok()).flatten().filter(|&layer| layer != NONE)
}

/// Returns the first layer in a name: a number after a word for layers.
///
/// | spelling | seen in |
/// | --- | --- |
/// | `model.layers.12.self_attn`, `layers[12]`, `layer_12`, `layer 12`, `layer12` | Hugging Face, vLLM, SGLang, engines of all kinds |
/// | `transformer.h.12.attn` | GPT-2 and similar models |
/// | `blk.12.attn_q`, `blocks.12.attn` | GGUF, vision transformers |
/// | `nn.Module: LlamaDecoderLayer_12`, `nn.Module: T5Block_3` | torch.profiler with modules |
///
/// The number must not be followed by a letter: `h.3x3` is not a layer.
fn layer_in(name: &str) -> Option<u32> {
    let bytes = name.as_bytes();
    let is_module = name.starts_with("nn.Module: ");
    let mut at = 0;
    while at < bytes.len() {
        let n_digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let after = at + n_digits;
        if n_digits > 0
            && !bytes.get(after).is_some_and(u8::is_ascii_alphabetic)
            && is_word_for_layer(&name[..at], is_module)
            && let Some(layer) = number(&name[at..after])
        {
            return Some(layer);
        }
        at = after + 1;
    }
    None
}

/// Returns true if the text before a number marks it as the number of a layer.
fn is_word_for_layer(before: &str, is_module: bool) -> bool {
    let text = before.trim_end_matches(['.', '_', '/', '[', ' ', ':', '=', '-']);
    let separator = &before[text.len()..];
    let word_at = text.rfind(|letter: char| !letter.is_ascii_alphabetic()).map_or(0, |at| at + 1);
    // The last letter may be longer than a byte if the word is not ASCII.
    let Some(word) = text.get(word_at..) else { return false };
    match word {
        "layers" => separator.len() == 1,
        "layer" => separator.len() <= 1,
        "h" | "blk" | "block" | "blocks" => separator == ".",
        _ => is_module && separator == "_" && (word.ends_with("Layer") || word.ends_with("Block")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_traces;
    use ferrum_trace_model::ArgColumn;

    #[test]
    fn layers_are_found_in_names() {
        let layers = [
            ("layers.12.attn", 12),
            ("model.layers.7", 7),
            ("model.layers.0.self_attn.layers.9", 0),
            ("transformer.h.3.mlp", 3),
            ("h.31", 31),
            ("blk.12.attn_q.weight", 12),
            ("vision.blocks.4.norm1", 4),
            ("layers[5]", 5),
            ("layer_6 attn", 6),
            ("layer 8", 8),
            ("layer12", 12),
            ("attn/layer=2", 2),
            ("nn.Module: Qwen2DecoderLayer_9", 9),
            ("nn.Module: BertLayer_0", 0),
            ("nn.Module: T5Block_3", 3),
            ("int8 gemm, layers.4", 4),
            ("größer.layers.1", 1),
        ];
        for (name, layer) in layers {
            assert_eq!(layer_in(name), Some(layer), "{name}");
        }
    }

    #[test]
    fn names_without_a_layer_have_none() {
        let names = [
            "",
            "12",
            "gemm_128",
            "layers",
            "layers.x",
            "players.3",
            "h.3x3",
            "conv_h3",
            "gemm_block_128",
            "nn.Module: LayerNorm_12",
            "nn.Module: Linear_5",
            "CustomLayer_4",
            "layers..4",
            "layers.99999999999",
            "ölayers.1",
        ];
        for name in names {
            assert_eq!(layer_in(name), None, "{name}");
        }
    }

    fn found(trace: &Trace, source: LayerSource, phases: &[&str]) -> Layers {
        let phases = phases.iter().map(|&phase| Glob::new(phase)).collect();
        let options = LayersOptions { source, phases };
        layers(trace, &Nesting::of(trace), &Selected::all(trace), &options)
    }

    fn cell(count: u64, self_time: i64, total: i64) -> Cell {
        Cell { count, self_time, total }
    }

    fn category_names(trace: &Trace, layers: &Layers) -> Vec<String> {
        layers.categories.iter().map(|&category| trace.strings.get(category).to_owned()).collect()
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
        let values = ["4", "model.layers.5", "none"].map(|text| trace.strings.intern(text));
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
    fn the_cells_sum_to_the_busy_time() {
        let trace = two_layers();
        let layers = found(&trace, LayerSource::Name, &[]);
        let all = &layers.phases[0];
        let without = sum(all.without_layer.iter().copied());
        assert_eq!(all.sum().self_time + without.self_time, Nesting::of(&trace).total_self());
        assert_eq!(all.sum().count + without.count, trace.slices.len() as u64);
    }
}
