//! Writes one Chrome trace event.

use super::event::{Id, Legacy};
use super::tracks::ThreadId;
use crate::chrome::{push_args_value, push_decimal, push_micros, push_text};
use ferrum_trace_model::Value;

/// An event while it is written.
pub(crate) struct JsonLine<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> JsonLine<'a> {
    /// Starts an event at the end of `out`.
    pub(crate) fn new(out: &'a mut Vec<u8>, phase: u8, thread: ThreadId) -> Self {
        out.extend_from_slice(b"{\"ph\":");
        push_text(out, char::from(phase).encode_utf8(&mut [0; 4]));
        out.extend_from_slice(b",\"pid\":");
        push_args_value(out, &Value::Signed(thread.pid));
        out.extend_from_slice(b",\"tid\":");
        push_args_value(out, &Value::Signed(thread.tid));
        Self { out }
    }

    /// Continues an event whose closing brace was removed.
    pub(crate) fn resume(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    pub(crate) fn time(&mut self, nanos: u64) {
        self.out.extend_from_slice(b",\"ts\":");
        push_micros(self.out, nanos);
    }

    pub(crate) fn duration(&mut self, nanos: u64) {
        self.out.extend_from_slice(b",\"dur\":");
        push_micros(self.out, nanos);
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        push_text(self.out, text);
    }

    pub(crate) fn truth(&mut self, key: &str) {
        self.key(key);
        self.out.extend_from_slice(b"true");
    }

    pub(crate) fn id(&mut self, key: &str, id: u64) {
        self.key(key);
        self.out.extend_from_slice(format!("\"{id:#x}\"").as_bytes());
    }

    /// Writes the id of a flow as PyTorch does, as a number, so that it equals the argument `correlation` of the joined
    /// slices. Numbers that PyTorch does not use may be too large for JavaScript and are written as text.
    fn flow_id(&mut self, id: u64) {
        match u32::try_from(id) {
            Ok(id) => {
                self.key("id");
                push_decimal(self.out, u64::from(id));
            }
            Err(_) => self.id("id", id),
        }
    }

    /// Writes the fields of a legacy event.
    pub(crate) fn legacy(&mut self, legacy: &Legacy<'_>) {
        match legacy.id {
            Some(Id::Unscoped(id)) if legacy.is_flow_point() => self.flow_id(id),
            Some(Id::Unscoped(id)) => self.id("id", id),
            Some(Id::Local(id)) => self.out.extend_from_slice(format!(",\"id2\":{{\"local\":\"{id:#x}\"}}").as_bytes()),
            Some(Id::Global(id)) => {
                self.out.extend_from_slice(format!(",\"id2\":{{\"global\":\"{id:#x}\"}}").as_bytes())
            }
            None => {}
        }
        if !legacy.id_scope.is_empty() {
            self.text("scope", &String::from_utf8_lossy(legacy.id_scope));
        }
        if let Some(id) = legacy.bind_id {
            self.id("bind_id", id);
        }
        for (key, is_set) in [("flow_in", legacy.is_flow_in), ("flow_out", legacy.is_flow_out)] {
            if is_set {
                self.truth(key);
            }
        }
        if legacy.binds_to_enclosing {
            self.text("bp", "e");
        }
    }

    /// Writes an object with one value as arguments.
    pub(crate) fn one_arg(&mut self, key: &str, value: &Value<'_>) {
        self.out.extend_from_slice(b",\"args\":{");
        push_text(self.out, key);
        self.out.push(b':');
        push_args_value(self.out, value);
        self.out.push(b'}');
    }

    /// Writes the output of `push` as arguments.
    pub(crate) fn args<E>(&mut self, push: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        self.out.extend_from_slice(b",\"args\":{");
        push(self.out)?;
        self.out.push(b'}');
        Ok(())
    }

    pub(crate) fn end(self) {
        self.out.push(b'}');
    }

    fn key(&mut self, key: &str) {
        self.out.push(b',');
        push_text(self.out, key);
        self.out.push(b':');
    }
}

/// Writes the sort index of a process or thread.
pub(crate) fn push_sort_index(out: &mut Vec<u8>, index: i64) {
    out.extend_from_slice(b"\"sort_index\":");
    if index < 0 {
        out.push(b'-');
    }
    push_decimal(out, index.unsigned_abs());
}
