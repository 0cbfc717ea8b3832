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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_of_two_processes_is_two() {
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
