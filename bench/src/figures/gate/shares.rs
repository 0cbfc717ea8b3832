//! Shares of operations in the time of steps, from traces of the engine.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use ferrum_trace_analyze::{GroupBy, Nesting, Selected, Summary, SummaryOptions, summarize};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open_file;

use crate::contenders::Outcome;

/// Category of steps in the trace.
const STEP: &str = "step";

/// Sums of nanoseconds over all traces.
#[derive(Debug, Default)]
pub(super) struct Shares {
    steps: i64,
    ops: HashMap<String, i64>,
}

impl Shares {
    /// Adds the slices of a trace.
    pub(super) fn add(&mut self, path: &Path) -> Outcome {
        let opened = open_file(File::open(path)?)?;
        let trace = load(opened, &LoadOptions { args: Vec::new(), n_workers: 1 })?.trace;
        let nesting = Nesting::with_workers(&trace, 1);
        let options = SummaryOptions { by: vec![GroupBy::Category, GroupBy::Name], ..SummaryOptions::default() };
        let Summary { rows, .. } = summarize(&trace, &nesting, &Selected::all(&trace), &options);
        for row in rows {
            let (Some(category), Some(name)) = (row.key.category, row.key.name) else { continue };
            match trace.strings.get(category) {
                STEP => self.steps += row.total,
                _ => *self.ops.entry(trace.strings.get(name).to_owned()).or_default() += row.total,
            }
        }
        Ok(())
    }

    /// Share of an operation; zero if there is none of this name.
    pub(super) fn of(&self, op: &str) -> f64 {
        self.ops.get(op).map_or(0.0, |time| *time as f64 / self.steps.max(1) as f64)
    }

    #[cfg(test)]
    pub(super) fn set(&mut self, op: &str, time: i64, steps: i64) {
        self.ops.insert(op.to_owned(), time);
        self.steps = steps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_share_is_the_time_of_an_operation_in_all_traces_over_that_of_their_steps() {
        let folder = tempfile::tempdir().unwrap();
        let mut shares = Shares::default();
        for (name, op) in [("a.json", 30), ("b.json", 10)] {
            let slice = |name: &str, category: &str, dur: u32| {
                format!(r#"{{"ph":"X","name":"{name}","cat":"{category}","ts":5,"dur":{dur},"pid":1,"tid":1}}"#)
            };
            let events = [slice("decode", "step", 100), slice("rope", "rope", op)];
            fs::write(folder.path().join(name), format!("[{}]", events.join(","))).unwrap();
            shares.add(&folder.path().join(name)).unwrap();
        }
        assert!((shares.of("rope") - 0.2).abs() < 1e-9, "{shares:?}");
        assert_eq!(shares.of("decode"), 0.0);
    }
}
