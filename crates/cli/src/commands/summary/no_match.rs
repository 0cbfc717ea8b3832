//! Explains why `--filter` and `--within` select nothing, and suggests similar names.

use crate::flags::SelectionArgs;
use crate::flags::selection::ARG_PREFIX;
use crate::input::source::Source;
use crate::render::style::HINT;
use crate::render::table::clean;
use crate::render::units::{count, number, time};
use ferrum_trace_analyze::{Condition, Glob, NoMatch, Selection, explain_no_match};
use ferrum_trace_model::Trace;
use std::ops::Range;

/// Returns a message for standard error; `None` if the flags match something, or there are none.
pub(crate) fn text(source: &Source, trace: &Trace, args: &SelectionArgs) -> Option<String> {
    let selection = args.selection();
    let name = clean(&source.label);
    Some(match explain_no_match(trace, &selection)? {
        NoMatch::Alone { condition: Condition::Time, .. } => {
            let (flags, span) = (flags(&selection, Condition::Time), time(trace.census.span()));
            format!("{name}: no slice or async operation begins in {flags}; the trace is {span} long\n")
        }
        NoMatch::Alone { condition, suggestions } => {
            let flags = flags(&selection, condition);
            format!("{name}: no slice or async operation matches {flags}\n{}", hint(&selection, &suggestions))
        }
        NoMatch::NoArg { index } => {
            let (flags, arg) = (flags(&selection, Condition::Arg(index)), arg_name(&selection, index));
            format!("{name}: no slice or async operation matches {flags}: none has an argument `{arg}`\n")
        }
        NoMatch::NothingInside { n_enclosing } => {
            let (flags, slices) = (flags(&selection, Condition::Within), count(n_enclosing as u64, "slice"));
            format!("{name}: {flags} names {slices}, but no slice or async operation lies inside\n")
        }
        NoMatch::Together { before, n_before, condition } => {
            let before: Vec<String> = before.into_iter().map(|condition| flags(&selection, condition)).collect();
            let (before, flags) = (before.join(" and "), flags(&selection, condition));
            let n_before = number(n_before as u64);
            format!("{name}: of the {n_before} slices and async operations that match {before}, none matches {flags}\n")
        }
    })
}

fn hint(selection: &Selection, suggestions: &[(Condition, String)]) -> String {
    if suggestions.is_empty() {
        return String::new();
    }
    let spelled = suggestions.iter().map(|(condition, text)| flag(selection, *condition, &clean(text)));
    let spelled: Vec<String> = spelled.collect();
    format!("\n{HINT}hint:{HINT:#} did you mean {}?\n", spelled.join(" or "))
}

/// Returns the flags of a condition.
fn flags(selection: &Selection, condition: Condition) -> String {
    let globs: &[Glob] = match condition {
        Condition::Name => &selection.names,
        Condition::Category => &selection.categories,
        Condition::Track => &selection.tracks,
        Condition::Process => &selection.processes,
        Condition::Within => &selection.within,
        Condition::Arg(index) => selection.args.get(index).map_or(&[], |filter| &filter.values),
        Condition::Time => return selection.time.as_ref().map_or_else(String::new, time_flag),
    };
    let spelled: Vec<String> = globs.iter().map(|glob| flag(selection, condition, &clean(glob.as_str()))).collect();
    spelled.join(" or ")
}

fn flag(selection: &Selection, condition: Condition, text: &str) -> String {
    let key = match condition {
        Condition::Arg(index) => {
            return format!("`--filter '{ARG_PREFIX}{}={text}'`", arg_name(selection, index));
        }
        Condition::Within => return format!("`--within '{text}'`"),
        Condition::Name => "name",
        Condition::Category => "cat",
        Condition::Track => "track",
        Condition::Process => "process",
        Condition::Time => return format!("`--filter 'time={text}'`"),
    };
    format!("`--filter '{key}={text}'`")
}

fn arg_name(selection: &Selection, index: usize) -> String {
    clean(selection.args.get(index).map_or("", |filter| &filter.name))
}

fn time_flag(range: &Range<i64>) -> String {
    let spelled = |bound: i64| if bound == i64::MIN || bound == i64::MAX { String::new() } else { bound_text(bound) };
    format!("`--filter 'time={}..{}'`", spelled(range.start), spelled(range.end))
}

/// Formats a time for `--filter`.
fn bound_text(ns: i64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.into_iter().find(|(factor, _)| ns % factor == 0) {
        Some((factor, unit)) => format!("{}{unit}", ns / factor),
        None => format!("{ns}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_time_are_formatted_for_the_flag() {
        assert_eq!(time_flag(&(1_500_000_000..2_000_000_000)), "`--filter 'time=1500ms..2s'`");
        assert_eq!(time_flag(&(i64::MIN..20_000)), "`--filter 'time=..20us'`");
        assert_eq!(time_flag(&(7..i64::MAX)), "`--filter 'time=7ns..'`");
        assert_eq!(time_flag(&(0..1)), "`--filter 'time=0s..1ns'`");
    }
}
