//! What a trace says.
//!
//! Functions from a [`Trace`](ferrum_trace_model::Trace), or from a stream of events, to figures. This crate prints nothing
//! and opens no file.

mod ancestors;
mod asyncs;
pub mod check;
mod contents;
pub mod convert;
mod counters;
mod fields;
mod flows;
mod free_numbers;
mod gaps;
mod gpu;
mod instants;
mod kineto;
mod lanes;
mod layers;
pub mod merge;
mod nesting;
mod no_match;
mod ops;
mod percentile;
mod rank;
pub mod repair;
mod requests;
#[cfg(test)]
mod sample;
mod select;
mod share_out;
mod similar;
mod steps;
mod summary;

pub use asyncs::{
    ASYNC_ARGS, AsyncCount, AsyncOp, AsyncRest, AsyncRow, AsyncSummary, BusyTime, async_ops, count_asyncs,
    summarize_asyncs,
};
pub use contents::{Contents, contents};
pub use counters::{CounterSeries, counters};
pub use flows::{FlowCount, count_flows};
pub use gaps::{GapPlace, GapSum};
pub use gpu::{Device, Stream, devices};
pub use instants::{InstantRow, instants};
pub use layers::{Cell, LAYER_ARG, LayerSource, Layers, LayersOptions, PhaseLayers, layer_in, layers};
pub use nesting::{Nesting, TrackNesting};
pub use no_match::{Condition, NoMatch, explain_no_match};
pub use ops::op_in;
pub use percentile::{Distribution, nearest_rank};
pub use rank::rank_in;
pub use requests::{
    Figure, Figures, Part, Parts, REQUEST_ARGS, Request, Requests, RequestsOptions, Slo, SloMetric, Stage, StageKind,
    requests,
};
pub use select::{Enclosing, Glob, Selected, Selection};
pub use steps::{
    Attribution, BatchRange, DeviceTime, Difference, Mark, NameTime, OpTime, OpTimes, STEP_ARGS, SlowStep, Split, Step,
    StepGroup, StepSource, Steps, StepsOptions, What, names_device, steps,
};
pub use summary::{GroupBy, Key, Rest, Row, SortBy, Summary, SummaryOptions, summarize};

/// Opens a file anew, for each pass over it.
pub type Opener<'a> = &'a dyn Fn() -> Result<Box<dyn std::io::Read + Send>, ferrum_trace_format::Error>;
