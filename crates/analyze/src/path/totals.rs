//! Sums over the pieces of a path.

use super::categories::Categories;
use super::piece::{Piece, PieceKind};
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::hash::Hash;

/// Time of the pieces of one kind and name. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRow {
    /// Kind of the pieces.
    pub kind: PieceKind,
    /// Name of their slices, if any.
    pub name: Option<StringId>,
    /// Number of pieces.
    pub count: u64,
    /// Sum of their lengths.
    pub total: i64,
}

/// Time of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindTime {
    /// The kind.
    pub kind: PieceKind,
    /// Number of pieces.
    pub count: u64,
    /// Sum of their lengths.
    pub total: i64,
}

/// Time of host or device work of one category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryTime {
    /// Kind: host or device work.
    pub kind: PieceKind,
    /// The category: an operation of the vocabulary, or a class of the taxonomy; `other` if there is none.
    pub category: String,
    /// Number of pieces.
    pub count: u64,
    /// Sum of their lengths.
    pub total: i64,
}

/// Time of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerPathTime {
    /// The layer; `None` for pieces without one.
    pub layer: Option<u32>,
    /// Number of pieces.
    pub count: u64,
    /// Sum of their lengths.
    pub total: i64,
}

/// Sums over the pieces of a path, each list with the largest sum first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathTotals {
    /// By kind.
    pub kinds: Vec<KindTime>,
    /// By kind and name.
    pub rows: Vec<PathRow>,
    /// By category.
    pub categories: Vec<CategoryTime>,
    /// By layer, in the order of layers, pieces without a layer last. Empty if no piece has a layer.
    pub layers: Vec<LayerPathTime>,
}

impl PathTotals {
    /// Sums up pieces. `layer_of` has the layer of each slice.
    pub(super) fn of(
        trace: &Trace,
        categories: &mut Categories,
        layer_of: &impl Fn(u32) -> Option<u32>,
        pieces: &[Piece],
    ) -> Self {
        let kinds = sums(pieces.iter().map(|piece| (piece.kind, piece)));
        let names = sums(pieces.iter().map(|piece| (row_key(trace, piece), piece)));
        let mut by_class: HashMap<_, Sum> = HashMap::new();
        for piece in pieces.iter().filter(|piece| is_work(piece.kind)) {
            let class = piece.slice.and_then(|slice| categories.class(trace, slice));
            by_class.entry((piece.kind, class)).or_default().add(piece);
        }
        let of_class = |((kind, class), sum): (_, Sum)| {
            let category = categories.name(class).to_owned();
            CategoryTime { kind, category, count: sum.count, total: sum.total }
        };
        let mut found = Self {
            kinds: kinds.into_iter().map(|(kind, sum)| KindTime { kind, count: sum.count, total: sum.total }).collect(),
            rows: names.into_iter().map(|(key, sum)| row(key, sum)).collect(),
            categories: by_class.into_iter().map(of_class).collect(),
            layers: layers(layer_of, pieces),
        };
        found.kinds.sort_unstable_by_key(|it| (Reverse(it.total), it.kind));
        found.rows.sort_unstable_by_key(|it| (Reverse(it.total), it.kind, it.name));
        found.categories.sort_unstable_by(|one, other| {
            let key = |it: &CategoryTime| (Reverse(it.total), it.kind);
            key(one).cmp(&key(other)).then_with(|| one.category.cmp(&other.category))
        });
        found
    }

    /// Returns the time of a kind.
    pub fn of_kind(&self, kind: PieceKind) -> i64 {
        self.kinds.iter().filter(|it| it.kind == kind).fold(0, |sum: i64, it| sum.saturating_add(it.total))
    }

    /// Returns the time of all pieces whose cause is in the file.
    pub fn in_file(&self) -> i64 {
        let inside = self.kinds.iter().filter(|it| it.kind != PieceKind::OutsideFile);
        inside.fold(0, |sum: i64, it| sum.saturating_add(it.total))
    }

    /// Returns the share of a kind in the time whose cause is in the file.
    pub fn share(&self, kind: PieceKind) -> f64 {
        let whole = self.in_file();
        if whole == 0 { 0.0 } else { self.of_kind(kind) as f64 / whole as f64 }
    }
}

/// Kind and name of a piece.
pub(super) type RowKey = (PieceKind, Option<StringId>);

/// Returns the key of the row of a piece.
pub(super) fn row_key(trace: &Trace, piece: &Piece) -> RowKey {
    (piece.kind, piece.slice.map(|slice| trace.slices.name[slice as usize]))
}

fn row((kind, name): RowKey, sum: Sum) -> PathRow {
    PathRow { kind, name, count: sum.count, total: sum.total }
}

fn is_work(kind: PieceKind) -> bool {
    matches!(kind, PieceKind::HostWork | PieceKind::DeviceWork)
}

/// Number and time of pieces.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    total: i64,
}

impl Sum {
    fn add(&mut self, piece: &Piece) {
        self.count += 1;
        self.total = self.total.saturating_add(piece.duration());
    }
}

fn sums<'a, K: Hash + Eq>(pieces: impl Iterator<Item = (K, &'a Piece)>) -> HashMap<K, Sum> {
    let mut sums: HashMap<K, Sum> = HashMap::new();
    for (key, piece) in pieces {
        sums.entry(key).or_default().add(piece);
    }
    sums
}

fn layers(layer_of: &impl Fn(u32) -> Option<u32>, pieces: &[Piece]) -> Vec<LayerPathTime> {
    let by_layer = sums(pieces.iter().map(|piece| (piece.slice.and_then(layer_of), piece)));
    if by_layer.keys().all(Option::is_none) {
        return Vec::new();
    }
    let time = |(layer, sum): (Option<u32>, Sum)| LayerPathTime { layer, count: sum.count, total: sum.total };
    let mut layers: Vec<LayerPathTime> = by_layer.into_iter().map(time).collect();
    layers.sort_unstable_by_key(|it| (it.layer.is_none(), it.layer));
    layers
}

/// Rows summed over the paths of all steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepsRow {
    /// The row.
    pub row: PathRow,
    /// Number of steps on whose path it is.
    pub n_steps: u64,
}

/// Sums rows over steps.
#[derive(Debug, Default)]
pub(super) struct StepsRows {
    rows: HashMap<RowKey, (Sum, u64, usize)>,
    n_steps: usize,
}

impl StepsRows {
    /// Adds the path of a step.
    pub(super) fn add(&mut self, trace: &Trace, pieces: &[Piece]) {
        self.n_steps += 1;
        for piece in pieces {
            let (sum, n_steps, latest) = self.rows.entry(row_key(trace, piece)).or_default();
            sum.add(piece);
            *n_steps += u64::from(*latest != self.n_steps);
            *latest = self.n_steps;
        }
    }

    /// Returns the rows, the largest sum first.
    pub(super) fn into_rows(self) -> Vec<StepsRow> {
        let rows = self.rows.into_iter().map(|(key, (sum, n_steps, _))| StepsRow { row: row(key, sum), n_steps });
        let mut rows: Vec<StepsRow> = rows.collect();
        rows.sort_unstable_by_key(|it| (Reverse(it.row.total), it.row.kind, it.row.name));
        rows
    }
}
