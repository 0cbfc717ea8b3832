//! The events of a trace file with plain values, read by [`strict_trace`].

use crate::nesting;
use crate::strict_trace::{self, Phase};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// One event of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Name.
    pub name: String,
    /// Category.
    pub category: String,
    /// Phase, the letter in `ph`.
    pub phase: char,
    /// Nanoseconds from the start of the trace.
    pub start_ns: u64,
    /// Nanoseconds from the start of the trace; equal to the start for events without a duration.
    pub end_ns: u64,
    /// Process id.
    pub pid: u64,
    /// Track number.
    pub tid: u64,
    /// Arguments.
    pub args: Map<String, Value>,
    /// Other keys as in the file: scope, ids, binding point.
    pub extra: Map<String, Value>,
}

/// A file of Chrome trace events, completely read and checked.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// All events, metadata included, in the order of the file.
    pub events: Vec<Event>,
}

impl TraceFile {
    /// Reads a file. Panics if it does not exist or is invalid.
    #[track_caller]
    pub fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match Self::parse(&bytes) {
            Ok(file) => file,
            Err(wrong) => panic!("{}: {wrong}", path.display()),
        }
    }

    /// Parses the content of a file, or returns what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let trace = strict_trace::Trace::parse(bytes)?;
        Ok(Self { events: trace.events.into_iter().map(Event::from).collect() })
    }

    /// Recorded events: without metadata, row titles and unfinished slices.
    pub fn recorded(&self) -> impl Iterator<Item = &Event> {
        let is_synthetic = |event: &Event| event.is_unfinished_slice() || event.args.contains_key("row_of");
        self.events
            .iter()
            .filter(move |event| event.phase != 'M' && event.category != "ferrum_trace" && !is_synthetic(event))
    }

    /// Slices that had not ended when the file was written.
    pub fn unfinished(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.is_unfinished_slice())
    }

    /// Row titles of async events, by category and id, each with the name of the event in it. Panics unless the events
    /// of each row nest.
    #[track_caller]
    pub fn row_titles(&self) -> BTreeMap<(String, String), Vec<(String, String)>> {
        let mut rows: BTreeMap<(String, String), Vec<&Event>> = BTreeMap::new();
        for event in self.events.iter().filter(|event| matches!(event.phase, 'b' | 'e')) {
            rows.entry(event.row()).or_default().push(event);
        }
        let titles = |events: Vec<&Event>| {
            let titles = assert_nested_row(events).into_iter();
            titles.map(|event| (event.name.clone(), event.text("row_of"))).collect()
        };
        rows.into_iter().map(|(row, events)| (row, titles(events))).collect()
    }

    /// Recorded events with this name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Event> {
        self.recorded().filter(move |event| event.name == name)
    }

    /// Number of events with this name.
    pub fn count(&self, name: &str) -> usize {
        self.named(name).count()
    }

    /// An integer argument of all events with this name, in ascending order.
    #[track_caller]
    pub fn numbers(&self, name: &str, key: &str) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.named(name).map(|event| event.number(key)).collect();
        numbers.sort_unstable();
        numbers
    }

    /// An integer argument of the events with this name on one track, in ascending order.
    #[track_caller]
    pub fn numbers_on(&self, tid: u64, name: &str, key: &str) -> Vec<u64> {
        let events = self.named(name).filter(|event| event.tid == tid);
        let mut numbers: Vec<u64> = events.map(|event| event.number(key)).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Names of tracks, by number.
    pub fn thread_names(&self) -> BTreeMap<u64, String> {
        let names = self.events.iter().filter(|event| event.phase == 'M' && event.name == "thread_name");
        names.map(|event| (event.tid, event.text("name"))).collect()
    }

    /// Number of the only track with this name.
    #[track_caller]
    pub fn tid_of(&self, thread_name: &str) -> u64 {
        let names = self.thread_names();
        let mut found = names.iter().filter(|(_, name)| *name == thread_name).map(|(&tid, _)| tid);
        let tid = found.next().unwrap_or_else(|| panic!("no track has the name `{thread_name}`: {names:?}"));
        assert_eq!(found.next(), None, "two tracks have the name `{thread_name}`");
        tid
    }

    /// A number from the metadata of the recording, such as `recorded` or `dropped`.
    #[track_caller]
    pub fn about(&self, key: &str) -> u64 {
        let mut found = self.events.iter().filter(|event| event.phase == 'M' && event.name == "ferrum_trace");
        let about = found.next().expect("expected metadata `ferrum_trace`");
        assert_eq!(found.next(), None, "expected metadata `ferrum_trace` once");
        about.number(key)
    }

    /// Panics unless the slices of each track nest or are disjoint.
    #[track_caller]
    pub fn assert_nested(&self) {
        let mut tracks: HashMap<(u64, u64), Vec<&Event>> = HashMap::new();
        for event in self.events.iter().filter(|event| event.phase == 'X') {
            tracks.entry((event.pid, event.tid)).or_default().push(event);
        }
        for slices in tracks.values() {
            let intervals: Vec<nesting::Interval> = slices.iter().map(|slice| (slice.start_ns, slice.end_ns)).collect();
            if let Some((one, other)) = nesting::overlap(&intervals) {
                panic!("neither nested nor disjoint:\n{:?}\n{:?}", slices[one], slices[other]);
            }
        }
    }
}

/// Panics unless begins and ends nest. Viewers take events of the same time in the order of the file. Returns the
/// begins of titles.
#[track_caller]
fn assert_nested_row(mut events: Vec<&Event>) -> Vec<&Event> {
    events.sort_by_key(|event| event.start_ns);
    let mut open: Vec<&Event> = Vec::new();
    for event in &events {
        match event.phase {
            'b' => open.push(event),
            _ => assert_eq!(open.pop().map(|begin| &begin.name), Some(&event.name), "{events:#?}"),
        }
    }
    assert!(open.is_empty(), "{open:?} did not end");
    events.retain(|event| event.phase == 'b' && event.args.contains_key("row_of"));
    events
}

impl Event {
    fn is_unfinished_slice(&self) -> bool {
        self.phase == 'X' && self.args.contains_key("unclosed")
    }

    /// Category and id, which are common to the events of an async row.
    #[track_caller]
    pub fn row(&self) -> (String, String) {
        let id = self.extra.get("id2").and_then(|id| id["local"].as_str());
        (self.category.clone(), id.unwrap_or_else(|| panic!("no id: {self:?}")).to_owned())
    }

    /// An integer argument.
    #[track_caller]
    pub fn number(&self, key: &str) -> u64 {
        let number = self.args.get(key).and_then(Value::as_u64);
        number.unwrap_or_else(|| panic!("expected a number `{key}` in {self:?}"))
    }

    /// A text argument.
    #[track_caller]
    pub fn text(&self, key: &str) -> String {
        let text = self.args.get(key).and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("expected a text `{key}` in {self:?}")).to_owned()
    }
}

impl From<strict_trace::Event> for Event {
    fn from(event: strict_trace::Event) -> Self {
        let (phase, extra) = phase_and_extra(event.phase);
        let Value::Object(extra) = extra else { panic!("expected an object, found {extra}") };
        let keys = event.args.keys().into_iter();
        let args = keys.map(|key| (key.to_owned(), event.args.value(key))).collect();
        Self {
            name: event.name,
            category: event.cat,
            phase,
            start_ns: event.start,
            end_ns: event.end,
            pid: event.pid.into(),
            tid: event.tid.into(),
            args,
            extra,
        }
    }
}

/// The letter in `ph`, and the keys that only events of this phase have.
fn phase_and_extra(phase: Phase) -> (char, Value) {
    match phase {
        Phase::Slice => ('X', json!({})),
        Phase::Instant(scope) => ('i', json!({ "s": scope })),
        Phase::Counter => ('C', json!({})),
        Phase::AsyncBegin(id) => ('b', json!({ "id2": { "local": id } })),
        Phase::AsyncInstant(id) => ('n', json!({ "id2": { "local": id } })),
        Phase::AsyncEnd(id) => ('e', json!({ "id2": { "local": id } })),
        Phase::FlowStart(id) => ('s', json!({ "id": id })),
        Phase::FlowStep(id) => ('t', json!({ "id": id })),
        Phase::FlowEnd(id) => ('f', json!({ "id": id, "bp": "e" })),
        Phase::Metadata => ('M', json!({})),
    }
}
