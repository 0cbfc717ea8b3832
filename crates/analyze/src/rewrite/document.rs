//! Output document: fields, events, and the punctuation between them.

use crate::check::texts::mend_texts;
use ferrum_trace_format::chrome::read::{Text, repair_numbers};
use std::borrow::Cow;
use std::io::{self, Write};

/// Shape of an output document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputForm {
    /// An object with a list `traceEvents`, which all viewers accept.
    #[default]
    Object,
    /// A list of events. It has no room for other fields.
    Array,
}

/// Number of bytes that are written at once.
const BUFFER_BYTES: usize = 256 << 10;
/// Maximum number of bytes of fields between the events that are kept until the events end.
const LATE_BYTES_MAX: usize = 64 << 20;

/// Document that is being written. Nothing is written after the first error.
pub(crate) struct Document<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    form: OutputForm,
    state: State,
    /// Fields that came between the events.
    late: Vec<u8>,
    /// Number of events that were written.
    pub n_events: u64,
    /// Number of fields that were left out.
    pub n_fields_lost: u64,
    result: io::Result<()>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the list of events.
    Before { has_fields: bool },
    /// In the list of events.
    Events,
    /// After the list of events.
    After,
}

impl<'w> Document<'w> {
    /// Creates an empty document.
    pub(crate) fn new(out: &'w mut dyn Write, form: OutputForm) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(2 * BUFFER_BYTES),
            form,
            state: State::Before { has_fields: false },
            late: Vec::new(),
            n_events: 0,
            n_fields_lost: 0,
            result: Ok(()),
        }
    }

    /// Returns true if writing has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.result.is_err()
    }

    /// Returns the error of writing, if there was one.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        std::mem::replace(&mut self.result, Ok(()))
    }

    /// Writes an event.
    pub(crate) fn event(&mut self, json: &[u8]) {
        self.begin_events();
        self.buffer.extend_from_slice(if self.n_events == 0 { b"\n" } else { b",\n" });
        self.buffer.extend_from_slice(json);
        self.n_events += 1;
        self.flush_if_full();
    }

    /// Writes a field of the object around the events. `is_last` if no event follows.
    pub(crate) fn field(&mut self, key: Text<'_>, value: &[u8], is_last: bool) {
        // The list itself is written; another field of that name is left out.
        if self.form == OutputForm::Array || key.raw == b"traceEvents" {
            self.n_fields_lost += 1;
            return;
        }
        let quoted = [b"\"", key.raw, b"\""].concat();
        let key = mend_texts(&quoted).unwrap_or(quoted);
        let value = repair_numbers(value);
        let value = mend_texts(&value).map_or(value, Cow::Owned);
        match self.state {
            State::Before { has_fields } => {
                self.buffer.extend_from_slice(if has_fields { b",\n" } else { b"{" });
                self.state = State::Before { has_fields: true };
                self.push_member(&key, &value);
            }
            State::Events if !is_last => {
                if self.late.len() + key.len() + value.len() > LATE_BYTES_MAX {
                    self.n_fields_lost += 1;
                    return;
                }
                for part in [b",\n", &key[..], b":", &value] {
                    self.late.extend_from_slice(part);
                }
            }
            State::Events | State::After => {
                self.end_events();
                self.buffer.extend_from_slice(b",\n");
                self.push_member(&key, &value);
            }
        }
        self.flush_if_full();
    }

    fn push_member(&mut self, key: &[u8], value: &[u8]) {
        self.buffer.extend_from_slice(key);
        self.buffer.push(b':');
        self.buffer.extend_from_slice(value);
    }

    fn begin_events(&mut self) {
        if let State::Before { has_fields } = self.state {
            self.buffer.extend_from_slice(match (self.form, has_fields) {
                (OutputForm::Array, _) => b"[",
                (OutputForm::Object, true) => b",\n\"traceEvents\":[",
                (OutputForm::Object, false) => b"{\"traceEvents\":[",
            });
            self.state = State::Events;
        }
    }

    fn end_events(&mut self) {
        self.begin_events();
        if self.state == State::Events {
            self.buffer.extend_from_slice(b"\n]");
            let late = std::mem::take(&mut self.late);
            self.buffer.extend_from_slice(&late);
            self.state = State::After;
        }
    }

    /// Closes the file.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.end_events();
        self.buffer.extend_from_slice(if self.form == OutputForm::Object { b"}\n" } else { b"\n" });
        self.flush();
        self.result?;
        self.out.flush()
    }

    fn flush_if_full(&mut self) {
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.result.is_ok() {
            self.result = self.out.write_all(&self.buffer);
        }
        self.buffer.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: OutputForm, write: impl FnOnce(&mut Document<'_>)) -> String {
        let mut out = Vec::new();
        let mut document = Document::new(&mut out, form);
        write(&mut document);
        document.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_keep_their_place() {
        let all = |document: &mut Document<'_>| {
            document.field(Text::plain(b"a"), b"1", false);
            document.event(b"{}");
            document.field(Text::plain(b"b"), b"2", false);
            document.event(b"{}");
            document.field(Text::plain(b"c"), b"3", true);
        };
        let object = "{\"a\":1,\n\"traceEvents\":[\n{},\n{}\n],\n\"b\":2,\n\"c\":3}\n";
        assert_eq!(written(OutputForm::Object, all), object);
        assert_eq!(written(OutputForm::Array, all), "[\n{},\n{}\n]\n");
        assert_eq!(written(OutputForm::Object, |_| {}), "{\"traceEvents\":[\n]}\n");
    }
}
