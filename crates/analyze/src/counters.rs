//! Values over time, in numbers.

use ferrum_trace_model::{ProcessId, StringId, Trace};
use hashbrown::HashMap;

/// One value of one counter of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterSeries {
    /// The process it belongs to.
    pub process: ProcessId,
    /// What the counter is called.
    pub name: StringId,
    /// Which of its values it is.
    pub series: StringId,
    /// How often it was recorded.
    pub count: u64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The value that is last in the file.
    pub last: f64,
}

/// The counters of a trace, in the order in which the file has them.
pub fn counters(trace: &Trace) -> Vec<CounterSeries> {
    let samples = &trace.counters;
    let mut all: Vec<CounterSeries> = Vec::new();
    let mut places: HashMap<(ProcessId, StringId, StringId), usize> = HashMap::new();
    for (sample, &value) in samples.value.iter().enumerate() {
        let process = trace.tracks.get(samples.track[sample]).process;
        let (name, series) = (samples.name[sample], samples.series[sample]);
        let place = *places.entry((process, name, series)).or_insert_with(|| {
            all.push(CounterSeries { process, name, series, count: 0, min: value, max: value, last: value });
            all.len() - 1
        });
        let counter = &mut all[place];
        counter.count += 1;
        counter.min = counter.min.min(value);
        counter.max = counter.max.max(value);
        counter.last = value;
    }
    all
}
