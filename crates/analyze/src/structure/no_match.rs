//! Finds out why a selection matches nothing.

use super::arg_filter::arg_values;
use super::async_ops::async_ops;
use super::glob::Glob;
use super::select::{Enclosing, Selection};
use super::similar::similar;
use ferrum_trace_model::{StringId, Trace};
use std::collections::BTreeSet;

/// The number of values of an argument that are suggested.
const VALUES_SUGGESTED: usize = 8;

/// A condition of a [`Selection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// On names.
    Name,
    /// On categories.
    Category,
    /// On tracks.
    Track,
    /// On processes.
    Process,
    /// On an argument, given by its index in [`Selection::args`].
    Arg(usize),
    /// On the time of the begin.
    Time,
    /// On the slices around.
    Within,
}

/// The reason why a selection matches no slice and no async operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoMatch {
    /// One condition matches nothing, regardless of the others.
    Alone {
        /// The condition.
        condition: Condition,
        /// Conditions with a text that would match something, the most similar first.
        suggestions: Vec<(Condition, String)>,
    },
    /// No slice and no async operation has the argument.
    NoArg {
        /// The index of its condition in [`Selection::args`].
        index: usize,
    },
    /// Slices have the names of `--within`, but nothing lies in them.
    NothingInside {
        /// The number of slices with such a name.
        n_enclosing: usize,
    },
    /// Each condition matches something, but together they do not.
    Together {
        /// The conditions that still match something together.
        before: Vec<Condition>,
        /// The number of slices and async operations that these match.
        n_before: usize,
        /// The condition that leaves none of them.
        condition: Condition,
    },
}

/// Explains why a selection matches nothing in a trace. `None` if it matches something or has no condition.
pub fn explain_no_match(trace: &Trace, selection: &Selection) -> Option<NoMatch> {
    let parts = parts(selection);
    for (condition, alone) in &parts {
        if n_matching(trace, alone) == 0 {
            return Some(alone_matches_nothing(trace, *condition, alone));
        }
    }
    let (mut before, mut n_before, mut so_far) = (Vec::new(), 0, Selection::default());
    for (condition, alone) in parts {
        so_far = both(so_far, alone);
        let n_left = n_matching(trace, &so_far);
        if n_left == 0 {
            return Some(NoMatch::Together { before, n_before, condition });
        }
        before.push(condition);
        n_before = n_left;
    }
    None
}

/// Splits a selection into one selection per condition.
fn parts(selection: &Selection) -> Vec<(Condition, Selection)> {
    let Selection { names, categories, tracks, processes, args, time, within } = selection.clone();
    let none = Selection::default;
    let mut parts = vec![
        (Condition::Name, Selection { names, ..none() }),
        (Condition::Category, Selection { categories, ..none() }),
        (Condition::Track, Selection { tracks, ..none() }),
        (Condition::Process, Selection { processes, ..none() }),
        (Condition::Time, Selection { time, ..none() }),
        (Condition::Within, Selection { within, ..none() }),
    ];
    let arg = |(index, filter)| (Condition::Arg(index), Selection { args: vec![filter], ..none() });
    parts.extend(args.into_iter().enumerate().map(arg));
    parts.into_iter().filter(|(_, part)| !part.is_everything()).collect()
}

/// Joins the conditions of two selections, which concern different fields.
fn both(one: Selection, other: Selection) -> Selection {
    let joined = |mut one: Vec<Glob>, mut other: Vec<Glob>| {
        one.append(&mut other);
        one
    };
    Selection {
        names: joined(one.names, other.names),
        categories: joined(one.categories, other.categories),
        tracks: joined(one.tracks, other.tracks),
        processes: joined(one.processes, other.processes),
        args: one.args.into_iter().chain(other.args).collect(),
        time: one.time.or(other.time),
        within: joined(one.within, other.within),
    }
}

fn n_matching(trace: &Trace, selection: &Selection) -> usize {
    let mut ops = async_ops(trace);
    selection.retain_asyncs(trace, &mut ops);
    selection.apply(trace).len() + ops.len()
}

fn alone_matches_nothing(trace: &Trace, condition: Condition, alone: &Selection) -> NoMatch {
    let patterns = match condition {
        Condition::Name => &alone.names,
        Condition::Category => &alone.categories,
        Condition::Track => &alone.tracks,
        Condition::Process => &alone.processes,
        Condition::Arg(index) => return arg_matches_nothing(trace, index, alone),
        Condition::Time => return NoMatch::Alone { condition, suggestions: Vec::new() },
        Condition::Within => &alone.within,
    };
    if condition == Condition::Within {
        let n_enclosing = Enclosing::new(trace, patterns).len();
        if n_enclosing > 0 {
            return NoMatch::NothingInside { n_enclosing };
        }
    }
    NoMatch::Alone { condition, suggestions: suggestions(trace, condition, patterns) }
}

/// Explains a condition on an argument. All values are suggested, the similar ones first.
fn arg_matches_nothing(trace: &Trace, index: usize, alone: &Selection) -> NoMatch {
    let Some(filter) = alone.args.first() else { return NoMatch::NoArg { index } };
    let values = arg_values(trace, &filter.name);
    if values.is_empty() {
        return NoMatch::NoArg { index };
    }
    let mut suggested: Vec<&str> = Vec::new();
    let texts = || values.iter().map(|value| &**value);
    let similar = filter.values.iter().flat_map(|glob| similar(glob.as_str(), texts()));
    for value in similar.chain(texts()) {
        if suggested.len() < VALUES_SUGGESTED && !suggested.contains(&value) {
            suggested.push(value);
        }
    }
    let condition = Condition::Arg(index);
    NoMatch::Alone { condition, suggestions: suggested.iter().map(|&value| (condition, value.to_owned())).collect() }
}

/// Returns similar texts of the same kind, and texts of other kinds that the patterns match.
fn suggestions(trace: &Trace, condition: Condition, patterns: &[Glob]) -> Vec<(Condition, String)> {
    let texts = texts(trace, condition);
    let mut suggested: Vec<(Condition, String)> = Vec::new();
    for pattern in patterns {
        let found = similar(pattern.as_str(), texts.iter().map(String::as_str));
        suggested.extend(found.into_iter().map(|text| (condition, text.to_owned())));
        let others = [Condition::Name, Condition::Category, Condition::Track, Condition::Process];
        let own = if condition == Condition::Within { Condition::Name } else { condition };
        for other in others.into_iter().filter(|other| *other != own) {
            if self::texts(trace, other).iter().any(|text| pattern.matches(text)) {
                suggested.push((other, pattern.as_str().to_owned()));
            }
        }
    }
    suggested
}

/// Returns the texts that a condition is compared with.
fn texts(trace: &Trace, condition: Condition) -> BTreeSet<String> {
    let text = |id: StringId| trace.strings.get(id).to_owned();
    let of_columns = |columns: [&[StringId]; 2]| {
        let ids: BTreeSet<StringId> = columns.into_iter().flatten().copied().collect();
        ids.into_iter().map(text).collect()
    };
    match condition {
        Condition::Name | Condition::Within => of_columns([&trace.slices.name, &trace.asyncs.name]),
        Condition::Category => of_columns([&trace.slices.category, &trace.asyncs.category]),
        Condition::Track => {
            trace.tracks.iter().flat_map(|(_, track)| [track.tid, track.name]).flatten().map(text).collect()
        }
        Condition::Process => {
            trace.tracks.processes().flat_map(|(_, process)| [process.pid, process.name]).flatten().map(text).collect()
        }
        Condition::Arg(_) | Condition::Time => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::arg_filter::ArgFilter;
    use crate::test_traces;
    use ferrum_trace_model::{ArgColumn, ArgValue};

    fn globs(pattern: &str) -> Vec<Glob> {
        vec![Glob::new(pattern)]
    }

    fn explained(selection: Selection) -> Option<NoMatch> {
        let trace = test_traces::trace(&[
            ("1", "7", "attention", "qkv", 100, 110),
            ("1", "7", "gemm", "down_proj", 110, 120),
            ("1", "8", "gemm", "up_proj", 120, 130),
        ]);
        explain_no_match(&trace, &selection)
    }

    #[test]
    fn a_condition_that_matches_nothing_comes_with_suggestions() {
        let all = Selection::default();
        let alone = |condition, suggestions: &[(Condition, &str)]| {
            let suggestions = suggestions.iter().map(|&(condition, text)| (condition, text.to_owned())).collect();
            Some(NoMatch::Alone { condition, suggestions })
        };
        let names = Selection { names: globs("up_prj"), categories: globs("gemm"), ..all.clone() };
        assert_eq!(explained(names), alone(Condition::Name, &[(Condition::Name, "up_proj")]));
        let names = Selection { names: globs("gemm"), ..all.clone() };
        assert_eq!(explained(names), alone(Condition::Name, &[(Condition::Category, "gemm")]));
        let categories = Selection { categories: globs("Gemm"), ..all.clone() };
        assert_eq!(explained(categories), alone(Condition::Category, &[(Condition::Category, "gemm")]));
        let tracks = Selection { tracks: globs("nobody"), ..all.clone() };
        assert_eq!(explained(tracks), alone(Condition::Track, &[]));
        assert_eq!(explained(Selection { time: Some(30..40), ..all.clone() }), alone(Condition::Time, &[]));
        let within = Selection { within: globs("down"), ..all };
        assert_eq!(explained(within), alone(Condition::Within, &[(Condition::Within, "down_proj")]));
    }

    #[test]
    fn values_that_exist_are_suggested_for_an_argument() {
        let mut trace = test_traces::track(&[("a", 0, 1), ("b", 1, 2), ("c", 2, 3)]);
        let values = ["64", "8", "256"].map(|text| ArgValue::intern(text, &mut trace.strings));
        trace.args.push(ArgColumn { key: "m".to_owned(), order: vec![0, 1, 2], value: values.to_vec() });
        let explained = |filters: &[(&str, &str)], names: &str| {
            let filter = |&(name, value): &(&str, &str)| ArgFilter { name: name.to_owned(), values: globs(value) };
            let args = filters.iter().map(filter).collect();
            explain_no_match(&trace, &Selection { args, names: globs(names), ..Selection::default() })
        };
        let suggestions = ["256", "8", "64"].map(|value| (Condition::Arg(0), value.to_owned())).to_vec();
        let alone = NoMatch::Alone { condition: Condition::Arg(0), suggestions };
        assert_eq!(explained(&[("m", "255")], "*"), Some(alone));
        assert_eq!(explained(&[("m", "8"), ("k", "8")], "*"), Some(NoMatch::NoArg { index: 1 }));
        let (before, condition) = (vec![Condition::Name], Condition::Arg(0));
        assert_eq!(explained(&[("m", "8")], "a"), Some(NoMatch::Together { before, n_before: 1, condition }));
        assert_eq!(explained(&[("m", "8")], "b"), None);
    }

    #[test]
    fn the_condition_that_leaves_nothing_is_named() {
        let all = Selection::default();
        let both = Selection { categories: globs("gemm"), tracks: globs("7"), names: globs("up*"), ..all.clone() };
        let before = vec![Condition::Name, Condition::Category];
        assert_eq!(explained(both), Some(NoMatch::Together { before, n_before: 1, condition: Condition::Track }));
        let within = Selection { within: globs("qkv"), ..all.clone() };
        assert_eq!(explained(within), Some(NoMatch::NothingInside { n_enclosing: 1 }));
        assert_eq!(explained(Selection { names: globs("qkv"), ..all.clone() }), None);
        assert_eq!(explained(all), None);
    }
}
