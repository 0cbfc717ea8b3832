//! Comparison of two engines by classes of operations.
//!
//! The traces of two engines have few names in common. The rules of [`ops`](crate::ops) map the names of both to the
//! same classes. [`profile()`] sums the time of one trace by phase and class, and [`compare_engines`] compares two such
//! profiles per step and per token. A ratio that has no meaning is left out, and an [`EngineConcern`] has the reason.

mod class_times;
mod comparison;
mod concern;
mod layer_count;
mod profile;
mod sides;
mod slice_classes;
mod surroundings;

pub use class_times::{ClassTime, ClassTimes, UnnamedTime};
pub use comparison::{ComparedRow, EngineComparison, PhaseComparison, RowFigures, RowSubject, compare_engines};
pub use concern::EngineConcern;
pub use layer_count::{LayerCount, LayerEvidence};
pub use profile::{EngineProfile, PhaseProfile, TimedOn, profile, profile_args};
pub use sides::{Side, Sides};
