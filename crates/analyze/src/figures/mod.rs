//! Figures of a trace: counts, sums and percentiles of its events.

pub(crate) mod async_count;
pub(crate) mod async_summary;
pub(crate) mod contents;
pub(crate) mod counters;
pub(crate) mod flows;
pub(crate) mod gpu;
pub(crate) mod instants;
pub(crate) mod keys;
pub(crate) mod labels;
pub(crate) mod layer_search;
pub(crate) mod layers;
pub(crate) mod percentile;
pub(crate) mod summary;
pub(crate) mod unlayered_work;
