//! Computes the values of counters.

use super::event::TrackEvent;
use super::tracks::Counter;
use ferrum_trace_model::Value;
use std::collections::HashMap;

/// Maximum number of incremental counters.
const COUNTERS_MAX: usize = 1 << 16;

/// Sums of incremental counters, by sequence and track.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    sums: HashMap<(u32, u64), i64>,
}

impl Sums {
    /// Returns the value of a counter from an event, if it has one.
    pub(crate) fn value(
        &mut self,
        event: &TrackEvent<'_>,
        counter: Counter,
        key: (u32, u64),
    ) -> Option<Value<'static>> {
        if let Some(value) = event.double_counter_value {
            let multiplier = if counter.multiplier == 1 { 1.0 } else { counter.multiplier as f64 };
            return Some(Value::Float(value * multiplier)).filter(|_| value.is_finite());
        }
        let mut value = event.counter_value?.saturating_mul(counter.multiplier);
        if counter.is_incremental && (self.sums.len() < COUNTERS_MAX || self.sums.contains_key(&key)) {
            let sum = self.sums.entry(key).or_default();
            *sum = sum.saturating_add(value);
            value = *sum;
        }
        Some(Value::Signed(value))
    }
}
