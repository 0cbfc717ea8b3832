//! Comparison of two engines by classes of operations.
//!
//! The traces of two engines have few names in common. The rules of [`ops`](crate::ops) map the names of both to the
//! same classes. [`profile()`] sums the time of one trace by phase and class.

mod class_times;
mod launchers;
mod layer_count;
mod profile;
mod slice_classes;

pub use class_times::{ClassTime, ClassTimes, UnnamedTime};
pub use layer_count::{LayerCount, LayerEvidence};
pub use profile::{EngineProfile, PhaseProfile, TimedOn, profile, profile_args};
