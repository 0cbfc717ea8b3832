//! Writes the merged trace, event by event.

use super::error::Error;
use super::input::Input;
use super::part_boundaries::{PartBoundaries, Treatment};
use super::plan::Plan;
use super::rewriter::Rewriter;
use crate::rewrite::document::Document;
use crate::rewrite::document::OutputForm;
use crate::rewrite::stoppable::{Stop, for_each_until};
use ferrum_trace_format::chrome::read::{Event, EventSink, Loss, Text, for_each_event_in_field, with_valid_numbers};
use std::collections::BTreeMap;
use std::io::Write;

/// Writes the merged trace. Returns the number of events.
pub(super) fn write(plan: &Plan, inputs: &[Input], out: &mut dyn Write) -> Result<u64, Error> {
    let mut document = Document::new(out, OutputForm::Object);
    for (key, value) in &plan.fields {
        document.field(Text::plain(key), value, false);
    }
    for event in &plan.header {
        document.event(event);
    }
    let mut boundaries: BTreeMap<u32, PartBoundaries> = BTreeMap::new();
    for (file, &place) in plan.files.iter().zip(&plan.order) {
        let input = &inputs[place];
        let cannot = |cause| Error::Input { place, name: input.name.clone(), cause };
        let mut boundaries = file.is_part.then(|| boundaries.entry(file.recording).or_default());
        boundaries.iter_mut().for_each(|boundaries| boundaries.next_part());
        let mut pass = Pass { rewriter: Rewriter::new(file), boundaries, document: &mut document };
        for_each_until((input.open)().map_err(cannot)?, &mut pass).map_err(cannot)?;
        document.check().map_err(Error::Write)?;
    }
    boundaries.into_values().flat_map(PartBoundaries::into_ends).for_each(|end| document.event(&end));
    let n_events = document.n_events;
    document.finish().map_err(Error::Write)?;
    Ok(n_events)
}

/// Pass over one input.
struct Pass<'p, 'd, 'w> {
    rewriter: Rewriter<'p>,
    /// Present if the recording has several parts.
    boundaries: Option<&'d mut PartBoundaries>,
    document: &'d mut Document<'w>,
}

impl EventSink for Pass<'_, '_, '_> {
    fn event(&mut self, event: &Event<'_>) {
        let treatment = self.boundaries.as_mut().map_or(Treatment::Write, |boundaries| boundaries.treatment_of(event));
        if treatment == Treatment::Drop {
            return;
        }
        let Some(json) = with_valid_numbers(event, |event| self.rewriter.rewrite(event)) else { return };
        match (treatment, &mut self.boundaries) {
            (Treatment::KeepEnd(key), Some(boundaries)) => boundaries.keep_end(key, json.to_vec()),
            _ => self.document.event(&json),
        }
    }

    fn loss(&mut self, _: Loss) {}

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        for_each_event_in_field(key, value, |event| self.event(event));
    }
}

impl Stop for Pass<'_, '_, '_> {
    fn is_stopped(&self) -> bool {
        self.document.has_failed()
    }
}
