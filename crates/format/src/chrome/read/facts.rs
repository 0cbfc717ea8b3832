//! Facts about the recordings that a trace is made of: metadata events of our recorder, and triggers that fired.

use super::event::{Event, Scalar};
use super::loss::Loss;
use super::members::for_each_member;
use super::metadata_field::for_each_event_in_field;
use super::scanner::EventSink;
use crate::chrome::text::Text;
use ferrum_trace_model::vocab::{about, trigger};
use ferrum_trace_model::{Recording, Recordings, RefusedDumps, Trigger, TriggerEvent};

/// Maximum number of threads of one recording that are kept.
const THREADS_MAX: usize = 1000;

/// Reads the facts from a metadata event of our recorder. Returns `None` for any other event.
pub fn recording_of(event: &Event<'_>) -> Option<Recording> {
    let is_about = event.phase == b'M' && is_called(event.name, about::NAME);
    is_about.then(|| {
        let process = event.pid.map(|pid| pid.decode().into_owned());
        Recording { process, ..parse(event.args.unwrap_or_default()) }
    })
}

/// Reads facts from a JSON object. Missing fields and fields of the wrong type are ignored.
fn parse(args: &[u8]) -> Recording {
    let mut recording = Recording::default();
    for_each_member(args, |key, value| {
        let text = || Some(value.decode().into_owned()).filter(|text| !text.is_empty());
        match &*key.decode() {
            about::PID => recording.pid = text(),
            about::RANK => recording.rank = number(value),
            about::HOST => recording.host = text(),
            about::BOOT_ID => recording.boot_id = text(),
            about::START_MONOTONIC_NS => recording.start_monotonic_ns = number(value),
            about::START_UNIX_NS => recording.start_unix_ns = number(value),
            about::PART => recording.part = number(value),
            about::RECORDED => recording.recorded = number(value),
            about::DROPPED => recording.dropped = number(value).unwrap_or(0),
            about::DROPPED_BY_THREAD => recording.dropped_by_thread = counts(value),
            about::UNFINISHED => recording.unfinished = number(value).unwrap_or(0),
            about::UNFINISHED_BY_THREAD => recording.unfinished_by_thread = texts(value),
            about::LOST_TEXTS => recording.lost_texts = number(value).unwrap_or(0),
            about::DAMAGED_PLACES => recording.damaged_places = number(value).unwrap_or(0),
            about::MISSING_EVENTS_MAX => recording.missing_events_max = number(value).unwrap_or(0),
            about::STOP_REASON => recording.stop_reason = about::StopReason::from_text(&value.decode()),
            about::LIMIT_BYTES => recording.limit_bytes = number(value),
            about::RING_BYTES => recording.ring_bytes = number(value),
            about::OVERWRITTEN => recording.overwritten_chunks = number(value).unwrap_or(0),
            about::DUMPS_REFUSED => recording.dumps_refused = refused(value),
            about::TRIGGER => recording.trigger = Some(trigger_in(object(value))),
            _ => {}
        }
    });
    recording
}

fn number<T: std::str::FromStr>(value: Scalar<'_>) -> Option<T> {
    value.decode().parse().ok()
}

fn object(value: Scalar<'_>) -> &[u8] {
    match value {
        Scalar::Other(json) => json,
        Scalar::Text(_) => &[],
    }
}

fn counts(value: Scalar<'_>) -> Vec<(String, u64)> {
    let mut counts = Vec::new();
    for_each_member(object(value), |key, value| {
        if let Some(n) = number(value).filter(|_| counts.len() < THREADS_MAX) {
            counts.push((key.decode().into_owned(), n));
        }
    });
    counts
}

fn texts(value: Scalar<'_>) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for_each_member(object(value), |key, value| {
        if texts.len() < THREADS_MAX {
            texts.push((key.decode().into_owned(), value.decode().into_owned()));
        }
    });
    texts
}

fn refused(value: Scalar<'_>) -> RefusedDumps {
    let mut refused = RefusedDumps::default();
    for_each_member(object(value), |key, value| {
        if let (Some(reason), Some(n)) = (about::DumpRefusal::from_text(&key.decode()), number(value)) {
            refused.add(reason, n);
        }
    });
    refused
}

fn trigger_in(args: &[u8]) -> Trigger {
    let mut found = Trigger::default();
    for_each_member(args, |key, value| match &*key.decode() {
        trigger::REASON => found.reason = value.decode().into_owned(),
        trigger::WHAT => found.what = value.decode().into_owned(),
        trigger::DUMP => found.dump = number(value),
        _ => {}
    });
    found
}

/// Reads the instant of a trigger.
fn trigger_event(event: &Event<'_>) -> Option<TriggerEvent> {
    let is_trigger =
        event.phase != b'M' && is_called(event.name, trigger::NAME) && is_called(event.category, trigger::CATEGORY);
    let time = event.start.nanos().filter(|_| is_trigger)?;
    let pid = event.pid.map(|pid| pid.decode().into_owned());
    Some(TriggerEvent { time, pid, trigger: trigger_in(event.args.unwrap_or_default()) })
}

fn note(event: &Event<'_>, recordings: &mut Recordings) {
    if let Some(recording) = recording_of(event) {
        recordings.push(recording);
    } else if let Some(fired) = trigger_event(event) {
        recordings.push_trigger(fired);
    }
}

fn is_called(name: Option<Scalar<'_>>, word: &str) -> bool {
    name.is_some_and(|name| name.plain() == Some(word.as_bytes()))
}

/// An [`EventSink`] that passes everything on and collects the facts about recordings.
#[derive(Debug, Default)]
pub(crate) struct WithFacts<S> {
    pub sink: S,
    pub recordings: Recordings,
}

impl<S> WithFacts<S> {
    pub(crate) fn new(sink: S) -> Self {
        Self { sink, recordings: Recordings::default() }
    }
}

impl<S: EventSink> EventSink for WithFacts<S> {
    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        if matches!(event.phase, b'M' | b'i' | b'I') {
            note(event, &mut self.recordings);
        }
        self.sink.event(event);
    }

    fn loss(&mut self, loss: Loss) {
        self.sink.loss(loss);
    }

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        for_each_event_in_field(key, value, |event| note(event, &mut self.recordings));
        self.sink.field(key, value);
    }

    #[inline]
    fn wants_args(&self) -> bool {
        self.sink.wants_args()
    }

    #[inline]
    fn wanted_arg(&self, key: &[u8]) -> Option<u32> {
        self.sink.wanted_arg(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chrome::cursor::Cursor;
    use crate::chrome::read::{LoadOptions, load};
    use ferrum_trace_model::vocab::about::{DumpRefusal, StopReason};

    fn read(json: &str) -> Option<Recording> {
        recording_of(&Event::read(&mut Cursor::new(json.as_bytes(), 0), 0).unwrap())
    }

    #[test]
    fn facts_are_read_back_unchanged() {
        let mut dumps_refused = RefusedDumps::default();
        dumps_refused.add(DumpRefusal::Files, 3);
        let recording = Recording {
            process: Some("1".to_owned()),
            pid: Some("7".to_owned()),
            rank: Some(3),
            host: Some("node \"7\"".to_owned()),
            boot_id: Some("1f2e".to_owned()),
            start_monotonic_ns: Some(12),
            start_unix_ns: Some(34),
            part: Some(2),
            recorded: Some(5),
            dropped: 9,
            dropped_by_thread: vec![("main 7".to_owned(), 8)],
            stop_reason: Some(StopReason::NoSpace),
            limit_bytes: Some(1 << 20),
            ring_bytes: Some(1 << 16),
            overwritten_chunks: 4,
            unfinished: 2,
            unfinished_by_thread: vec![("main 7".to_owned(), "decode > \"gemm\"".to_owned())],
            lost_texts: 6,
            damaged_places: 8,
            missing_events_max: 900,
            trigger: Some(Trigger { reason: "panic".to_owned(), what: "panicked\n".to_owned(), dump: Some(1) }),
            dumps_refused,
        };
        let facts = String::from_utf8(crate::spool::facts::encode(&recording, "ticks")).unwrap();
        serde_json::from_str::<serde_json::Value>(&facts).unwrap();
        let event = format!(r#"{{"ph":"M","name":"ferrum_trace","pid":1,"args":{facts}}}"#);
        assert_eq!(read(&event), Some(recording));
    }

    #[test]
    fn facts_are_found_in_the_list_and_in_the_metadata_field() {
        let about = |n: u64| format!(r#"{{"ph":"M","name":"ferrum_trace","pid":{n},"args":{{"dropped":{n}}}}}"#);
        let json = format!(
            r#"{{"ferrum_trace":[{}, {}],"traceEvents":[{},{{"ph":"i","cat":"trigger","name":"trigger","ts":1}}]}}"#,
            about(1),
            about(2),
            about(4)
        );
        let found = load(json.as_bytes(), &LoadOptions::default()).unwrap().recordings;
        assert_eq!((found.n, found.dropped, found.triggers.len()), (3, 7, 1));
        for odd in ["7", "[", "[{}", "[7]", "[[]]"] {
            let json = format!(r#"{{"ferrum_trace":{odd},"traceEvents":[]}}"#);
            let _ = load(json.as_bytes(), &LoadOptions::default());
        }
    }

    #[test]
    fn facts_of_the_wrong_type_are_ignored() {
        let json = r#"{"ph":"M","name":"ferrum_trace","pid":1,"args":
            {"dropped":"many","dropped_by_thread":[1],"stop_reason":7,"trigger":"x","dumps_refused":{"files":-1}}}"#;
        let expected =
            Recording { process: Some("1".to_owned()), trigger: Some(Trigger::default()), ..Recording::default() };
        assert_eq!(read(json), Some(expected));
        assert_eq!(read(r#"{"ph":"M","name":"ferrum_trace"}"#), Some(Recording::default()));
        assert_eq!(read(r#"{"ph":"X","name":"ferrum_trace"}"#), None);
        assert_eq!(read(r#"{"ph":"M","name":"process_name"}"#), None);
    }
}
