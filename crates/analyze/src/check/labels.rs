//! Numbers for pairs of name and category.

use ferrum_trace_format::chrome::read::{Event, Scalar};
use ferrum_trace_model::{StringId, Strings};
use hashbrown::HashMap;
use std::borrow::Cow;

/// Pairs of name and category, numbered.
#[derive(Debug, Default)]
pub(super) struct Labels {
    strings: Strings,
    pairs: Vec<Label>,
    ids: HashMap<Label, u32>,
}

/// Name and category, as far as present.
type Label = (Option<StringId>, Option<StringId>);

impl Labels {
    /// Returns the number of an event's name and category.
    pub(super) fn label(&mut self, event: &Event<'_>) -> u32 {
        let label = (self.text(event.name), self.text(event.category));
        let Self { pairs, ids, .. } = self;
        *ids.entry(label).or_insert_with(|| {
            pairs.push(label);
            pairs.len() as u32 - 1
        })
    }

    /// Returns the number of an event's name alone.
    pub(super) fn name(&mut self, event: &Event<'_>) -> u32 {
        self.text(event.name).map_or(0, |name| name.0)
    }

    fn text(&mut self, scalar: Option<Scalar<'_>>) -> Option<StringId> {
        let scalar = scalar?;
        Some(match scalar.plain().and_then(|raw| std::str::from_utf8(raw).ok()) {
            Some(plain) => self.strings.intern(plain),
            None => self.strings.intern(&scalar.decode()),
        })
    }

    /// Returns true if all viewers pair an end with a begin: the name is the same, and so is the category if the end
    /// has one.
    pub(super) fn is_end_of(&self, begin: u32, end: u32) -> bool {
        let (begin_name, begin_category) = self.pairs[begin as usize];
        let (name, category) = self.pairs[end as usize];
        name.is_some() && name == begin_name && (category.is_none() || category == begin_category)
    }
}

/// Returns the decoded text of a scalar, if there is one.
pub(super) fn decoded<'a>(scalar: Option<Scalar<'a>>) -> Option<Cow<'a, str>> {
    scalar.map(|scalar| scalar.decode())
}
