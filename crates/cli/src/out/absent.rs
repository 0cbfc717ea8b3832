//! That a trace has not what is asked for, and what it has instead.

use super::table::clean;
use super::units::number;
use crate::source::Source;
use anstyle::Style;
use ferrum_trace_analyze::contents;
use ferrum_trace_model::{StringId, Trace};

const TITLE: Style = Style::new().bold();
/// So many categories are named.
const NAMED: usize = 8;

/// What was looked for, and what is there.
pub fn text(source: &Source, trace: &Trace, what: &str, looked_for: &[&str]) -> String {
    let contents = contents(trace);
    let mut text = format!("{TITLE}{}{TITLE:#}: no {what} that the flags ask for\n", clean(&source.words));
    text.push_str("looked for\n");
    for thing in looked_for {
        text.push_str(&format!("  {thing}\n"));
    }
    text.push_str("there is instead\n");
    text.push_str(&line(trace, "slices", &contents.slices));
    text.push_str(&line(trace, "asynchronous events", &contents.asyncs));
    text
}

fn line(trace: &Trace, what: &str, categories: &[(StringId, u64)]) -> String {
    if categories.is_empty() {
        return format!("  {what}: none\n");
    }
    let named = |&(category, count): &(StringId, u64)| match trace.strings.get(category) {
        "" => format!("{} without a category", number(count)),
        category => format!("{} `{}`", number(count), clean(category)),
    };
    let mut named: Vec<String> = categories.iter().take(NAMED).map(named).collect();
    let n_more = categories.len().saturating_sub(NAMED);
    if n_more > 0 {
        named.push(format!("{} more categories", number(n_more as u64)));
    }
    format!("  {what}: {}\n", named.join(", "))
}
