//! Options of a flight recorder.

use crate::flight::triggers::Predicate;
use ferrum_trace_model::settings::{DumpLimits, Trigger};

/// Options of a flight recorder.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlightOptions {
    pub dumps: DumpLimits,
    pub triggers: Vec<Trigger>,
    pub predicates: Vec<Predicate>,
}
