//! Analysis of traces: figures, steps, requests, checks, repairs, conversions and merges.
//!
//! Functions from a [`Trace`](ferrum_trace_model::Trace), or from a stream of events, to figures or to another file.
//! This crate prints nothing and opens no file.
//!
//! Modules depend on each other in one direction only. Each may use those above it:
//!
//! ```text
//! opener     function that opens a file for each pass
//! kineto     names that PyTorch's profiler uses
//! structure  nesting, lanes, async operations, gaps, selections
//! figures    counts, sums and percentiles
//! ops        classification of kernels and operations
//! steps      steps of an engine
//! requests   requests to an engine
//! check      rules about what viewers accept
//! rewrite    parts that every writer needs
//! repair     a file that all viewers accept
//! convert    other formats
//! merge      several files in one
//! ```

pub mod check;
pub mod convert;
mod figures;
mod kineto;
pub mod merge;
mod opener;
mod ops;
pub mod repair;
mod requests;
mod rewrite;
mod steps;
mod structure;
#[cfg(test)]
mod test_traces;

pub use figures::async_count::{AsyncCount, count_asyncs};
pub use figures::async_summary::{AsyncRest, AsyncRow, AsyncSummary, summarize_asyncs, summarize_asyncs_labeled};
pub use figures::contents::{Contents, contents};
pub use figures::counters::{CounterSeries, counters};
pub use figures::flows::{FlowCount, count_flows};
pub use figures::gpu::{Device, Stream, devices};
pub use figures::instants::{InstantRow, instants};
pub use figures::keys::{GroupBy, Key, LabelSets};
pub use figures::labels::{Label, Labels};
pub use figures::layer_search::{LAYER_ARG, LayerSource};
pub use figures::layers::{Cell, LayerColumns, Layers, LayersOptions, PhaseLayers, layers};
pub use figures::percentile::Distribution;
pub use figures::summary::{Rest, Row, SortBy, Summary, SummaryOptions, summarize, summarize_labeled};
pub use opener::Opener;
pub use requests::{
    Figure, Figures, Part, Parts, REQUEST_ARGS, Request, Requests, RequestsOptions, Slo, SloMetric, SloViolations,
    Stage, StageKind, requests,
};
pub use rewrite::rank::rank_in;
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
