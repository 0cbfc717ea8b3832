//! Flags that select slices.

use crate::render::arg_values;
use ferrum_trace_analyze::{ArgFilter, Glob, Selection};
use ferrum_trace_model::Trace;
use std::ops::Range;

/// Flags that select slices.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SelectionArgs {
    /// Include only slices that match, by name, cat, track, process, time or arg:NAME, e.g. `cat=kernel`
    ///
    /// KEY is `name`, `cat`, `track`, `process`, `time` or `arg:NAME`. The value of `time` is a range, counted from the
    /// start of the trace, such as `time=1.5s..2s`, `time=300ms..` or `time=..20us`; it selects slices that begin in
    /// the range. The other values are patterns for the whole text, in which `*` matches any text and `?` any
    /// character. Tracks and processes match by id or by name. `arg:NAME` is the argument NAME of the slice, as in
    /// `arg:batch=8`; slices without it do not match. If the flag is repeated, a slice must match one pattern of each
    /// KEY. Exits with 1 if nothing matches.
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
    /// Name of an argument, and a pattern for its value.
    Arg(String, Glob),
    Time(Range<i64>),
}

/// Begin of a key that is the name of an argument.
pub(crate) const ARG_PREFIX: &str = "arg:";

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
                Filter::Arg(name, glob) => push_arg(&mut selection.args, name, glob),
                Filter::Time(range) => {
                    let previous = selection.time.take().unwrap_or(i64::MIN..i64::MAX);
                    selection.time = Some(range.start.max(previous.start)..range.end.min(previous.end));
                }
            }
        }
        selection
    }

    /// Returns the names of the arguments that the filters need.
    pub(crate) fn arg_names(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().filter_map(|filter| match filter {
            Filter::Arg(name, _) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the values of the arguments of the filters, for the end of a line that says that nothing matches.
    pub(crate) fn values_text(&self, trace: &Trace) -> String {
        let args = self.selection().args;
        args.iter().map(|filter| format!("; {}", arg_values::values_text(trace, &filter.name))).collect()
    }
}

/// Adds a pattern to those of its argument.
fn push_arg(args: &mut Vec<ArgFilter>, name: String, glob: Glob) {
    match args.iter_mut().find(|filter| filter.name == name) {
        Some(filter) => filter.values.push(glob),
        None => args.push(ArgFilter { name, values: vec![glob] }),
    }
}

/// The keys of `--filter`, in messages.
const KEYS: &str = "`name`, `cat`, `track`, `process`, `time` and `arg:NAME`";

fn parse_filter(text: &str) -> Result<Filter, String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=GLOB, found no `=`")?;
    Ok(match key {
        "name" => Filter::Name(Glob::new(value)),
        "cat" => Filter::Category(Glob::new(value)),
        "track" => Filter::Track(Glob::new(value)),
        "process" => Filter::Process(Glob::new(value)),
        "time" => Filter::Time(parse_range(value)?),
        _ => match key.strip_prefix(ARG_PREFIX) {
            Some(name) if !name.is_empty() => Filter::Arg(name.to_owned(), Glob::new(value)),
            _ => return Err(format!("expected one of {KEYS} before the `=`, found `{key}`")),
        },
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
        assert_eq!(parse_filter("arg:m=a=b"), Ok(Filter::Arg("m".to_owned(), Glob::new("a=b"))));
        assert!(parse_filter("arg:=8").unwrap_err().contains("`arg:NAME` before the `=`, found `arg:`"));
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
    fn patterns_of_one_argument_are_alternatives() {
        let filters = ["arg:m=8", "arg:n=1", "arg:m=9"].map(|text| parse_filter(text).unwrap()).to_vec();
        let args = SelectionArgs { filters, within: Vec::new() };
        let found: Vec<_> = args.selection().args.iter().map(|it| (it.name.clone(), it.values.len())).collect();
        assert_eq!(found, [("m".to_owned(), 2), ("n".to_owned(), 1)]);
        assert_eq!(args.arg_names().collect::<Vec<_>>(), ["m", "n", "m"]);
    }

    #[test]
    fn ranges_of_time_are_intersected() {
        let filters = ["time=1s..3s", "time=2s..9s", "name=a"].map(|text| parse_filter(text).unwrap()).to_vec();
        let selection = SelectionArgs { filters, within: vec!["b".to_owned()] }.selection();
        assert_eq!(selection.time, Some(2_000_000_000..3_000_000_000));
        assert_eq!((selection.names.len(), selection.within.len()), (1, 1));
    }
}
