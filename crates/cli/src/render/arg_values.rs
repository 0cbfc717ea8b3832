//! Describes the values of arguments in one line, for filters that match nothing.

use super::contents::list;
use super::table::clean;
use ferrum_trace_analyze::arg_values;
use ferrum_trace_model::Trace;

/// Returns the values of an argument, or that no slice has it: ``the values of `batch` are `1`, `4` ``.
pub(crate) fn values_text(trace: &Trace, name: &str) -> String {
    let values = arg_values(trace, name);
    let name = clean(name);
    match values.len() {
        0 => format!("no slice or async operation has an argument `{name}`"),
        1 => format!("the only value of `{name}` is `{}`", clean(&values[0])),
        _ => format!("the values of `{name}` are {}", list(values.iter().map(|value| format!("`{}`", clean(value))))),
    }
}
