//! JSON for the events that are written: times, texts and metadata events.

use ferrum_trace_format::chrome::{push_decimal, push_micros, push_text};

/// Returns nanoseconds as microseconds: whole ones without decimals.
pub(crate) fn micros(nanos: i64) -> Vec<u8> {
    let mut out = Vec::new();
    if nanos < 0 {
        out.push(b'-');
    }
    match nanos.unsigned_abs() {
        whole if whole % 1000 == 0 => push_decimal(&mut out, whole / 1000),
        size => push_micros(&mut out, size),
    }
    out
}

/// Returns a metadata event with the given arguments, as JSON.
pub(crate) fn metadata(name: &str, pid: u32, tid: Option<u32>, args: &[u8]) -> Vec<u8> {
    let tid = tid.map_or(String::new(), |tid| format!(",\"tid\":{tid}"));
    let head = format!("{{\"ph\":\"M\",\"name\":\"{name}\",\"pid\":{pid}{tid},\"args\":");
    [head.as_bytes(), args, b"}"].concat()
}

/// Returns a metadata event that names a process or a thread.
pub(crate) fn naming(kind: &str, pid: u32, tid: Option<u32>, name: &str) -> Vec<u8> {
    metadata(kind, pid, tid, &[b"{\"name\":", &text(name)[..], b"}"].concat())
}

/// Returns a text as JSON.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_text(&mut out, text);
    out
}
