//! Operations of the slices of a trace.

use super::rules::Rules;
use ferrum_trace_model::vocab::Op;
use ferrum_trace_model::{StringId, Trace};

/// Operations of the slices of a trace, by the built-in rules. Each name is classified once.
#[derive(Debug)]
pub(crate) struct Ops {
    rules: Rules,
    /// Operation of each text as a category, and as a name.
    categories: Vec<Option<Op>>,
    names: Vec<Answer>,
}

/// Cached classification of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Unasked,
    Known(Option<Op>),
}

impl Ops {
    /// Prepares the classification for a trace.
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut categories = vec![None; trace.strings.len()];
        for &op in Op::ALL {
            if let Some(id) = trace.strings.find(op.as_str()) {
                categories[id.index()] = Some(op);
            }
        }
        Self { rules: Rules::built_in(), categories, names: vec![Answer::Unasked; trace.strings.len()] }
    }

    /// Returns the operation of a slice: that of its category if it is one of our vocabulary, else that of its name.
    pub(crate) fn get(&mut self, trace: &Trace, category: StringId, name: StringId) -> Option<Op> {
        if let Some(op) = self.categories[category.index()] {
            return Some(op);
        }
        let answer = &mut self.names[name.index()];
        if *answer == Answer::Unasked {
            let class = self.rules.classify(trace.strings.get(name));
            *answer = Answer::Known(class.and_then(|class| self.rules.op(class)));
        }
        match *answer {
            Answer::Known(op) => op,
            Answer::Unasked => None,
        }
    }
}
