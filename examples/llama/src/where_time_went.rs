//! A table of a trace: how often each span was there and how long it took by itself.

use serde_json::Value;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;

/// A span of the trace.
#[derive(Debug)]
struct Slice<'a> {
    name: &'a str,
    /// Process and thread.
    track: (u64, u64),
    begin: u64,
    end: u64,
}

/// What the spans of one name have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Line {
    name: String,
    calls: usize,
    nanos: u64,
    /// Without what other spans inside them took.
    self_nanos: u64,
}

/// Where the time went, by the name of the span, most first.
#[derive(Debug)]
pub struct Table {
    lines: Vec<Line>,
    n_tracks: usize,
}

impl Table {
    /// The table of a file of Chrome trace events.
    pub fn of(trace: &[u8]) -> Result<Self, String> {
        let events: Vec<Value> = serde_json::from_slice(trace).map_err(|error| error.to_string())?;
        let spans = events.iter().filter(|event| event["ph"] == "X");
        let slices = spans.map(|event| Slice::read(event).ok_or_else(|| format!("expected a span, found {event}")));
        Ok(Self::of_slices(slices.collect::<Result<_, _>>()?))
    }

    fn of_slices(mut slices: Vec<Slice<'_>>) -> Self {
        // Track by track, what is outside before what is inside.
        slices.sort_by_key(|slice| (slice.track, slice.begin, Reverse(slice.end)));
        let mut lines: HashMap<&str, Line> = HashMap::new();
        let mut open: Vec<&Slice<'_>> = Vec::new();
        let mut n_tracks = 0;
        for slice in &slices {
            n_tracks += usize::from(open.first().is_none_or(|outermost| outermost.track != slice.track));
            while open.pop_if(|outer| outer.track != slice.track || outer.end <= slice.begin).is_some() {}
            if let Some((outer, parent)) = open.last().and_then(|outer| Some((outer, lines.get_mut(outer.name)?))) {
                parent.self_nanos -= slice.end.min(outer.end) - slice.begin;
            }
            open.push(slice);
            let line = lines.entry(slice.name).or_default();
            line.calls += 1;
            line.nanos += slice.nanos();
            line.self_nanos += slice.nanos();
        }
        let named = lines.into_iter().map(|(name, line)| Line { name: name.to_owned(), ..line });
        let mut lines: Vec<Line> = named.collect();
        lines.sort_by(|a, b| b.self_nanos.cmp(&a.self_nanos).then_with(|| a.name.cmp(&b.name)));
        Self { lines, n_tracks }
    }
}

impl<'a> Slice<'a> {
    fn read(event: &'a Value) -> Option<Self> {
        // Microseconds with three decimals.
        let nanos = |key: &str| Some((event[key].as_f64()? * 1e3).round() as u64);
        let (begin, track) = (nanos("ts")?, (event["pid"].as_u64()?, event["tid"].as_u64()?));
        Some(Self { name: event["name"].as_str()?, track, begin, end: begin + nanos("dur")? })
    }

    fn nanos(&self) -> u64 {
        self.end - self.begin
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20}{:>8}{:>12}{:>12}{:>8}", "where the time went", "calls", "total ms", "self ms", "share")?;
        let all: u64 = self.lines.iter().map(|line| line.self_nanos).sum();
        for line in &self.lines {
            let (total, own) = (line.nanos as f64 / 1e6, line.self_nanos as f64 / 1e6);
            let share = 100.0 * line.self_nanos as f64 / all.max(1) as f64;
            writeln!(f, "{:<20}{:>8}{total:>12.2}{own:>12.2}{share:>7.1}%", line.name, line.calls)?;
        }
        writeln!(f, "{:<20}{:>8}{:>12}{:>12.2}  on {} threads", "all", "", "", all as f64 / 1e6, self.n_tracks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(name: &str, tid: u64, begin: u64, end: u64) -> Slice<'_> {
        Slice { name, track: (1, tid), begin, end }
    }

    fn line(name: &str, calls: usize, nanos: u64, self_nanos: u64) -> Line {
        Line { name: name.to_owned(), calls, nanos, self_nanos }
    }

    #[test]
    fn a_span_has_what_its_direct_children_on_the_same_track_leave() {
        let slices = vec![
            slice("gemm", 1, 20, 30),
            slice("layer", 1, 10, 60),
            slice("step", 1, 10, 100),
            slice("gemm", 1, 30, 45),
            slice("gemm", 2, 10, 100),
            slice("step", 1, 100, 110),
        ];
        let table = Table::of_slices(slices);
        assert_eq!(table.lines, [line("gemm", 3, 115, 115), line("step", 2, 100, 50), line("layer", 1, 50, 25)]);
        assert_eq!(table.n_tracks, 2);
    }

    #[test]
    fn spans_of_the_same_name_inside_each_other_are_counted_once_in_self() {
        let table = Table::of_slices(vec![slice("f", 1, 0, 100), slice("f", 1, 0, 80), slice("f", 1, 80, 90)]);
        assert_eq!(table.lines, [line("f", 3, 190, 100)]);
    }

    #[test]
    fn only_spans_are_read_from_a_trace() {
        let trace = br#"[{"ph":"M","name":"thread_name"},
            {"ph":"X","name":"a","pid":1,"tid":2,"ts":0.5,"dur":1500.250},{"ph":"i","name":"b","ts":1}]"#;
        assert_eq!(Table::of(trace).unwrap().lines, [line("a", 1, 1_500_250, 1_500_250)]);
        assert!(Table::of(br#"[{"ph":"X","name":"a"}]"#).is_err() && Table::of(b"[").is_err());
    }
}
