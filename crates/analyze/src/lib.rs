//! Analysis of traces: figures, steps, requests, checks, repairs, conversions and merges.
//!
//! Functions from a [`Trace`](ferrum_trace_model::Trace), or from a stream of events, to figures or to another file.
//! This crate prints nothing and opens no file.
//!
//! Modules depend on each other in one direction only. Each may use those above it:
//!
//! ```text
//! visible    texts without hidden characters
//! xml        text in XML and HTML
//! stats      statistics of runs: tests, intervals, warm-up, modes
//! opener     function that opens a file for each pass
//! kineto     names that PyTorch's profiler uses
//! structure  nesting, lanes, async operations, gaps, selections
//! launches   device work, and the slices that launched it
//! figures    counts, sums and percentiles
//! ops        classification of kernels and operations
//! steps      steps of an engine
//! captures   names of captured graphs for the kernels of their replays
//! requests   requests to an engine
//! path       critical path, and what-if
//! roofline   FLOP, bytes and rates of operations
//! engines    comparison of two engines by classes of operations
//! runs       figures of runs, for comparisons
//! compare    differences between runs
//! check      rules about what viewers accept
//! rewrite    parts that every writer needs
//! path_trace a trace with its critical path
//! repair     a file that all viewers accept
//! flame_graph  writer of flame graphs
//! convert    other formats
//! merge      several files in one
//! ```

mod captures;
pub mod check;
pub mod compare;
pub mod convert;
mod engines;
mod figures;
mod flame_graph;
mod kineto;
mod launches;
pub mod merge;
mod opener;
mod ops;
mod path;
mod path_trace;
pub mod repair;
mod requests;
mod rewrite;
mod roofline;
pub mod runs;
pub mod stats;
mod steps;
mod structure;
#[cfg(test)]
mod test_traces;
mod visible;
mod xml;

pub use captures::{
    CAPTURE_ARGS, CapturedGraph, CapturedNode, MODULE_ARG, Mismatch, NodeKind, OPERATION_ARG, ReplayedOperations,
    SHAPES_ARG, Transfer, captured_graphs, transfer, transfer_operations,
};
pub use engines::{
    ClassTime, ClassTimes, ComparedRow, EngineComparison, EngineConcern, EngineProfile, LayerCount, LayerEvidence,
    PhaseComparison, PhaseProfile, RowFigures, RowSubject, Side, Sides, TimedOn, UnnamedTime, compare_engines, profile,
    profile_args,
};
pub use figures::async_count::{AsyncCount, count_asyncs};
pub use figures::async_summary::{AsyncRest, AsyncRow, AsyncSummary, summarize_asyncs, summarize_asyncs_labeled};
pub use figures::contents::{Contents, contents};
pub use figures::counters::{CounterSeries, counters};
pub use figures::flows::{FlowCount, count_flows};
pub use figures::gpu::{Device, Stream, devices};
pub use figures::instants::{InstantRow, instants};
pub use figures::keys::{GroupBy, Key, LabelSets};
pub use figures::labels::{Label, Labels};
pub use figures::layer_search::{LAYER_ARG, LAYER_ARGS, LayerSource};
pub use figures::layers::{Cell, LayerColumns, Layers, LayersOptions, PhaseLayers, layers};
pub use figures::percentile::Distribution;
pub use figures::summary::{Rest, Row, SortBy, Summary, SummaryOptions, summarize, summarize_labeled};
pub use figures::unlayered_work::{UnlayeredWork, WorkSum};
pub use kineto::{DEVICE_PROPERTIES, DISTRIBUTED as DISTRIBUTED_INFO};
pub use opener::Opener;
pub use ops::{BUILT_IN_RULES, ClassId, RuleError, Rules};
pub use path::{
    Bound, CategoryTime, CriticalPath, KindTime, LayerPathTime, MedianChange, OffPathRow, PATH_ARGS, PathError,
    PathOptions, PathRow, PathSubject, PathTotals, PathWindow, Piece, PieceKind, Prediction, Resource, StepsRow,
    WhatIf, path,
};
pub use path_trace::write_with_path;
pub use requests::{
    Figure, Figures, Part, Parts, REQUEST_ARGS, Request, Requests, RequestsOptions, Slo, SloMetric, SloViolations,
    Stage, StageKind, requests,
};
pub use rewrite::rank::rank_in;
pub use roofline::{
    BOUND_SHARE_MIN, BUILT_IN_DEVICES, DataType, DeviceSpec, DeviceTable, DeviceTableError, Missing, OpKind, OpWork,
    PhaseUtilization, Roof, RoofTime, Roofline, RooflineBound, RooflineOptions, RooflineRow, StepUtilization, Unit,
    UnmodelledRow, Utilization, roofline, roofline_args,
};
pub use steps::{
    Attribution, BatchRange, DeviceTime, Difference, DifferenceSubject, KeyedStepGroup, LayerTime, Mark, NameTime,
    OpTime, OpTimes, STEP_ARGS, SlowStep, Split, Step, StepGroup, StepKey, StepKeyValue, StepLabels, StepSource, Steps,
    StepsOptions, add_mark_args, group_steps, names_device, step_labels, steps,
};
pub use structure::arg_filter::{ArgFilter, arg_values};
pub use structure::async_ops::{ASYNC_ARGS, AsyncOp, BusyTime, async_ops};
pub use structure::gaps::{GapPlace, GapSum};
pub use structure::glob::Glob;
pub use structure::nesting::{Nesting, TrackNesting};
pub use structure::no_match::{Condition, NoMatch, explain_no_match};
pub use structure::select::{Selected, Selection};
pub use visible::{REPLACEMENT, is_hidden, visible};
pub use xml::escape_xml;
