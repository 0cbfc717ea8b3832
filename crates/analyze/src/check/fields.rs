//! Checks the fields of the object around the events.

use super::findings::Findings;
use super::rules::document::UNUSABLE_FIELD;
use super::rules::events::ODD_NUMBER;
use super::texts::check_broken_texts;
use ferrum_trace_format::chrome::read::{Scalar, Text, for_each_member, repair_numbers};
use std::borrow::Cow;

/// Checks one field. Viewers read or skip it, but all of them require valid JSON.
pub(crate) fn check_field(key: Text<'_>, value: &[u8], findings: &mut Findings) {
    let quoted = [b"\"", key.raw, b"\""].concat();
    check_broken_texts(&quoted, findings);
    check_broken_texts(value, findings);
    if matches!(repair_numbers(value), Cow::Owned(_)) {
        findings.note_somewhere(&ODD_NUMBER);
    }
    if !is_usable(key, value) {
        findings.note_somewhere(&UNUSABLE_FIELD);
    }
}

/// Returns true if no viewer refuses a file for a field.
pub(crate) fn is_usable(key: Text<'_>, value: &[u8]) -> bool {
    let value = value.trim_ascii();
    match &*key.decode() {
        "displayTimeUnit" => matches!(value, b"\"ns\"" | b"\"ms\""),
        "systemTraceEvents" => text_of(value).is_some_and(|text| is_kernel_trace(&text)),
        "stackFrames" => is_stack_frames(value),
        "metadata" => value != b"null",
        _ => true,
    }
}

fn text_of(value: &[u8]) -> Option<Cow<'_, str>> {
    let raw = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    Some(Text { raw, is_escaped: raw.contains(&b'\\') }.decode())
}

/// Returns true if a text is a trace of the kernel's tracer: comments, and lines such as `TASK-7 [001] d..3 12.5: NAME:
/// ...`.
fn is_kernel_trace(text: &str) -> bool {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).all(|line| {
        let Some((task, rest)) = line.split_once(" [") else {
            return false;
        };
        let has_number = task.split_whitespace().any(|word| {
            word.rsplit_once('-')
                .is_some_and(|(_, pid)| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let processor_and_event = rest.split_once("] ");
        has_number
            && processor_and_event
                .is_some_and(|(processor, event)| processor.parse::<u32>().is_ok() && event.contains(": "))
    })
}

/// Returns true if all frames have names.
fn is_stack_frames(value: &[u8]) -> bool {
    let mut is_sound = !value.starts_with(b"\"");
    for_each_member(value, |_, frame| {
        let mut has_name = false;
        if let Scalar::Other(frame) = frame {
            for_each_member(frame, |key, value| has_name |= key.raw == b"name" && value != Scalar::Other(b"null"));
        }
        is_sound &= has_name;
    });
    is_sound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_a_viewer_refuses_are_detected() {
        let cases = [
            ("systemTraceEvents", r#""""#, true),
            ("systemTraceEvents", r##""# tracer: nop\n  <idle>-0 [001] d..3 12.5: sched_switch: a\n""##, true),
            ("systemTraceEvents", r#""hello world""#, false),
            ("systemTraceEvents", "{}", false),
            ("systemTraceEvents", "null", false),
            ("displayTimeUnit", r#""ns""#, true),
            ("displayTimeUnit", r#""s""#, false),
            ("displayTimeUnit", "5", false),
            ("stackFrames", r#"{"5":{"name":"main"}}"#, true),
            ("stackFrames", r#"{"5":{"category":"c"}}"#, false),
            ("stackFrames", r#"{"5":null}"#, false),
            ("stackFrames", r#""x""#, false),
            ("metadata", "{}", true),
            ("metadata", "null", false),
            ("otherData", "null", true),
        ];
        for (key, value, expected) in cases {
            assert_eq!(is_usable(Text::plain(key.as_bytes()), value.as_bytes()), expected, "{key}: {value}");
        }
    }
}
