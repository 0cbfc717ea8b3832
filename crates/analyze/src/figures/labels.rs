//! Labels of slices: properties that are computed from the trace and by which slices can be grouped.

use super::layer_search::{LayerSource, NONE, find_layers};
use crate::structure::arg_filter::natural_order;
use crate::structure::async_ops::AsyncOp;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::vocab::Phase;
use ferrum_trace_model::{ArgValue, Order, StringId, Trace};
use std::cmp::Ordering;

/// The value of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// The number of a layer or of a step.
    Number(u32),
    /// The phase of a step.
    Phase(Phase),
    /// A name.
    Name(StringId),
    /// The value of an argument.
    Arg(ArgValue),
}

impl Label {
    /// Returns the label as text.
    pub fn text(self, trace: &Trace) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Phase(phase) => phase.as_str().to_owned(),
            Self::Name(id) => trace.strings.get(id).to_owned(),
            Self::Arg(value) => value.content(&trace.strings).into_owned(),
        }
    }

    /// Compares two values of one label: numbers by value, texts naturally. No label comes last.
    pub(crate) fn compare(trace: &Trace, one: Option<Self>, other: Option<Self>) -> Ordering {
        match (one, other) {
            (Some(Self::Number(one)), Some(Self::Number(other))) => one.cmp(&other),
            (Some(Self::Phase(one)), Some(Self::Phase(other))) => one.cmp(&other),
            (Some(Self::Name(one)), Some(Self::Name(other))) => {
                natural_order(trace.strings.get(one), trace.strings.get(other))
            }
            (Some(Self::Arg(one)), Some(Self::Arg(other))) => {
                natural_order(&one.content(&trace.strings), &other.content(&trace.strings))
            }
            _ => one.is_none().cmp(&other.is_none()),
        }
    }
}

/// A label of each slice, if the slice has it.
#[derive(Clone, Debug)]
pub struct Labels {
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    /// One number per slice; [`NONE`] for no label.
    Numbers(Vec<u32>),
    /// One phase per slice.
    Phases(Vec<Option<Phase>>),
    /// The name of another slice, or [`NONE`], per slice.
    Names(Vec<u32>),
    /// The index of a column of arguments; `None` if the argument was not loaded.
    Arg(Option<usize>),
}

impl Labels {
    /// Returns the layer of each slice. The arguments [`LAYER_ARGS`](super::layer_search::LAYER_ARGS) must be loaded.
    pub fn of_layers(trace: &Trace, nesting: &Nesting, source: LayerSource) -> Self {
        Self::of_numbers(find_layers(trace, nesting, source).1)
    }

    /// Returns the value of an argument, which must be loaded. Async operations have the arguments of their begins.
    pub fn of_arg(trace: &Trace, name: &str) -> Self {
        Self { values: Values::Arg(trace.args.iter().position(|column| column.key == name)) }
    }

    /// Returns the name of the innermost slice around each slice.
    pub fn of_parents(trace: &Trace, nesting: &Nesting) -> Self {
        let mut names = vec![NONE; trace.slices.len()];
        for (track, _) in trace.tracks.iter() {
            nesting.walk(trace, track, |slice, around| {
                let parent = around.last().map(|&parent| trace.slices.name[parent as usize].0);
                names[slice as usize] = parent.unwrap_or(NONE);
            });
        }
        Self { values: Values::Names(names) }
    }

    /// Creates labels that are numbers, one per slice; [`NONE`] for no label.
    pub(crate) fn of_numbers(numbers: Vec<u32>) -> Self {
        Self { values: Values::Numbers(numbers) }
    }

    /// Creates labels that are phases, one per slice.
    pub(crate) fn of_phases(phases: Vec<Option<Phase>>) -> Self {
        Self { values: Values::Phases(phases) }
    }

    /// Returns the label of a slice if it is a number.
    pub(crate) fn number(&self, slice: u32) -> Option<u32> {
        match &self.values {
            Values::Numbers(numbers) => numbers.get(slice as usize).copied().filter(|&number| number != NONE),
            Values::Phases(_) | Values::Names(_) | Values::Arg(_) => None,
        }
    }

    /// Returns the label of a slice.
    pub fn of_slice(&self, trace: &Trace, slice: usize) -> Option<Label> {
        let known = |number: u32| (number != NONE).then_some(number);
        match &self.values {
            Values::Numbers(numbers) => known(numbers[slice]).map(Label::Number),
            Values::Phases(phases) => phases[slice].map(Label::Phase),
            Values::Names(names) => known(names[slice]).map(|name| Label::Name(StringId(name))),
            Values::Arg(column) => arg(trace, *column, trace.slices.order[slice]),
        }
    }

    /// Returns the label of an async operation. It has arguments only.
    pub(crate) fn of_op(&self, trace: &Trace, op: &AsyncOp) -> Option<Label> {
        match self.values {
            Values::Arg(column) => arg(trace, column, op.order),
            _ => None,
        }
    }
}

fn arg(trace: &Trace, column: Option<usize>, order: Order) -> Option<Label> {
    trace.args.get(column?)?.of(order).map(Label::Arg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::keys::GroupBy;
    use crate::figures::layer_search::LAYER_ARG;
    use crate::figures::summary::{SortBy, Summary, SummaryOptions, summarize_labeled};
    use crate::structure::select::Selected;
    use crate::test_traces;
    use ferrum_trace_model::ArgColumn;
    use proptest::prelude::*;

    /// Layers 2 and 10 with a slice inside each, and two slices in no layer. Two slices have an argument `m`.
    fn two_layers() -> Trace {
        let mut trace = test_traces::track(&[
            ("step", 0, 100),
            ("layers.10", 0, 20),
            ("qkv", 5, 15),
            ("layers.2", 20, 40),
            ("qkv", 25, 35),
            ("sample", 90, 95),
        ]);
        let [large, small] = ["128", "64"].map(|text| ArgValue::intern(text, &mut trace.strings));
        trace.args.push(ArgColumn { key: "m".to_owned(), order: vec![2, 4], value: vec![large, small] });
        trace
    }

    fn summary(trace: &Trace, by: &[GroupBy], labels: &[Labels], sort: SortBy) -> Summary {
        let options = SummaryOptions { by: by.to_vec(), sort, ..SummaryOptions::default() };
        summarize_labeled(trace, Nesting::of(trace).self_time, &Selected::all(trace), labels, &options)
    }

    /// Labels, count, total and self time of each row.
    fn rows(trace: &Trace, summary: &Summary) -> Vec<(Vec<String>, u64, i64, i64)> {
        let text = |label: &Option<Label>| label.map_or("-".to_owned(), |label| label.text(trace));
        let labels = |key| summary.labels.get(key).iter().map(text).collect();
        summary.rows.iter().map(|row| (labels(&row.key), row.count, row.total, row.self_time)).collect()
    }

    fn row(labels: &[&str], count: u64, total: i64, self_time: i64) -> (Vec<String>, u64, i64, i64) {
        (labels.iter().map(|&label| label.to_owned()).collect(), count, total, self_time)
    }

    #[test]
    fn slices_inside_a_layer_belong_to_it_and_equal_rows_are_in_the_order_of_layers() {
        let trace = two_layers();
        let layers = Labels::of_layers(&trace, &Nesting::of(&trace), LayerSource::Auto);
        let summary = summary(&trace, &[], &[layers], SortBy::SelfTime);
        assert_eq!(rows(&trace, &summary), [row(&["-"], 2, 105, 60), row(&["2"], 2, 30, 20), row(&["10"], 2, 30, 20)]);
        assert!(summary.labels.has(0) && !summary.labels.has(1));
    }

    #[test]
    fn labels_are_combined_with_each_other_and_with_names() {
        let trace = two_layers();
        let labels = [Labels::of_parents(&trace, &Nesting::of(&trace)), Labels::of_arg(&trace, "m")];
        let summary = summary(&trace, &[GroupBy::Name], &labels, SortBy::Name);
        let expected = [
            row(&["step", "-"], 1, 20, 10),
            row(&["step", "-"], 1, 20, 10),
            row(&["layers.10", "128"], 1, 10, 10),
            row(&["layers.2", "64"], 1, 10, 10),
            row(&["step", "-"], 1, 5, 5),
            row(&["-", "-"], 1, 100, 55),
        ];
        assert_eq!(rows(&trace, &summary), expected);
    }

    #[test]
    fn values_of_an_argument_are_sorted_as_numbers_and_an_unknown_argument_has_none() {
        let trace = two_layers();
        let by_arg = summary(&trace, &[], &[Labels::of_arg(&trace, "m")], SortBy::Name);
        assert_eq!(rows(&trace, &by_arg), [row(&["64"], 1, 10, 10), row(&["128"], 1, 10, 10), row(&["-"], 4, 145, 80)]);
        let unknown = summary(&trace, &[], &[Labels::of_arg(&trace, LAYER_ARG)], SortBy::Name);
        assert_eq!((rows(&trace, &unknown), unknown.labels.has(0)), (vec![row(&["-"], 6, 165, 100)], false));
    }

    #[test]
    fn labels_beyond_the_limit_of_groups_are_counted_together() {
        let trace = two_layers();
        let labels = [Labels::of_arg(&trace, "m")];
        let options = SummaryOptions { by: Vec::new(), groups_max: 1, ..SummaryOptions::default() };
        let limited =
            summarize_labeled(&trace, Nesting::of(&trace).self_time, &Selected::all(&trace), &labels, &options);
        assert_eq!((rows(&trace, &limited), limited.n_beyond), (vec![row(&["-"], 4, 145, 80)], 2));
        assert_eq!((limited.all.count, limited.all.self_time), (6, 100));
    }

    proptest! {
        #[test]
        fn labels_do_not_change_the_sums(
            slices in prop::collection::vec((0_u8..2, 0_u8..4, 0_i64..50, 0_i64..20), 0..60),
            wanted in prop::sample::subsequence(vec![0_usize, 1, 2], 0..=3),
        ) {
            let names = ["layers.0", "layers.1", "qkv", "step"];
            let slices: Vec<_> = slices
                .into_iter()
                .map(|(tid, name, start, duration)| {
                    ("1", if tid == 0 { "1" } else { "7" }, "", names[usize::from(name)], start, start + duration)
                })
                .collect();
            let mut trace = test_traces::trace(&slices);
            let value = ArgValue::intern("8", &mut trace.strings);
            let order: Vec<u32> = (0..slices.len() as u32).step_by(3).collect();
            trace.args.push(ArgColumn { key: "m".to_owned(), value: vec![value; order.len()], order });
            let nesting = Nesting::of(&trace);
            let all = [
                Labels::of_layers(&trace, &nesting, LayerSource::Auto),
                Labels::of_parents(&trace, &nesting),
                Labels::of_arg(&trace, "m"),
            ];
            let labels: Vec<Labels> = wanted.iter().map(|&n| all[n].clone()).collect();
            let summary = summary(&trace, &[], &labels, SortBy::Total);
            let mut sums = (0, 0, 0);
            for (_, count, total, self_time) in rows(&trace, &summary) {
                sums = (sums.0 + count, sums.1 + total, sums.2 + self_time);
            }
            prop_assert_eq!(sums, (slices.len() as u64, trace.slices.duration.iter().sum(), nesting.total_self()));
        }
    }
}
