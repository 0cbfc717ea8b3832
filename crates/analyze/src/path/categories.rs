//! Categories of slices: operations of the vocabulary, or classes of the built-in rules.

use crate::ops::{ClassId, Rules};
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// Classifies the slices of a trace. Each name is classified once.
#[derive(Debug)]
pub(super) struct Categories {
    rules: Rules,
    known: HashMap<(StringId, StringId), Option<ClassId>>,
}

impl Categories {
    pub(super) fn new() -> Self {
        Self { rules: Rules::built_in(), known: HashMap::new() }
    }

    /// Returns the class of a slice: that of its category, else that of its name.
    pub(super) fn class(&mut self, trace: &Trace, slice: u32) -> Option<ClassId> {
        let (name, category) = (trace.slices.name[slice as usize], trace.slices.category[slice as usize]);
        let rules = &self.rules;
        *self.known.entry((name, category)).or_insert_with(|| {
            let by_name = rules.classify(trace.strings.get(name));
            rules.classify_in_category(trace.strings.get(category), by_name)
        })
    }

    /// Returns the name of a class.
    pub(super) fn name(&self, class: Option<ClassId>) -> &str {
        class.map_or(OTHER, |class| self.rules.name(class))
    }

    /// Returns the class with this name.
    pub(super) fn find(&self, name: &str) -> Option<ClassId> {
        self.rules.class(name)
    }

    /// Returns true if a class is another one or a part of it.
    pub(super) fn is_within(&self, class: Option<ClassId>, outer: ClassId) -> bool {
        class.is_some_and(|class| self.rules.is_within(class, outer))
    }
}

/// Name of the category of slices without one.
pub(crate) const OTHER: &str = "other";
