//! Flags that select slices.

use ferrum_trace_analyze::{Glob, Selection};
use std::ops::Range;

/// Flags that select slices.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SelectionArgs {
    /// Include only slices that match, by name, cat, track, process or time, e.g. `cat=kernel`
    ///
    /// KEY is `name`, `cat`, `track`, `process` or `time`. The value of `time` is a range, counted from the start of
    /// the trace, such as `time=1.5s..2s`, `time=300ms..` or `time=..20us`; it selects slices that begin in the range.
    /// The other values are patterns for the whole text, in which `*` matches any text and `?` any character; tracks
    /// and processes match by id or by name. If the flag is repeated, a slice must match one pattern of each KEY. Exits
    /// with 1 if nothing matches.
    #[arg(long = "filter", value_name = "KEY=GLOB", value_parser = parse_filter)]
    pub(crate) filters: Vec<Filter>,

    /// Include only what lies within slices of this name, e.g. `decode*`
    ///
    /// A slice must lie within a slice of that name on the same track. If its track has no such slice, those of its
    /// process count, and if its process has none, those of all processes. So the kernels of a device lie within the
    /// steps of a thread. If the flag is repeated, one of the patterns must match.
    #[arg(long, value_name = "GLOB")]
    pub(crate) within: Vec<String>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    Name(Glob),
    Category(Glob),
    Track(Glob),
    Process(Glob),
    Time(Range<i64>),
}

impl SelectionArgs {
    /// Returns the selection of the flags. Ranges of time are intersected.
    pub(crate) fn selection(&self) -> Selection {
        let mut selection = Selection { within: self.within.iter().map(Glob::new).collect(), ..Selection::default() };
        for filter in self.filters.iter().cloned() {
            match filter {
                Filter::Name(glob) => selection.names.push(glob),
                Filter::Category(glob) => selection.categories.push(glob),
                Filter::Track(glob) => selection.tracks.push(glob),
                Filter::Process(glob) => selection.processes.push(glob),
                Filter::Time(range) => {
                    let previous = selection.time.take().unwrap_or(i64::MIN..i64::MAX);
                    selection.time = Some(range.start.max(previous.start)..range.end.min(previous.end));
                }
            }
        }
        selection
    }
}

fn parse_filter(text: &str) -> Result<Filter, String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=GLOB, found no `=`")?;
    Ok(match key {
        "name" => Filter::Name(Glob::new(value)),
        "cat" => Filter::Category(Glob::new(value)),
        "track" => Filter::Track(Glob::new(value)),
        "process" => Filter::Process(Glob::new(value)),
        "time" => Filter::Time(parse_range(value)?),
        _ => return Err(format!("expected `name`, `cat`, `track`, `process` or `time` before the `=`, found `{key}`")),
    })
}

/// Parses a range of times. A missing bound is unlimited.
pub(crate) fn parse_range(text: &str) -> Result<Range<i64>, String> {
    let (from, to) = text.split_once("..").ok_or_else(|| format!("expected FROM..TO, found `{text}`"))?;
    let from = if from.is_empty() { i64::MIN } else { parse_time(from)? };
    let to = if to.is_empty() { i64::MAX } else { parse_time(to)? };
    if from > to {
        return Err(format!("expected FROM before TO, found `{text}`"));
    }
    Ok(from..to)
}

/// Units of time; a unit that ends in another one comes first.
const UNITS: [(&str, f64); 6] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Parses a time with its unit and returns nanoseconds.
pub(crate) fn parse_time(text: &str) -> Result<i64, String> {
    let expected = || format!("expected a time with its unit (ns, us, ms or s), found `{text}`");
    let (number, factor) =
        UNITS.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor))).ok_or_else(expected)?;
    let number: f64 = number.trim().parse().map_err(|_| expected())?;
    let time = number * factor;
    if !time.is_finite() {
        return Err(expected());
    }
    Ok(time.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_has_a_key_and_a_pattern() {
        assert_eq!(parse_filter("name=a*=b"), Ok(Filter::Name(Glob::new("a*=b"))));
        assert_eq!(parse_filter("cat="), Ok(Filter::Category(Glob::new(""))));
        assert!(parse_filter("name").is_err());
        assert!(parse_filter("color=red").unwrap_err().contains("found `color`"));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(parse_filter("time=1.5s..2s"), Ok(Filter::Time(1_500_000_000..2_000_000_000)));
        assert_eq!(parse_filter("time=300ms.."), Ok(Filter::Time(300_000_000..i64::MAX)));
        assert_eq!(parse_filter("time=..20us"), Ok(Filter::Time(i64::MIN..20_000)));
        assert_eq!(parse_filter("time=7ns..1µs"), Ok(Filter::Time(7..1000)));
        for wrong in ["time=1s", "time=1..2", "time=xs..2s", "time=infs..2s", "time=1s..2h", "time=2s..1s"] {
            assert!(parse_filter(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_of_time_are_intersected() {
        let filters = ["time=1s..3s", "time=2s..9s", "name=a"].map(|text| parse_filter(text).unwrap()).to_vec();
        let selection = SelectionArgs { filters, within: vec!["b".to_owned()] }.selection();
        assert_eq!(selection.time, Some(2_000_000_000..3_000_000_000));
        assert_eq!((selection.names.len(), selection.within.len()), (1, 1));
    }
}
