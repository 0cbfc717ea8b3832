//! Selection of events by the value of an argument.

use super::glob::Glob;
use super::select::matching_strings;
use ferrum_trace_model::{ArgColumn, ArgValue, Order, Trace};
use hashbrown::{HashMap, HashSet};
use std::borrow::Cow;

/// Condition on an argument, which must be loaded with the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgFilter {
    /// Name of the argument.
    pub name: String,
    /// Patterns for its value, of which one must match. An event without the argument never matches.
    pub values: Vec<Glob>,
}

impl ArgFilter {
    /// Returns a test for events, which are given by their positions in the file.
    pub(super) fn matcher<'a>(&self, trace: &'a Trace) -> ArgMatcher<'a> {
        let column = arg_column(trace, &self.name);
        let mut matching_integers: HashMap<u32, bool> = HashMap::new();
        for value in column.into_iter().flat_map(|column| &column.value) {
            if let &ArgValue::Integer(number) = value {
                let matches = || self.values.iter().any(|glob| glob.matches(&number.to_string()));
                matching_integers.entry(number).or_insert_with(matches);
            }
        }
        ArgMatcher { column, matching_texts: matching_strings(trace, &self.values), matching_integers }
    }
}

/// Test whether an event has an argument with a matching value.
pub(super) struct ArgMatcher<'a> {
    column: Option<&'a ArgColumn>,
    /// True for the texts of the trace that match.
    matching_texts: Vec<bool>,
    /// True for the integers of the column that match.
    matching_integers: HashMap<u32, bool>,
}

impl ArgMatcher<'_> {
    pub(super) fn matches(&self, order: Order) -> bool {
        match self.column.and_then(|column| column.of(order)) {
            Some(ArgValue::Integer(number)) => self.matching_integers.get(&number).is_some_and(|&matches| matches),
            Some(ArgValue::Text(text)) => self.matching_texts[text.index()],
            None => false,
        }
    }
}

/// Returns the values of an argument, if it was loaded.
pub(crate) fn arg_column<'a>(trace: &'a Trace, name: &str) -> Option<&'a ArgColumn> {
    trace.args.iter().find(|column| column.key == name)
}

/// Returns the different values that slices and async operations have for an argument, in natural order.
pub fn arg_values<'a>(trace: &'a Trace, name: &str) -> Vec<Cow<'a, str>> {
    let Some(column) = arg_column(trace, name) else { return Vec::new() };
    let orders = trace.slices.order.iter().chain(&trace.asyncs.order);
    let values: HashSet<ArgValue> = orders.filter_map(|&order| column.of(order)).collect();
    let mut values: Vec<Cow<'_, str>> = values.into_iter().map(|value| value.content(&trace.strings)).collect();
    values.sort_unstable_by(|one, other| natural_order(one, other));
    values
}

/// Compares texts: whole numbers by value and before other texts, other texts alphabetically.
pub(crate) fn natural_order(one: &str, other: &str) -> std::cmp::Ordering {
    let key = |text: &str| text.parse::<i128>().map_or((true, 0), |number| (false, number));
    key(one).cmp(&key(other)).then_with(|| one.cmp(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::select::Selection;
    use ferrum_trace_format::chrome::read::{LoadOptions, load};

    fn trace() -> Trace {
        let text = r#"[
            {"ph":"X","name":"a","ts":0,"dur":1,"pid":1,"tid":1,"args":{"m":8,"n":"x"}},
            {"ph":"X","name":"b","ts":1,"dur":1,"pid":1,"tid":1,"args":{"m":16}},
            {"ph":"i","name":"i","ts":1,"pid":1,"tid":1,"args":{"m":1000}},
            {"ph":"X","name":"c","ts":2,"dur":1,"pid":1,"tid":1,"args":{"n":"y"}},
            {"ph":"b","name":"d","cat":"r","id":1,"ts":2,"pid":1,"tid":1,"args":{"m":"many"}}]"#;
        let options = LoadOptions { args: vec!["m".to_owned(), "n".to_owned()], ..LoadOptions::default() };
        load(text.as_bytes(), &options).unwrap().trace
    }

    fn selected(filters: &[(&str, &[&str])]) -> Vec<usize> {
        let filter = |&(name, values): &(&str, &[&str])| ArgFilter {
            name: name.to_owned(),
            values: values.iter().map(|&value| Glob::new(value)).collect(),
        };
        let selection = Selection { args: filters.iter().map(filter).collect(), ..Selection::default() };
        assert!(!selection.is_everything());
        selection.apply(&trace()).iter().collect()
    }

    #[test]
    fn a_slice_needs_one_matching_value_of_each_argument() {
        assert_eq!(selected(&[("m", &["8"])]), [0]);
        assert_eq!(selected(&[("m", &["8", "1?"])]), [0, 1]);
        assert_eq!(selected(&[("m", &["*"])]), [0, 1]);
        assert_eq!(selected(&[("m", &["*"]), ("n", &["*"])]), [0]);
        assert_eq!(selected(&[("m", &["9"])]), [0; 0]);
        assert_eq!(selected(&[("not loaded", &["*"])]), [0; 0]);
    }

    #[test]
    fn values_are_those_of_slices_and_async_operations_in_natural_order() {
        assert_eq!(arg_values(&trace(), "m"), ["8", "16", "many"]);
        assert_eq!(arg_values(&trace(), "k"), [""; 0]);
    }

    #[test]
    fn numbers_are_compared_by_value() {
        let mut texts = ["b", "10", "9", "-1", "", "a10", "a9", "1.5"];
        texts.sort_by(|one, other| natural_order(one, other));
        assert_eq!(texts, ["-1", "9", "10", "", "1.5", "a10", "a9", "b"]);
    }
}
