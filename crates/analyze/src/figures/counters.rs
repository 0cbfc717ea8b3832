//! Figures of counters.

use ferrum_trace_model::{ProcessId, StringId, Trace};
use hashbrown::HashMap;

/// One series of a counter of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterSeries {
    /// The process it belongs to.
    pub process: ProcessId,
    /// Name of the counter.
    pub name: StringId,
    /// Name of the series.
    pub series: StringId,
    /// Number of values.
    pub count: u64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The value that is last in the file.
    pub last: f64,
}

/// Returns the counters of a trace, in file order.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_own_counter() {
        let mut trace = Trace::default();
        let [one, two, used] = ["1", "2", "used"].map(|text| trace.strings.intern(text));
        let tracks = [one, two].map(|pid| trace.tracks.track(Some(pid), None));
        for (track, value) in [(tracks[0], 3.0), (tracks[0], -1.5), (tracks[1], 7.0), (tracks[0], 2.0)] {
            trace.counters.name.push(used);
            trace.counters.series.push(used);
            trace.counters.track.push(track);
            trace.counters.value.push(value);
        }
        let series = |process, count, [min, max, last]: [f64; 3]| CounterSeries {
            process: ProcessId(process),
            name: used,
            series: used,
            count,
            min,
            max,
            last,
        };
        assert_eq!(counters(&trace), [series(0, 3, [-1.5, 3.0, 2.0]), series(1, 1, [7.0; 3])]);
    }
}
