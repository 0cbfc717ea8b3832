//! The critical path of a window, with everything that is reported about it.

use super::bound::Bound;
use super::build::{Built, build};
use super::categories::Categories;
use super::choice::{Chosen, PathError, PathSubject, PathWindow, choose};
use super::graph::Graph;
use super::off_path::{OffPathRow, off_path};
use super::piece::Piece;
use super::retime::{Order, Retimed};
use super::timing::Recorded;
use super::totals::{PathRow, PathTotals, StepsRow, StepsRows};
use super::walk::walk;
use super::what_if::{Changes, MedianChange, Prediction, WhatIf, WithoutRow};
use super::window::Window;
use super::works::Launch;
use crate::figures::layer_search::{NONE as NO_LAYER, layer_of_each};
use crate::steps::{Measured, StepsOptions};
use crate::structure::nesting::Nesting;
use crate::structure::select::Selected;
use ferrum_trace_model::Trace;

/// Largest number of rows whose drag is computed.
const DRAGS_MAX: usize = 12;
/// Number of nodes that are computed again for all drags together.
const DRAG_NODES_MAX: usize = 8_000_000;

/// Options of [`path()`].
#[derive(Clone, Debug, Default)]
pub struct PathOptions {
    /// The window.
    pub window: PathWindow,
    /// Changes to predict.
    pub what_if: Option<WhatIf>,
    /// True if the file lists a device, see [`names_device`](crate::names_device).
    pub names_device: bool,
}

/// A critical path. Times are nanoseconds.
#[derive(Clone, Debug)]
pub struct CriticalPath {
    /// Subject of the window.
    pub subject: PathSubject,
    /// Begin of the window.
    pub from: i64,
    /// End of the window.
    pub to: i64,
    /// Pieces, in time order. They cover the window without gap or overlap.
    pub pieces: Vec<Piece>,
    /// Sums over the pieces.
    pub totals: PathTotals,
    /// Drags of the first rows of the totals: the time by which the window would be shorter if they took no time.
    pub drags: Vec<i64>,
    /// The resource that the window is bound by.
    pub bound: Bound,
    /// Rows over the paths of all steps, the largest sum first.
    pub steps: Vec<StepsRow>,
    /// Number of steps.
    pub n_steps: usize,
    /// Work in the window that is not on the path, the least slack first.
    pub off_path: Vec<OffPathRow>,
    /// Result of the changes.
    pub prediction: Option<Prediction>,
}

impl CriticalPath {
    /// Returns the length of the window.
    pub fn duration(&self) -> i64 {
        self.to.saturating_sub(self.from)
    }

    /// Returns the drag of a row of the totals, if it was computed.
    pub fn drag(&self, row: &PathRow) -> Option<i64> {
        let place = self.totals.rows.iter().position(|it| it == row)?;
        self.drags.get(place).copied()
    }
}

/// Finds the critical path of a window. The arguments [`PATH_ARGS`](super::PATH_ARGS) must be loaded with the trace.
///
/// # Errors
///
/// Returns an error if the trace does not have the window, or nothing has the name of a change.
pub fn path(trace: &Trace, nesting: &Nesting, options: &PathOptions) -> Result<CriticalPath, PathError> {
    let built = build(trace, nesting);
    let steps_options = StepsOptions { names_device: options.names_device, ..StepsOptions::default() };
    let measured = Measured::of(trace, nesting, &Selected::all(trace), &steps_options);
    let windows = Window::of_steps(trace, &built, &measured);
    let Chosen { subject, window } = choose(trace, nesting, &built, &measured, &windows, options)?;
    let mut analysis = Analysis::new(trace, nesting, &built);
    let mut found = analysis.path(subject, &window);
    let mut steps = StepsRows::default();
    for window in &windows {
        steps.add(trace, &pieces_of(&built, window));
    }
    (found.steps, found.n_steps) = (steps.into_rows(), windows.len());
    if let Some(what_if) = &options.what_if {
        found.prediction = Some(analysis.predict(nesting, &window, &windows, what_if).map_err(PathError::Change)?);
    }
    Ok(found)
}

/// Returns the recorded path of a window.
pub(super) fn pieces_of(built: &Built, window: &Window) -> Vec<Piece> {
    walk(&built.graph, &Recorded(&built.graph), (window.from, window.to), window.last(built))
}

/// Tables that the analysis of each window needs.
struct Analysis<'a> {
    trace: &'a Trace,
    built: &'a Built,
    categories: Categories,
    layers: Vec<u32>,
}

impl<'a> Analysis<'a> {
    fn new(trace: &'a Trace, nesting: &Nesting, built: &'a Built) -> Self {
        let mut layers = layer_of_each(trace, nesting);
        // Work without a layer has that of its launch.
        for work in &built.works.all {
            if let Launch::Call(call) = work.launch
                && layers[work.slice as usize] == NO_LAYER
            {
                layers[work.slice as usize] = layers[call as usize];
            }
        }
        Self { trace, built, categories: Categories::new(), layers }
    }

    fn totals(&mut self, pieces: &[Piece]) -> PathTotals {
        let layers = &self.layers;
        let layer_of = |slice: u32| layers.get(slice as usize).copied().filter(|&layer| layer != NO_LAYER);
        PathTotals::of(self.trace, &mut self.categories, &layer_of, pieces)
    }

    fn path(&mut self, subject: PathSubject, window: &Window) -> CriticalPath {
        let pieces = pieces_of(self.built, window);
        let totals = self.totals(&pieces);
        let order = Order::of(&self.built.graph, window);
        CriticalPath {
            subject,
            from: window.from,
            to: window.to,
            drags: self.drags(window, &order, &totals),
            bound: Bound::of(self.trace, &mut self.categories, &pieces),
            steps: Vec::new(),
            n_steps: 0,
            off_path: off_path(self.trace, &self.built.graph, window, &order, &pieces),
            prediction: None,
            pieces,
            totals,
        }
    }

    fn drags(&self, window: &Window, order: &Order, totals: &PathTotals) -> Vec<i64> {
        let n_rows = (DRAG_NODES_MAX / order.nodes.len().max(1)).clamp(1, DRAGS_MAX);
        let drag = |row: &PathRow| {
            let change = WithoutRow { trace: self.trace, built: self.built, kind: row.kind, name: row.name };
            let (end, _) = Retimed::of(&self.built.graph, window, order, &change).end(window);
            window.to.saturating_sub(end).max(0)
        };
        totals.rows.iter().take(n_rows).map(drag).collect()
    }

    fn predict(
        &mut self,
        nesting: &Nesting,
        window: &Window,
        steps: &[Window],
        what_if: &WhatIf,
    ) -> Result<Prediction, String> {
        let graph = &self.built.graph;
        let change = Changes::of(self.trace, nesting, self.built, window, &mut self.categories, what_if)?;
        let order = Order::of(graph, window);
        let retimed = Retimed::of(graph, window, &order, &change);
        let (end, last) = retimed.end(window);
        let pieces = walk(graph, &retimed, (window.from, end), last);
        let totals = self.totals(&pieces);
        let bound = Bound::of(self.trace, &mut self.categories, &pieces);
        let steps = median_change(graph, steps, order, &change);
        Ok(Prediction { duration: end.saturating_sub(window.from), steps, pieces, totals, bound })
    }
}

/// Returns the median length of steps before and after a change.
fn median_change(graph: &Graph, steps: &[Window], mut order: Order, change: &Changes<'_>) -> Option<MedianChange> {
    let mut after = Vec::with_capacity(steps.len());
    for window in steps {
        order = order.with_window(graph, window);
        let (end, _) = Retimed::of(graph, window, &order, change).end(window);
        after.push(end.saturating_sub(window.from));
    }
    let before = steps.iter().map(Window::duration).collect();
    Some(MedianChange { before: median(before)?, after: median(after)? })
}

fn median(mut times: Vec<i64>) -> Option<i64> {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 2).copied()
}
