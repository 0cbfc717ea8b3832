//! Figures of runs: a trace is reduced to the figures that comparisons need.
//!
//! [`measure`] makes of a trace a [`Run`], a few figures, and a [`Profile`], the time of its steps by part. Both are
//! small, so that a side of a comparison may have a thousand runs, and independent of the trace.

mod facts;
mod measure;
pub mod metric;
mod origin;
mod outliers;
mod parts;
mod profile;
mod run;
mod stack_collector;
mod stacks;
mod stratum;

pub use facts::{LayerCount, LossCounts, RunFacts};
pub use measure::{MeasureOptions, MeasuredTrace, TraceInfo, measure};
pub use profile::{PartKey, PartSum, Place, Profile, StratumProfile, Unit};
pub use run::{PhaseFigures, Run, StratumFigures};
pub use stacks::{N_STACKS_MAX, Stack, StackSum, StackSums, Stacks};
pub use stratum::Stratum;
