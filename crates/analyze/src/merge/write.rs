//! The merged trace, event by event.

use super::edges::{Edges, Fate};
use super::plan::Plan;
use super::rewrite::Rewriter;
use super::{Error, Input};
use crate::repair::document::Document;
use crate::repair::{OutputForm, Stop, for_each_until};
use ferrum_trace_format::chrome::read::{Event, EventSink, Loss, Text, for_each_event_in_field, with_valid_numbers};
use std::collections::BTreeMap;
use std::io::Write;

/// Writes it. Returns how many events it has.
pub fn write(plan: &Plan, inputs: &[Input], out: &mut dyn Write) -> Result<u64, Error> {
    let mut document = Document::new(out, OutputForm::Object);
    for (key, value) in &plan.fields {
        document.field(Text::plain(key), value, false);
    }
    for event in &plan.header {
        document.event(event);
    }
    let mut edges: BTreeMap<u32, Edges> = BTreeMap::new();
    for (file, &place) in plan.files.iter().zip(&plan.order) {
        let input = &inputs[place];
        let cannot = |cause| Error::Input { place, name: input.name.clone(), cause };
        let mut edges = file.is_part.then(|| edges.entry(file.recording).or_default());
        edges.iter_mut().for_each(|edges| edges.next_file());
        let mut pass = Pass { rewriter: Rewriter::new(file), edges, document: &mut document };
        for_each_until((input.open)().map_err(cannot)?, &mut pass).map_err(cannot)?;
        document.check().map_err(Error::Write)?;
    }
    edges.into_values().flat_map(Edges::into_ends).for_each(|end| document.event(&end));
    let n_events = document.n_events;
    document.finish().map_err(Error::Write)?;
    Ok(n_events)
}

/// One input.
struct Pass<'p, 'd, 'w> {
    rewriter: Rewriter<'p>,
    /// Of a file that others go on from, or go on in.
    edges: Option<&'d mut Edges>,
    document: &'d mut Document<'w>,
}

impl EventSink for Pass<'_, '_, '_> {
    fn event(&mut self, event: &Event<'_>) {
        let fate = self.edges.as_mut().map_or(Fate::Stays, |edges| edges.fate_of(event));
        if fate == Fate::Goes {
            return;
        }
        let Some(json) = with_valid_numbers(event, |event| self.rewriter.rewrite(event)) else { return };
        match (fate, &mut self.edges) {
            (Fate::Waits(thing), Some(edges)) => edges.hold(thing, json.to_vec()),
            _ => self.document.event(&json),
        }
    }

    fn loss(&mut self, _: Loss) {}

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        for_each_event_in_field(key, value, |event| self.event(event));
    }
}

impl Stop for Pass<'_, '_, '_> {
    fn wants_no_more(&self) -> bool {
        self.document.has_failed()
    }
}
