//! The values of a span's fields, kept until they are recorded.

use super::callsite::FIELDS_MAX;
use super::slot::{SLOT_ARGS, Slot};
use crate::process::value::Value;
use crate::thread::arg::Arg;
use ferrum_trace_format::spool::record::{Type, short_text};
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
    /// Returns the fields of a span in a slot.
    pub(super) fn of_slot(slot: &Slot) -> Self {
        let args = slot.args::<SLOT_ARGS>();
        let values = args[..slot.n_args()].iter().map(|arg| Kept::Word(*arg)).collect();
        Self { present: slot.present(), values, message: None }
    }

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
            Kept::Word(arg) => arg.word_text(),
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

/// The values of the fields of a new span, if they fit into a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortFields {
    pub present: u64,
    args: [Arg; SLOT_ARGS],
    n_args: usize,
    /// False if a value is not a number, a boolean or a text of up to 7 bytes, or if there are too many.
    pub fits: bool,
}

impl ShortFields {
    pub(super) const fn new() -> Self {
        Self { present: 0, args: [Arg::LOST; SLOT_ARGS], n_args: 0, fits: true }
    }

    pub(super) fn args(&self) -> &[Arg] {
        &self.args[..self.n_args]
    }

    #[inline]
    fn add(&mut self, field: &Field, arg: Arg) {
        let place = field.index();
        // The values come in the order of the fields, except if a field occurs twice.
        if self.n_args == SLOT_ARGS || place >= FIELDS_MAX || self.present >> place != 0 {
            self.fits = false;
            return;
        }
        self.args[self.n_args] = arg;
        self.n_args += 1;
        self.present |= 1 << place;
    }
}

impl Visit for ShortFields {
    #[inline]
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.to_arg());
    }

    #[inline]
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.to_arg());
    }

    #[inline]
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value.to_arg());
    }

    #[inline]
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.to_arg());
    }

    #[inline]
    fn record_str(&mut self, field: &Field, value: &str) {
        match short_text(value) {
            Some(word) => self.add(field, Arg::new(word, Type::ShortText)),
            None => self.fits = false,
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {
        self.fits = false;
    }
}
