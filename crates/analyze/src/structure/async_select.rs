//! Selects async operations by the conditions that select slices.

use super::async_ops::{AsyncOp, async_ops};
use super::glob::Glob;
use super::nesting::NestingKey;
use super::select::{Cover, matching_strings};
use super::select::{Enclosing, Selection};
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;
use std::cmp::Reverse;

impl Selection {
    /// Drops the async operations that are not selected.
    ///
    /// Track, process and arguments are those of the begin, and the operation belongs to the time range in which it
    /// begins. It lies within another operation of the same category and id that lasts at least as long. It lies within
    /// slices of its process, or of any process if its own has no slice of that name.
    pub fn retain_asyncs(&self, trace: &Trace, ops: &mut Vec<AsyncOp>) {
        let Self { names, categories, tracks, processes, args, time, within } = self;
        if !names.is_empty() {
            let matching = matching_strings(trace, names);
            ops.retain(|op| matching[op.name.index()]);
        }
        if !categories.is_empty() {
            let matching = matching_strings(trace, categories);
            ops.retain(|op| matching[op.category.index()]);
        }
        if !tracks.is_empty() || !processes.is_empty() {
            let matching = self.matching_tracks(trace);
            ops.retain(|op| matching[op.track.index()]);
        }
        for filter in args {
            let matcher = filter.matcher(trace);
            ops.retain(|op| matcher.matches(op.order));
        }
        if let Some(time) = time {
            let first = trace.census.first.unwrap_or(0);
            ops.retain(|op| time.contains(&op.start.saturating_sub(first)));
        }
        if !within.is_empty() {
            let enclosing = EnclosingOps::new(trace, within);
            ops.retain(|op| enclosing.holds(op));
        }
    }
}

/// Slices and async operations with given names, for lookups of the operations that lie in them.
struct EnclosingOps<'a> {
    trace: &'a Trace,
    slices: Enclosing,
    /// Operations, by category and id.
    ops: HashMap<(StringId, StringId), Cover>,
}

impl<'a> EnclosingOps<'a> {
    fn new(trace: &'a Trace, names: &[Glob]) -> Self {
        let matching = matching_strings(trace, names);
        let mut enclosing = async_ops(trace);
        enclosing.retain(|op| matching[op.name.index()]);
        enclosing.sort_unstable_by_key(|op| nesting_key(trace, op));
        let mut ops: HashMap<(StringId, StringId), Cover> = HashMap::new();
        for op in &enclosing {
            ops.entry((op.category, op.id)).or_default().push(nesting_key(trace, op));
        }
        Self { trace, slices: Enclosing::new(trace, names), ops }
    }

    fn holds(&self, op: &AsyncOp) -> bool {
        let key = nesting_key(self.trace, op);
        let (start, Reverse(end), _) = key;
        let end_min = end.max(start.saturating_add(1));
        let in_op = self.ops.get(&(op.category, op.id)).and_then(|ops| ops.latest_end_before(key)) >= Some(end_min);
        in_op || self.slices.holds_of_process(self.trace.tracks.get(op.track).process, start, end_min)
    }
}

/// Sort key that puts outer operations before inner ones. An unfinished one lasts to the end of the trace.
fn nesting_key(trace: &Trace, op: &AsyncOp) -> NestingKey {
    let end = op.end.or(trace.census.last).unwrap_or(op.start);
    (op.start, Reverse(end), op.order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_format::chrome::read::{LoadOptions, load};

    const TRACE: &str = r#"[
        {"ph":"X","cat":"s","name":"step","ts":0,"dur":10,"pid":1,"tid":1},
        {"ph":"b","cat":"r","name":"request","id":1,"ts":1,"pid":1,"tid":1},
        {"ph":"b","cat":"r","name":"queued","id":1,"ts":1,"pid":1,"tid":1},
        {"ph":"e","cat":"r","name":"queued","id":1,"ts":4,"pid":1,"tid":1},
        {"ph":"b","cat":"r","name":"decode","id":1,"ts":4,"pid":1,"tid":1},
        {"ph":"e","cat":"r","name":"decode","id":1,"ts":12,"pid":1,"tid":2},
        {"ph":"e","cat":"r","name":"request","id":1,"ts":12,"pid":1,"tid":1},
        {"ph":"b","cat":"t","name":"task","id":1,"ts":2,"pid":2,"tid":9},
        {"ph":"e","cat":"t","name":"task","id":1,"ts":3,"pid":2,"tid":9}]"#;

    #[track_caller]
    fn assert_selected(selection: &Selection, expected: &[&str]) {
        let trace = load(TRACE.as_bytes(), &LoadOptions::default()).unwrap().trace;
        let mut ops = async_ops(&trace);
        selection.retain_asyncs(&trace, &mut ops);
        let mut names: Vec<&str> = ops.iter().map(|op| trace.strings.get(op.name)).collect();
        names.sort_unstable();
        assert_eq!(names, expected);
    }

    fn globs(pattern: &str) -> Vec<Glob> {
        vec![Glob::new(pattern)]
    }

    #[test]
    fn operations_are_selected_by_every_condition() {
        let all = Selection::default();
        assert_selected(&all, &["decode", "queued", "request", "task"]);
        assert_selected(&Selection { names: globs("*e*d*"), ..all.clone() }, &["decode", "queued"]);
        assert_selected(&Selection { categories: globs("t"), ..all.clone() }, &["task"]);
        assert_selected(&Selection { tracks: globs("9"), ..all.clone() }, &["task"]);
        assert_selected(&Selection { tracks: globs("2"), ..all.clone() }, &[]);
        assert_selected(&Selection { processes: globs("1"), ..all.clone() }, &["decode", "queued", "request"]);
        assert_selected(&Selection { time: Some(2_000..5_000), ..all }, &["decode", "task"]);
    }

    #[test]
    fn operations_lie_within_slices_and_within_operations_of_their_id() {
        let within = |pattern: &str| Selection { within: globs(pattern), ..Selection::default() };
        assert_selected(&within("request"), &["decode", "queued"]);
        assert_selected(&within("step"), &["queued", "task"]);
        assert_selected(&within("queued"), &[]);
    }
}
