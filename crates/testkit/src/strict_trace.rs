//! Strict reader of a trace: unknown fields are refused, and every event must have the fields of its phase, spelled as
//! documented.

use crate::nesting;
use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::Path;

/// Type of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// `X`
    Slice,
    /// `i`, with the scope.
    Instant(char),
    /// `C`
    Counter,
    /// `b`, with the id.
    AsyncBegin(String),
    /// `n`, with the id.
    AsyncInstant(String),
    /// `e`, with the id.
    AsyncEnd(String),
    /// `s`, with the id.
    FlowStart(String),
    /// `t`, with the id.
    FlowStep(String),
    /// `f`, with the id.
    FlowEnd(String),
    /// `M`
    Metadata,
}

/// One event of the file.
#[derive(Clone, Debug)]
pub struct Event {
    /// Name.
    pub name: String,
    /// Category.
    pub cat: String,
    /// Type, with the fields that only this type has.
    pub phase: Phase,
    /// Nanoseconds.
    pub start: u64,
    /// Nanoseconds; the same as `start` for all but slices.
    pub end: u64,
    /// Process id.
    pub pid: u32,
    /// Track number.
    pub tid: u32,
    /// Arguments.
    pub args: Args,
}

/// The arguments of an event in order, each value as spelled in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args(pub Vec<(String, String)>);

impl Args {
    /// The value of a key as spelled in the file.
    #[track_caller]
    pub fn spelling(&self, key: &str) -> &str {
        let found = self.0.iter().find(|(found, _)| found == key);
        found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("no argument `{key}` in {self:?}"))
    }

    /// The value of a key.
    #[track_caller]
    pub fn value(&self, key: &str) -> serde_json::Value {
        serde_json::from_str(self.spelling(key)).expect("every value is JSON")
    }

    /// The integer of a key.
    #[track_caller]
    pub fn number(&self, key: &str) -> u64 {
        self.value(key).as_u64().unwrap_or_else(|| panic!("`{key}` is not a number in {self:?}"))
    }

    /// The text of a key.
    #[track_caller]
    pub fn text(&self, key: &str) -> String {
        let value = self.value(key);
        value.as_str().unwrap_or_else(|| panic!("`{key}` is not a text: {value}")).to_owned()
    }

    /// All keys, in order.
    pub fn keys(&self) -> Vec<&str> {
        self.0.iter().map(|(key, _)| key.as_str()).collect()
    }

    /// Returns true if there is an argument with this key.
    pub fn has(&self, key: &str) -> bool {
        self.keys().contains(&key)
    }
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArgsVisitor;
        impl<'de> Visitor<'de> for ArgsVisitor {
            type Value = Args;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Args, A::Error> {
                let mut args: Vec<(String, String)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if args.iter().any(|(known, _)| *known == key) {
                        return Err(de::Error::custom(format!("the key `{key}` occurs twice")));
                    }
                    args.push((key, value.get().to_owned()));
                }
                Ok(Args(args))
            }
        }
        deserializer.deserialize_map(ArgsVisitor)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEvent<'a> {
    name: String,
    cat: String,
    ph: char,
    #[serde(borrow)]
    ts: &'a RawValue,
    #[serde(borrow)]
    dur: Option<&'a RawValue>,
    pid: u32,
    tid: u32,
    s: Option<char>,
    bp: Option<char>,
    id: Option<String>,
    id2: Option<FileId>,
    args: Option<Args>,
    /// For metadata only: it prevents a viewer's warning about an unknown name.
    #[serde(rename = "argsStripped")]
    args_stripped: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileId {
    local: String,
}

impl FileEvent<'_> {
    fn checked(self) -> Result<Event, String> {
        if self.args_stripped.is_some() && (self.ph, self.name.as_str()) != ('M', "ferrum_trace") {
            return Err(format!("`{}` may not have `argsStripped`", self.name));
        }
        let extras = (self.dur.is_some(), self.s, self.bp, self.id, self.id2.map(|id| id.local));
        let phase = match (self.ph, extras) {
            ('X', (true, None, None, None, None)) => Phase::Slice,
            ('i', (false, Some(scope @ ('t' | 'p' | 'g')), None, None, None)) => Phase::Instant(scope),
            ('C', (false, None, None, None, None)) => Phase::Counter,
            ('b', (false, None, None, None, Some(id))) => Phase::AsyncBegin(id),
            ('n', (false, None, None, None, Some(id))) => Phase::AsyncInstant(id),
            ('e', (false, None, None, None, Some(id))) => Phase::AsyncEnd(id),
            ('s', (false, None, None, Some(id), None)) => Phase::FlowStart(id),
            ('t', (false, None, None, Some(id), None)) => Phase::FlowStep(id),
            ('f', (false, None, Some('e'), Some(id), None)) => Phase::FlowEnd(id),
            ('M', (false, None, None, None, None)) => Phase::Metadata,
            (ph, extras) => return Err(format!("`{}`: unexpected fields for phase {ph}: {extras:?}", self.name)),
        };
        if let Phase::AsyncBegin(id) | Phase::AsyncEnd(id) | Phase::FlowStart(id) | Phase::FlowEnd(id) = &phase {
            hexadecimal(id)?;
        }
        let start = nanos(self.ts)?;
        let end = self.dur.map_or(Ok(0), nanos)?.checked_add(start).ok_or("the end exceeds 64 bits")?;
        // Viewers take tid 0 for the process itself. The original engine's interface has process ids of its own and
        // tids of the caller.
        if self.tid == 0 && !is_pushed(self.pid) {
            return Err(format!("`{}`: tid 0", self.name));
        }
        let args = self.args.unwrap_or_default();
        let event = Event { name: self.name, cat: self.cat, phase, start, end, pid: self.pid, tid: self.tid, args };
        event.has_right_args().map(|()| event)
    }
}

impl Event {
    fn is_title(&self) -> bool {
        self.args.0.iter().any(|(key, _)| key == "row_of")
    }

    fn has_right_args(&self) -> Result<(), String> {
        let is_right = match self.phase {
            Phase::Counter => {
                let is_number = |spelling: &str| spelling.parse::<f64>().is_ok_and(f64::is_finite);
                !self.args.0.is_empty() && self.args.0.iter().all(|(_, value)| is_number(value))
            }
            Phase::Metadata => match self.name.as_str() {
                "process_name" | "thread_name" => self.args.keys() == ["name"],
                "process_labels" => self.args.keys() == ["labels"],
                "process_sort_index" | "thread_sort_index" => self.args.keys() == ["sort_index"],
                "ferrum_trace" => true,
                _ => false,
            },
            _ => true,
        };
        if is_right { Ok(()) } else { Err(format!("wrong arguments: {self:?}")) }
    }

    /// Returns true if `inner` is within this slice's time.
    pub fn encloses(&self, inner: &Event) -> bool {
        self.start <= inner.start && inner.end <= self.end
    }

    /// Process id and track number.
    pub fn track(&self) -> (u32, u32) {
        (self.pid, self.tid)
    }

    fn is_unfinished_slice(&self) -> bool {
        self.phase == Phase::Slice && self.args.has("unclosed")
    }
}

fn hexadecimal(id: &str) -> Result<(), String> {
    let digits = id.strip_prefix("0x").unwrap_or("");
    let is_right = u64::from_str_radix(digits, 16).is_ok_and(|number| format!("{number:x}") == digits);
    if is_right { Ok(()) } else { Err(format!("expected an id, found `{id}`")) }
}

/// Converts microseconds with exactly three decimals, not negative.
fn nanos(spelling: &RawValue) -> Result<u64, String> {
    let text = spelling.get();
    let wrong = || format!("expected microseconds with three decimals, found `{text}`");
    let (whole, decimals) = text.split_once('.').ok_or_else(wrong)?;
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_spelled = decimals.len() == 3 && is_digits(whole) && is_digits(decimals);
    let is_short = whole == "0" || !whole.starts_with('0');
    if !is_spelled || !is_short {
        return Err(wrong());
    }
    format!("{whole}{decimals}").parse().map_err(|_| wrong())
}

/// A whole file.
#[derive(Debug)]
pub struct Trace {
    /// All events, metadata included, in the order of the file.
    pub events: Vec<Event>,
}

impl Trace {
    /// Reads a file, and checks everything that every file must satisfy.
    #[track_caller]
    pub fn read(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let trace = Self::parse(&bytes).and_then(|trace| trace.check_tracks().map(|()| trace));
        trace.unwrap_or_else(|complaint| panic!("{}: {complaint}", path.display()))
    }

    /// Parses the content of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        if !text.starts_with('[') || !text.ends_with("\n]\n") {
            return Err("expected one array with its brackets on separate lines".into());
        }
        let events: Vec<FileEvent<'_>> = serde_json::from_str(text).map_err(|error| {
            let end = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(200)..]);
            format!("invalid JSON: {error}; {} bytes, the last are `{end}`", bytes.len())
        })?;
        let events = events.into_iter().map(FileEvent::checked).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { events })
    }

    /// Checks that every track has a name, and slices that can be drawn: no two of them overlap partly.
    pub fn check_tracks(&self) -> Result<(), String> {
        let names = self.thread_names();
        for (track, slices) in self.slices_by_track() {
            if track.0 != 0 && !names.contains_key(&track) {
                return Err(format!("the track {track:?} has no name"));
            }
            if let Some((one, other)) = nesting::overlap(&intervals(&slices)) {
                return Err(format!("the track {track:?} cannot have both {:?} and {:?}", slices[one], slices[other]));
            }
        }
        Ok(())
    }

    /// Checks that of slices with the same begin the outer one comes first. Otherwise chrome://tracing draws them over
    /// each other.
    pub fn check_order(&self) -> Result<(), String> {
        for (track, slices) in self.slices_by_track() {
            if let Some((outer, inner)) = nesting::inner_first(&intervals(&slices)) {
                return Err(format!("{track:?}: {:?} must come before {:?}", slices[outer], slices[inner]));
            }
        }
        Ok(())
    }

    /// Slices that have ended.
    pub fn slices(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.phase == Phase::Slice && !event.is_unfinished_slice())
    }

    /// Slices that had not ended when the file was written.
    pub fn unfinished(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.is_unfinished_slice())
    }

    /// All slices in the order of the file, unfinished ones included.
    pub fn slices_by_track(&self) -> BTreeMap<(u32, u32), Vec<&Event>> {
        let mut tracks: BTreeMap<(u32, u32), Vec<&Event>> = BTreeMap::new();
        for slice in self.events.iter().filter(|event| event.phase == Phase::Slice) {
            tracks.entry(slice.track()).or_default().push(slice);
        }
        tracks
    }

    /// Events that the program recorded: without metadata, row titles and unfinished slices.
    pub fn recorded(&self) -> impl Iterator<Item = &Event> {
        let is_synthetic = |event: &Event| event.is_title() || event.is_unfinished_slice();
        self.events.iter().filter(move |event| event.phase != Phase::Metadata && !is_synthetic(event))
    }

    /// Titles of the rows of async events.
    pub fn titles(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.is_title())
    }

    /// The recorded events with this name.
    pub fn all(&self, name: &str) -> Vec<&Event> {
        self.recorded().filter(|event| event.name == name).collect()
    }

    /// The only event with this name.
    #[track_caller]
    pub fn one(&self, name: &str) -> &Event {
        match self.all(name)[..] {
            [event] => event,
            ref events => panic!("expected one event `{name}`, found {events:?}"),
        }
    }

    fn metadata(&self, name: &str) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| event.phase == Phase::Metadata && event.name == name)
    }

    /// The last name of each track.
    pub fn thread_names(&self) -> BTreeMap<(u32, u32), String> {
        self.metadata("thread_name").map(|event| (event.track(), event.args.text("name"))).collect()
    }

    /// The tracks with this name.
    pub fn tracks_named(&self, name: &str) -> Vec<(u32, u32)> {
        let names = self.thread_names().into_iter();
        names.filter(|(_, found)| found == name).map(|(track, _)| track).collect()
    }

    /// The name of an event's track.
    #[track_caller]
    pub fn track_name(&self, event: &Event) -> String {
        self.thread_names().remove(&event.track()).expect("the track has a name")
    }

    /// Sort indexes of the tracks that have one.
    pub fn sort_indexes(&self) -> BTreeMap<(u32, u32), i64> {
        let index = |event: &Event| event.args.value("sort_index").as_i64().expect("a whole number");
        self.metadata("thread_sort_index").map(|event| (event.track(), index(event))).collect()
    }

    /// The last name of the process.
    #[track_caller]
    pub fn process_name(&self) -> String {
        self.metadata("process_name").last().expect("the process has a name").args.text("name")
    }

    /// The recorder's metadata about the recording.
    #[track_caller]
    pub fn about(&self) -> &Args {
        self.about_if_any().expect("expected metadata `ferrum_trace`")
    }

    /// The recorder's metadata, if any: a file with only pushed events and no loss has none.
    #[track_caller]
    pub fn about_if_any(&self) -> Option<&Args> {
        match self.metadata("ferrum_trace").collect::<Vec<_>>()[..] {
            [] => None,
            [event] => Some(&event.args),
            ref events => panic!("expected metadata `ferrum_trace` once, found {events:?}"),
        }
    }
}

fn intervals(slices: &[&Event]) -> Vec<nesting::Interval> {
    slices.iter().map(|slice| (slice.start, slice.end)).collect()
}

/// Returns true if events of this process come from the original engine's interface: process 0, and ids above those of
/// the system for slices that overlap.
pub fn is_pushed(pid: u32) -> bool {
    pid == 0 || pid >= 0x7000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(event: &str) -> String {
        let trace = Trace::parse(format!("[\n{event}\n]\n").as_bytes());
        trace.and_then(|trace| trace.check_tracks()).expect_err("the event is invalid")
    }

    #[test]
    fn a_valid_event_is_read() {
        let event = r#"{"name":"a","cat":"b","ph":"X","ts":1.002,"dur":0.500,"pid":0,"tid":1,"args":{"x":1e3}}"#;
        let trace = Trace::parse(format!("[\n{event}\n]\n").as_bytes()).unwrap();
        let event = trace.one("a");
        assert_eq!((event.start, event.end, event.args.spelling("x")), (1002, 1502, "1e3"));
    }

    #[test]
    fn invalid_events_are_refused() {
        for (event, word) in [
            (r#"{"name":"a","cat":"","ph":"X","ts":1.0,"dur":0.500,"pid":1,"tid":1}"#, "three decimals"),
            (r#"{"name":"a","cat":"","ph":"X","ts":-1.000,"dur":0.500,"pid":1,"tid":1}"#, "three decimals"),
            (r#"{"name":"a","cat":"","ph":"X","ts":1.000,"pid":1,"tid":1}"#, "phase X"),
            (r#"{"name":"a","cat":"","ph":"X","ts":1.000,"dur":0.000,"pid":1,"tid":0}"#, "tid 0"),
            (r#"{"name":"a","cat":"","ph":"X","ts":1.000,"dur":0.000,"pid":1,"tid":7}"#, "no name"),
            (r#"{"name":"a","cat":"","ph":"i","ts":1.000,"pid":1,"tid":1,"s":"t","more":1}"#, "unknown field"),
            (r#"{"name":"a","cat":"","ph":"C","ts":1.000,"pid":1,"tid":1,"args":{"x":"NaN"}}"#, "wrong arguments"),
            (r#"{"name":"a","cat":"","ph":"f","ts":1.000,"pid":1,"tid":1,"id":"0x1"}"#, "phase f"),
            (r#"{"name":"a","cat":"","ph":"s","ts":1.000,"pid":1,"tid":1,"id":"1"}"#, "expected an id"),
            (r#"{"name":"a","cat":"","ph":"i","ts":1.000,"pid":1,"tid":1,"s":"t","args":{"x":1,"x":2}}"#, "twice"),
        ] {
            assert!(complaint(event).contains(word), "{}", complaint(event));
        }
    }
}
