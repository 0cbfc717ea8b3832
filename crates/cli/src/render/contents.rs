//! Describes the contents of a trace in one line, for traces that lack what a command shows.

use super::table::clean;
use super::units::{count, number};
use ferrum_trace_analyze::contents;
use ferrum_trace_model::{StringId, Trace};

/// Number of categories, names or ids that are listed.
const LISTED: usize = 8;

/// Returns the number of events by category: `the file has 6 slices (4 `op`, 2 `io`) and no async events`.
pub(crate) fn contents_text(trace: &Trace) -> String {
    let contents = contents(trace);
    let [slices, asyncs] = [("slice", &contents.slices), ("async event", &contents.asyncs)]
        .map(|(what, categories)| counted(trace, what, categories));
    format!("the file has {slices} and {asyncs}")
}

fn counted(trace: &Trace, what: &str, categories: &[(StringId, u64)]) -> String {
    let total: u64 = categories.iter().map(|(_, count)| count).sum();
    if total == 0 {
        return format!("no {what}s");
    }
    let named = |&(category, count): &(StringId, u64)| match trace.strings.get(category) {
        "" => format!("{} without a category", number(count)),
        category => format!("{} `{}`", number(count), clean(category)),
    };
    format!("{} ({})", count(total, what), list(categories.iter().map(named)))
}

/// Lists the first few items, and the number of the others.
pub(crate) fn list(things: impl ExactSizeIterator<Item = String>) -> String {
    let n_more = things.len().saturating_sub(LISTED);
    let mut listed: Vec<String> = things.take(LISTED).collect();
    if n_more > 0 {
        listed.push(format!("{} more", number(n_more as u64)));
    }
    listed.join(", ")
}
