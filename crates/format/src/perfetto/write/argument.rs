//! Writes the arguments of events, called debug annotations in Perfetto.

use super::interner::{Interner, SeenOnce, Word};
use super::text::PushText;
use crate::perfetto::field::{annotation, event, interned, nested};
use crate::perfetto::wire::{Push, Small};
use ferrum_trace_model::Value;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Longer texts are never interned, since they rarely repeat.
const DEFINED_VALUE_BYTES_MAX: usize = 256;

/// The position of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot<'a> {
    /// An argument of an event, with this name.
    Argument(&'a str),
    /// An argument of an event, with the interned name of this number.
    Known(u64),
    /// An entry of an object, with this key.
    Entry(&'a str),
    /// An element of a list.
    Element,
}

impl<'a> Slot<'a> {
    fn field(self) -> u32 {
        match self {
            Self::Argument(_) | Self::Known(_) => event::DEBUG_ANNOTATIONS,
            Self::Entry(_) => annotation::DICT_ENTRIES,
            Self::Element => annotation::ARRAY_VALUES,
        }
    }
}

/// An empty container.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Empty {
    Object,
    List,
}

/// Writes arguments and interns their names and texts.
#[derive(Debug)]
pub(crate) struct Arguments {
    keys: Interner,
    values: Interner,
    seen: SeenOnce,
    /// Has no random seed, so that the same input gives the same bytes. After a collision a text is written inline.
    hasher: BuildHasherDefault<DefaultHasher>,
}

impl Arguments {
    pub(crate) fn new() -> Self {
        Self {
            keys: Interner::new(interned::ANNOTATION_NAMES),
            values: Interner::new(interned::ANNOTATION_STRINGS),
            seen: SeenOnce::new(),
            hasher: BuildHasherDefault::default(),
        }
    }

    /// Writes a scalar value.
    pub(crate) fn push(&mut self, out: &mut ArgumentOutput<'_>, slot: Slot<'_>, value: &Value<'_>) {
        match value {
            Value::Signed(number) => self.push_number(out, slot, annotation::INT, *number as u64),
            Value::Unsigned(number) => match i64::try_from(*number) {
                Ok(_) => self.push_number(out, slot, annotation::INT, *number),
                Err(_) => self.push_number(out, slot, annotation::UINT, *number),
            },
            Value::Bool(truth) => self.push_number(out, slot, annotation::BOOL, u64::from(*truth)),
            Value::Float(number) => {
                let place = self.open(out, slot);
                out.fields.push_fixed64(annotation::DOUBLE, number.to_bits());
                out.fields.close_bytes(place);
            }
            Value::Text(text) => self.push_text(out, slot, text),
            Value::Lost => self.push_text(out, slot, "(lost)"),
        }
    }

    /// Writes an empty object or list, for which only the older encoding exists.
    pub(crate) fn push_empty(&mut self, out: &mut ArgumentOutput<'_>, slot: Slot<'_>, empty: Empty) {
        let place = self.open(out, slot);
        let kind = match empty {
            Empty::Object => nested::DICT,
            Empty::List => nested::ARRAY,
        };
        let inner = out.fields.open_bytes(annotation::NESTED);
        out.fields.push_number(nested::TYPE, kind);
        out.fields.close_bytes(inner);
        out.fields.close_bytes(place);
    }

    /// Starts a container and returns the position for ending it.
    pub(crate) fn open(&mut self, out: &mut ArgumentOutput<'_>, slot: Slot<'_>) -> usize {
        let place = out.fields.open_bytes(slot.field());
        match self.key_of(out, slot) {
            Some(Word::Interned(id)) => out.fields.push_number(annotation::NAME_IID, id),
            Some(Word::Inline(key)) => out.fields.push_text(annotation::NAME, key),
            None => {}
        }
        place
    }

    /// Interns the name of an argument.
    pub(crate) fn key<'k>(&mut self, key: &'k str, definitions: &mut Vec<u8>) -> Word<'k> {
        self.keys.word(key, definitions)
    }

    #[inline]
    fn key_of<'k>(&mut self, out: &mut ArgumentOutput<'_>, slot: Slot<'k>) -> Option<Word<'k>> {
        match slot {
            Slot::Known(id) => Some(Word::Interned(id)),
            Slot::Argument(key) | Slot::Entry(key) => Some(self.key(key, out.definitions)),
            Slot::Element => None,
        }
    }

    /// Handles the usual case in one copy: an interned key and a number.
    fn push_number(&mut self, out: &mut ArgumentOutput<'_>, slot: Slot<'_>, field: u32, number: u64) {
        let mut body = Small::<32>::new();
        match self.key_of(out, slot) {
            Some(Word::Interned(id)) => body.number(annotation::NAME_IID, id),
            Some(Word::Inline(_)) => {
                let place = self.open(out, slot);
                out.fields.push_number(field, number);
                out.fields.close_bytes(place);
                return;
            }
            None => {}
        }
        body.number(field, number);
        out.fields.push_bytes(slot.field(), body.as_slice());
    }

    fn push_text(&mut self, out: &mut ArgumentOutput<'_>, slot: Slot<'_>, text: &str) {
        match self.value(out, text) {
            Word::Interned(id) => self.push_number(out, slot, annotation::STRING_IID, id),
            Word::Inline(text) => {
                let place = self.open(out, slot);
                out.fields.push_text(annotation::STRING, text);
                out.fields.close_bytes(place);
            }
        }
    }

    fn value<'t>(&mut self, out: &mut ArgumentOutput<'_>, text: &'t str) -> Word<'t> {
        if text.len() > DEFINED_VALUE_BYTES_MAX || !self.seen.is_again(self.hasher.hash_one(text)) {
            return Word::Inline(text);
        }
        self.values.word(text, out.definitions)
    }
}

/// The output for arguments: the fields of an event, and the definitions before it.
pub(crate) struct ArgumentOutput<'a> {
    pub fields: &'a mut Vec<u8>,
    pub definitions: &'a mut Vec<u8>,
}
