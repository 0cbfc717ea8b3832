//! Instants of a trace, by name.

use ferrum_trace_model::vocab::about;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Instants of one name and category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstantRow {
    /// The name.
    pub name: StringId,
    /// The category; empty if they have none.
    pub category: StringId,
    /// Number of instants.
    pub count: u64,
    /// The time of the first.
    pub first: i64,
    /// The time of the last.
    pub last: i64,
}

/// Counts the instants of a trace, the most frequent first. Instants in which the recorder states losses are left out.
pub fn instants(trace: &Trace) -> Vec<InstantRow> {
    let instants = &trace.instants;
    let of_recorder = trace.strings.find(about::NAME);
    let mut rows: HashMap<(StringId, StringId), InstantRow> = HashMap::new();
    for (n, &time) in instants.time.iter().enumerate() {
        let (name, category) = (instants.name[n], instants.category[n]);
        if Some(category) == of_recorder {
            continue;
        }
        let empty = InstantRow { name, category, count: 0, first: time, last: time };
        let row = rows.entry((name, category)).or_insert(empty);
        row.count += 1;
        row.first = row.first.min(time);
        row.last = row.last.max(time);
    }
    let mut rows: Vec<InstantRow> = rows.into_values().collect();
    rows.sort_unstable_by_key(|row| (Reverse(row.count), row.name, row.category));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_format::chrome::read::{LoadOptions, load};

    #[test]
    fn instants_are_counted_by_name_and_category() {
        let json = br#"[{"ph":"i","name":"evict","cat":"kv","ts":3,"pid":1,"tid":1},
            {"ph":"i","name":"trigger","cat":"trigger","ts":2,"pid":1,"tid":1},
            {"ph":"I","name":"evict","cat":"kv","ts":1,"pid":1,"tid":1},
            {"ph":"i","name":"9 events lost","cat":"ferrum_trace","ts":0,"pid":1,"tid":1}]"#;
        let trace = load(&json[..], &LoadOptions::default()).unwrap().trace;
        let text = |id| trace.strings.get(id);
        let found: Vec<_> = instants(&trace)
            .iter()
            .map(|row| (text(row.name), text(row.category), row.count, row.first, row.last))
            .collect();
        assert_eq!(found, [("evict", "kv", 2, 1000, 3000), ("trigger", "trigger", 1, 2000, 2000)]);
    }
}
