//! The values of a span's fields, kept until they are recorded.

use super::callsite::FIELDS_MAX;
use crate::process::value::Value;
use crate::thread::arg::Arg;
use ferrum_trace_format::spool::row_title::ID_KEYS;
use std::fmt::{Debug, Write};
use tracing_core::Metadata;
use tracing_core::field::{Field, Visit};

/// Field that contains the message of an event.
const MESSAGE: &str = "message";

/// The values of some fields of a call site.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// Fields that have values: one bit each, by position at the call site.
    pub present: u64,
    /// Their values, in that order.
    values: Vec<Kept>,
    /// Position of the message among all fields, if there is one.
    message: Option<u32>,
}

/// A value that is recorded later.
#[derive(Clone, Debug)]
enum Kept {
    Word(Arg),
    Text(Box<str>),
}

impl Fields {
    /// Returns the values as arguments. Copies texts into the buffer.
    pub(super) fn args(&self) -> Vec<Arg> {
        let arg = |value: &Kept| match value {
            Kept::Word(arg) => *arg,
            Kept::Text(text) => text.to_arg(),
        };
        self.values.iter().map(arg).collect()
    }

    /// Returns the message if it is the only field.
    pub(super) fn only_message(&self) -> Option<&str> {
        match (self.message, self.values.as_slice()) {
            (Some(message), [Kept::Text(text)]) if self.present == 1 << message => Some(text),
            _ => None,
        }
    }

    /// Returns the message.
    pub(super) fn message(&self) -> Option<&str> {
        match self.value(self.message? as usize)? {
            Kept::Text(text) => Some(text),
            Kept::Word(_) => None,
        }
    }

    /// Returns the value of the field that identifies a span of this call site, as text.
    pub(super) fn id(&self, metadata: &'static Metadata<'static>) -> Option<String> {
        ID_KEYS.iter().find_map(|key| match self.value(metadata.fields().field(key)?.index())? {
            Kept::Text(text) => Some(text.to_string()),
            Kept::Word(arg) => arg.number_text(),
        })
    }

    fn value(&self, place: usize) -> Option<&Kept> {
        let bit = 1_u64.checked_shl(place as u32)?;
        (self.present & bit != 0).then(|| &self.values[(self.present & (bit - 1)).count_ones() as usize])
    }

    /// Adds the values of `others`, which replace existing ones.
    pub(super) fn take_over(&mut self, others: Self) {
        let places = (0..FIELDS_MAX).filter(|place| others.present >> place & 1 == 1);
        places.zip(others.values).for_each(|(place, value)| self.set_at(place, value));
        self.message = self.message.or(others.message);
    }

    fn set(&mut self, field: &Field, value: Kept) {
        let place = field.index();
        if place >= FIELDS_MAX {
            return;
        }
        self.set_at(place, value);
        if field.name() == MESSAGE {
            self.message = Some(place as u32);
        }
    }

    fn set_at(&mut self, place: usize, value: Kept) {
        let bit = 1 << place;
        let n_before = (self.present & (bit - 1)).count_ones() as usize;
        if self.present & bit != 0 {
            self.values[n_before] = value;
            return;
        }
        self.present |= bit;
        self.values.insert(n_before, value);
    }

    fn set_word(&mut self, field: &Field, value: impl Value) {
        self.set(field, Kept::Word(value.to_arg()));
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set_word(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set_word(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set_word(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set_word(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, Kept::Text(value.into()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        // Writing to a `String` does not fail; if `Debug` fails, the text so far is kept.
        let _ = write!(text, "{value:?}");
        self.set(field, Kept::Text(text.into()));
    }
}
