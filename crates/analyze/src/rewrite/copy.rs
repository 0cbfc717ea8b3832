//! Copies the events of a trace to an output document.

use super::document::Document;
use super::stoppable::Stop;
use crate::check::texts::mend_broken_texts;
use ferrum_trace_format::chrome::read::{Event, EventSink, Loss, Text, with_valid_numbers};

/// Copies every event unchanged, if it is JSON.
pub(crate) struct Copy<'w> {
    /// The output.
    pub(crate) document: Document<'w>,
    /// Number of events that were read.
    pub(crate) n_read: u64,
}

impl<'w> Copy<'w> {
    pub(crate) fn new(document: Document<'w>) -> Self {
        Self { document, n_read: 0 }
    }
}

impl EventSink for Copy<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.n_read += 1;
        with_valid_numbers(event, |event| match mend_broken_texts(event.json) {
            Some(json) => self.document.event(&json),
            None => self.document.event(event.json),
        });
    }

    fn loss(&mut self, _: Loss) {}

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        self.document.field(key, value, false);
    }
}

impl Stop for Copy<'_> {
    fn is_stopped(&self) -> bool {
        self.document.has_failed()
    }
}
