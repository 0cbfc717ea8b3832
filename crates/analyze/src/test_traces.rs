//! Traces for tests.

use ferrum_trace_model::{Slice, Trace};

/// Builds a trace from slices: process, track, category, name, start and end, in file order.
pub(crate) fn trace(slices: &[(&str, &str, &str, &str, i64, i64)]) -> Trace {
    let mut trace = Trace::default();
    for (order, &(pid, tid, category, name, start, end)) in slices.iter().enumerate() {
        let [pid, tid, category, name] = [pid, tid, category, name].map(|text| trace.strings.intern(text));
        let track = trace.tracks.track(Some(pid), Some(tid));
        let order = order as u32;
        trace.slices.push(Slice { start, duration: end - start, name, category, track, order });
        trace.census.note_time(start, end);
    }
    trace
}

/// Builds a trace from slices of one track: name, start and end.
pub(crate) fn track(slices: &[(&str, i64, i64)]) -> Trace {
    let slices: Vec<_> = slices.iter().map(|&(name, start, end)| ("1", "1", "", name, start, end)).collect();
    trace(&slices)
}
