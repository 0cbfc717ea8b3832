//! Checks events one by one.

use super::findings::Findings;
use super::rules::asyncs::{ASYNC_WITHOUT_ID, LEGACY_ASYNC};
use super::rules::counters::{COUNTER_NOT_NUMBER, COUNTER_WITHOUT_ARGS};
use super::rules::events::{
    ARGS_NOT_OBJECT, EMPTY_EVENT, EMPTY_ROW_NAME, INSTANT_SCOPE, MISSING_CATEGORY, MISSING_NAME, NAME_NOT_TEXT,
    PHASE_NOT_SHOWN, UNKNOWN_PHASE,
};
use super::rules::flows::{FLOW_ID_TEXT, FLOW_WITHOUT_ID};
use super::rules::times::{
    EPOCH_PRECISION, MISSING_DUR, MISSING_TS, NEGATIVE_DUR, NEGATIVE_TS, QUOTED_NUMBER, SUB_NANOSECOND,
};
use super::texts::check_texts;
use ferrum_trace_format::chrome::read::{Event, Number, Scalar, for_each_member};

/// Largest time that a double keeps to the nanosecond in microseconds, also as the sum of a start and a duration.
pub(crate) const EXACT_NANOS_MAX: i64 = 1 << 51;

/// Role of a phase in viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseRole {
    /// `X`.
    Complete,
    /// `B`.
    Begin,
    /// `E`.
    End,
    /// `i`, `I`, `R`.
    Instant,
    /// `C`.
    Counter,
    /// `s`, `t`, `f`.
    Flow,
    /// `b`, `n`, `e`.
    Async,
    /// `S`, `T`, `p`, `F`.
    LegacyAsync,
    /// `M`.
    Metadata,
    /// A phase that only chrome://tracing shows.
    Other,
    /// A phase that the format does not have.
    Unknown,
    /// No phase.
    Missing,
}

impl PhaseRole {
    /// Returns the role of an event.
    pub(crate) fn of(event: &Event<'_>) -> Self {
        match event.phase {
            b'X' => Self::Complete,
            b'B' => Self::Begin,
            b'E' => Self::End,
            b'i' | b'I' | b'R' => Self::Instant,
            b'C' => Self::Counter,
            b's' | b't' | b'f' => Self::Flow,
            b'b' | b'n' | b'e' => Self::Async,
            b'S' | b'T' | b'p' | b'F' => Self::LegacyAsync,
            b'M' => Self::Metadata,
            b'N' | b'O' | b'D' | b'P' | b'v' | b'V' | b'a' | b'c' | b'(' | b')' | b'=' => Self::Other,
            0 => Self::Missing,
            _ => Self::Unknown,
        }
    }

    /// Returns true if events of this role are shown on a thread.
    pub(crate) fn is_on_thread(self) -> bool {
        matches!(self, Self::Complete | Self::Begin | Self::End | Self::Instant | Self::Flow | Self::Unknown)
    }
}

/// Checks an event as far as no other event is needed.
pub(crate) fn check_event(event: &Event<'_>, findings: &mut Findings) {
    let kind = PhaseRole::of(event);
    match kind {
        PhaseRole::Missing => return findings.note(&EMPTY_EVENT, event),
        PhaseRole::Unknown => findings.note(&UNKNOWN_PHASE, event),
        PhaseRole::Other => findings.note(&PHASE_NOT_SHOWN, event),
        PhaseRole::LegacyAsync => findings.note(&LEGACY_ASYNC, event),
        PhaseRole::Counter => check_counter(event, findings),
        PhaseRole::Instant => check_scope(event, findings),
        PhaseRole::Metadata if has_empty_name(event) => findings.note(&EMPTY_ROW_NAME, event),
        PhaseRole::Complete if event.category.is_none() => findings.note(&MISSING_CATEGORY, event),
        _ => {}
    }
    match event.name {
        Some(Scalar::Text(_)) => {}
        Some(Scalar::Other(_)) => findings.note(&NAME_NOT_TEXT, event),
        None => findings.note(&MISSING_NAME, event),
    }
    if event.args.is_some_and(|args| !is_object_or_null(args)) {
        findings.note(&ARGS_NOT_OBJECT, event);
    }
    if kind != PhaseRole::Metadata {
        check_times(event, kind, findings);
    }
    check_id(event, kind, findings);
    check_texts(event, findings);
}

/// Returns true if an event gives a process or thread an empty name, or none.
pub(crate) fn has_empty_name(event: &Event<'_>) -> bool {
    let Some(kind) = event.name.map(|kind| kind.decode()) else {
        return false;
    };
    let mut name = None;
    if matches!(&*kind, "process_name" | "thread_name") {
        for_each_member(event.args.unwrap_or_default(), |key, value| {
            if key.raw == b"name" {
                name = Some(value);
            }
        });
        return !matches!(name, Some(Scalar::Text(text)) if !text.raw.is_empty());
    }
    false
}

/// Returns true if viewers accept these arguments.
pub(crate) fn is_object_or_null(args: &[u8]) -> bool {
    args.starts_with(b"{") || args == b"null"
}

fn check_times(event: &Event<'_>, kind: PhaseRole, findings: &mut Findings) {
    match event.start.nanos() {
        None => findings.note(&MISSING_TS, event),
        Some(start) if start < 0 => findings.note(&NEGATIVE_TS, event),
        Some(start) if start > EXACT_NANOS_MAX && start % 1000 != 0 => findings.note(&EPOCH_PRECISION, event),
        Some(_) => {}
    }
    if kind == PhaseRole::Complete {
        match event.duration.nanos() {
            None => findings.note(&MISSING_DUR, event),
            Some(duration) if duration < 0 => findings.note(&NEGATIVE_DUR, event),
            // The end overflows.
            Some(_) if event.start.nanos().is_some() && event.end().is_none() => findings.note(&MISSING_DUR, event),
            Some(_) => {}
        }
    }
    if matches!(event.start, Number::Quoted(_)) || matches!(event.duration, Number::Quoted(_)) {
        findings.note(&QUOTED_NUMBER, event);
    }
    if has_sub_nanoseconds(event) {
        findings.note(&SUB_NANOSECOND, event);
    }
}

/// Returns true if the time or the duration has more than three decimals.
pub(crate) fn has_sub_nanoseconds(event: &Event<'_>) -> bool {
    // Fast check first: few events have a point followed by four digits.
    if !has_four_decimals(event.json) {
        return false;
    }
    let mut found = false;
    for_each_member(event.json, |key, value| {
        if let (b"ts" | b"dur", Some(spelling)) = (key.raw, value.plain()) {
            found |= is_below_nanoseconds(spelling);
        }
    });
    found
}

fn has_four_decimals(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(point) = rest.iter().position(|&byte| byte == b'.') {
        rest = &rest[point + 1..];
        if rest.first_chunk::<4>().is_some_and(|four| four.iter().all(u8::is_ascii_digit)) {
            return true;
        }
    }
    false
}

/// Returns true if a decimal has more than three decimals that are not zero.
fn is_below_nanoseconds(spelling: &[u8]) -> bool {
    let Some(point) = spelling.iter().position(|&byte| byte == b'.') else {
        return false;
    };
    let decimals = &spelling[point + 1..];
    decimals.iter().any(|byte| matches!(byte, b'e' | b'E')) || decimals.iter().skip(3).any(|&digit| digit != b'0')
}

fn check_scope(event: &Event<'_>, findings: &mut Findings) {
    if !has_good_scope(event) {
        findings.note(&INSTANT_SCOPE, event);
    }
}

/// Returns true if an instant has a scope that viewers understand.
pub(crate) fn has_good_scope(event: &Event<'_>) -> bool {
    let scope = event.instant_scope.map(|scope| scope.plain());
    event.phase == b'R' || matches!(scope, None | Some(Some(b"t" | b"p" | b"g")))
}

/// A value of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CounterValue<'a> {
    /// A number in its spelling.
    Number(&'a [u8]),
    /// A quoted number, or a boolean.
    Hidden(f64),
    /// Something else.
    None,
}

impl<'a> CounterValue<'a> {
    /// Parses a value.
    pub(crate) fn of(value: Scalar<'a>) -> Self {
        match value {
            Scalar::Other(spelling) if matches!(spelling.first(), Some(b'-' | b'0'..=b'9')) => Self::Number(spelling),
            Scalar::Other(b"true") => Self::Hidden(1.0),
            Scalar::Other(b"false") => Self::Hidden(0.0),
            Scalar::Other(_) => Self::None,
            Scalar::Text(text) => match text.decode().trim().parse::<f64>() {
                Ok(number) if number.is_finite() => Self::Hidden(number),
                _ => Self::None,
            },
        }
    }
}

/// Returns true if a counter has a value that can be shown.
pub(crate) fn has_counter_value(event: &Event<'_>) -> bool {
    let mut has_value = false;
    for_each_member(event.args.unwrap_or_default(), |_, value| {
        has_value |= !matches!(CounterValue::of(value), CounterValue::None);
    });
    has_value
}

fn check_counter(event: &Event<'_>, findings: &mut Findings) {
    let (mut n_values, mut n_bad) = (0, 0);
    for_each_member(event.args.unwrap_or_default(), |_, value| {
        n_values += 1;
        n_bad += u32::from(!matches!(CounterValue::of(value), CounterValue::Number(_)));
    });
    if n_values == 0 {
        findings.note(&COUNTER_WITHOUT_ARGS, event);
    }
    if n_bad > 0 {
        findings.note(&COUNTER_NOT_NUMBER, event);
    }
}

fn check_id(event: &Event<'_>, kind: PhaseRole, findings: &mut Findings) {
    match kind {
        PhaseRole::Flow if event.id.is_none() => findings.note(&FLOW_WITHOUT_ID, event),
        PhaseRole::Flow if !event.id.is_some_and(is_flow_id) => findings.note(&FLOW_ID_TEXT, event),
        PhaseRole::Async | PhaseRole::LegacyAsync if event.id.is_none() && event.id2.is_none() => {
            findings.note(&ASYNC_WITHOUT_ID, event);
        }
        _ => {}
    }
}

/// Returns true if Perfetto accepts an id of a flow: 64 bits, in decimal, or as text in hexadecimal.
pub(crate) fn is_flow_id(id: Scalar<'_>) -> bool {
    flow_number(id).is_some()
}

/// Returns the number that Perfetto reads from the id of a flow.
pub(crate) fn flow_number(id: Scalar<'_>) -> Option<i64> {
    match id {
        Scalar::Other(spelling) => std::str::from_utf8(spelling).ok()?.parse().ok(),
        Scalar::Text(text) => {
            let text = text.decode();
            i64::from_str_radix(text.strip_prefix("0x").unwrap_or(&text), 16).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_nanoseconds_are_detected() {
        for (spelling, expected) in
            [("1.5", false), ("1.123", false), ("1.1230", false), ("1.1234", true), ("12", false), ("1.5e-9", true)]
        {
            assert_eq!(is_below_nanoseconds(spelling.as_bytes()), expected, "{spelling}");
        }
    }

    #[test]
    fn ids_of_flows_are_numbers_or_hexadecimal() {
        use ferrum_trace_format::chrome::read::Text;
        for (text, expected) in [("0x1f", Some(31)), ("1f", Some(31)), ("req-1", None), ("", None)] {
            assert_eq!(flow_number(Scalar::Text(Text::plain(text.as_bytes()))), expected, "{text}");
        }
        assert_eq!(flow_number(Scalar::Other(b"9223372036854775813")), None);
        assert_eq!(flow_number(Scalar::Other(b"-1")), Some(-1));
    }
}
