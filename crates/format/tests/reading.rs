//! Reading whole, damaged and truncated files, and files that are not traces.
#![cfg(feature = "read")]

use ferrum_trace_format::chrome::read::{
    DocumentShape, Event, EventSink, Limits, LoadOptions, Loss, Text, for_each, load, load_within, read_in_pieces,
};
use ferrum_trace_model::{Beyond, OTHER_NAMES};
use proptest::prelude::*;

/// Everything that was found, as text.
#[derive(Default, Debug, PartialEq)]
struct Found {
    events: Vec<String>,
    losses: Vec<Loss>,
    fields: Vec<(String, String)>,
}

impl EventSink for Found {
    fn event(&mut self, event: &Event<'_>) {
        self.events.push(format!("{} {}", event.offset, String::from_utf8_lossy(event.json)));
    }

    fn loss(&mut self, loss: Loss) {
        self.losses.push(loss);
    }

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        self.fields.push((key.decode().into_owned(), String::from_utf8_lossy(value).into_owned()));
    }
}

fn found(file: &[u8]) -> Result<(DocumentShape, Found), String> {
    let mut sink = Found::default();
    let shape = for_each(file, &mut sink).map_err(|error| error.to_string())?.shape;
    Ok((shape, sink))
}

/// Returns the names of the events that were found, and the losses.
fn names(file: &[u8]) -> (Vec<String>, Vec<Loss>) {
    let (_, found) = found(file).unwrap();
    let name = |event: &String| {
        let json: serde_json::Value = serde_json::from_str(event.split_once(' ').unwrap().1).unwrap();
        json["name"].as_str().unwrap_or_default().to_owned()
    };
    (found.events.iter().map(name).collect(), found.losses)
}

const A: &str = r#"{"name":"a","ph":"X","ts":1,"dur":5,"pid":1,"tid":1}"#;
const B: &str = r#"{"name":"b","ph":"X","ts":2,"dur":1,"pid":1,"tid":1,"args":{"x":{"y":[{"ph":1}]}}}"#;

#[test]
fn a_list_an_object_and_lines_are_accepted() {
    let (shape, list) = found(format!("[{A},\n{B}]\n").as_bytes()).unwrap();
    assert_eq!((shape, list.events.len(), list.losses), (DocumentShape::Array, 2, vec![]));
    let text = format!(r#"{{"a":[1,{{}}],"traceEvents":[{A}, {B}],"b":"c"}}"#);
    let (shape, object) = found(text.as_bytes()).unwrap();
    assert_eq!((shape, object.events.len(), object.losses), (DocumentShape::Object, 2, vec![]));
    assert_eq!(object.fields, [("a".to_owned(), "[1,{}]".to_owned()), ("b".to_owned(), "\"c\"".to_owned())]);
    let (shape, lines) = found(format!("{A}\n{B}\n").as_bytes()).unwrap();
    assert_eq!((shape, lines.events.len(), lines.losses), (DocumentShape::Lines, 2, vec![]));
}

#[test]
fn an_object_with_a_list_may_have_the_fields_of_an_event() {
    let text = format!(r#"{{"ph":"X","name":"no event","ts":7,"pid":1,"traceEvents":[{A}]}}"#);
    let (shape, object) = found(text.as_bytes()).unwrap();
    assert_eq!((shape, object.events.len(), object.fields.len(), object.losses), (DocumentShape::Object, 1, 4, vec![]));
}

#[test]
fn an_empty_list_is_a_trace() {
    assert_eq!(found(b"[]").unwrap().1, Found::default());
    assert_eq!(found(b" {\"traceEvents\": [ ] } ").unwrap().1, Found::default());
}

#[test]
fn a_list_that_is_not_closed_loses_nothing() {
    for ending in ["", ",", ",\n", "\n"] {
        let (names, losses) = names(format!("[{A},{B}{ending}").as_bytes());
        assert_eq!((names, losses), (vec!["a".to_owned(), "b".to_owned()], vec![]), "{ending:?}");
    }
    let (names, losses) = names(format!("{{\"traceEvents\":[{A}").as_bytes());
    assert_eq!((names, losses), (vec!["a".to_owned()], vec![]));
}

#[test]
fn a_truncated_event_is_a_loss_with_its_offset() {
    let text = format!("[{A},{B}");
    for len in 2 + A.len() + 1..text.len() - 1 {
        let (names, losses) = names(&text.as_bytes()[..len]);
        assert_eq!(names, ["a"], "{len}");
        assert_eq!(losses.len(), usize::from(len > A.len() + 2), "{len}");
        if let [loss] = losses.as_slice() {
            assert_eq!((loss.offset, loss.n_bytes), (A.len() as u64 + 2, (len - A.len() - 2) as u64));
        }
    }
}

#[test]
fn stray_commas_are_reported_and_lose_nothing() {
    for text in [format!("[,{A}]"), format!("[{A},,{B}]")] {
        let (names, losses) = names(text.as_bytes());
        assert_eq!(names[0], "a");
        assert_eq!(losses.len(), 1, "{text}");
    }
    assert_eq!(names(format!("[{A},]").as_bytes()).0, ["a"]);
    assert_eq!(names(format!("[{A} {B}]").as_bytes()).0, ["a", "b"]);
}

#[test]
fn damage_loses_only_the_event_it_is_in() {
    let broken = [
        r#"{"name":"x,"ph":"X","ts":1}"#,
        r#"{"name":"x","ph":"X","ts":NaN}"#,
        r#"{"name":"x" "ph":"X"}"#,
        r#"{"name":"x","ph":"X","args":{"a":}}"#,
        "{\"name\":\"x\"\0\0\0\0,\"ph\":\"X\"}",
        r#"{"name":"x","args":{"n":[{"a":1},{"b":2}"#,
        "garbage",
        "\0\0\0",
    ];
    for broken in broken {
        let (found, losses) = names(format!("[{A},{broken},{B}]").as_bytes());
        assert_eq!(found, ["a", "b"], "{broken}");
        assert_eq!(losses.len(), 1, "{broken}: {losses:?}");
        assert_eq!(losses[0].offset, A.len() as u64 + 2, "{broken}");
    }
}

#[test]
fn events_after_the_end_of_the_list_are_found() {
    for middle in ["]\0\0\0\0", "]", "]}\0", "] junk {"] {
        let (found, losses) = names(format!("[{A}{middle}{B},{A}]").as_bytes());
        assert_eq!(found, ["a", "b", "a"], "{middle:?}");
        assert_eq!(losses.len(), 1, "{middle:?}");
    }
}

#[test]
fn elements_that_are_not_events_are_reported() {
    let (found, losses) = names(format!("[null,{A},7,\"x\",[1]]").as_bytes());
    assert_eq!(found, ["a"]);
    assert_eq!(losses.len(), 4);
    assert_eq!(losses[0].reason, "expected an event, found `null`");
}

#[test]
fn a_file_that_is_not_a_trace_is_refused_with_what_was_found() {
    let refusal = |file: &[u8]| found(file).unwrap_err();
    assert!(refusal(b"<html><body>").contains("found `<html><body>`"));
    assert!(refusal(b"").contains("found nothing"));
    assert!(refusal(b"  \n").contains("found nothing"));
    assert!(refusal(b"\x7fELF\x02\x01").contains("found byte 0x7f"));
    assert!(refusal(br#"{"a":1,"b":{"c":[]}}"#).contains("found an object with the fields `a`, `b`"));
    assert!(refusal(b"{}").contains("without fields"));
    assert!(refusal(br#"{"traceEvents":null}"#).contains("found an object with the fields `traceEvents`"));
}

#[test]
fn arguments_may_have_any_depth() {
    let deep = format!("{}0{}", "[{\"a\":".repeat(100_000), "}]".repeat(100_000));
    let (found, losses) = names_of_deep(&deep);
    assert_eq!((found, losses), (3, 0));
    // The same, broken at the innermost level: detected without reading each level to its end.
    let (found, losses) = names_of_deep(&deep.replace('0', "NaN"));
    assert_eq!((found, losses), (2, 1));
}

fn names_of_deep(args: &str) -> (usize, usize) {
    let text = format!("[{A},{{\"name\":\"d\",\"ph\":\"X\",\"args\":{{\"x\":{args}}}}},{A}]");
    let (_, found) = found(text.as_bytes()).unwrap();
    (found.events.len(), found.losses.len())
}

#[test]
fn columns_have_the_content_of_the_file() {
    let text = r#"[
        {"ph":"M","name":"thread_name","pid":1,"tid":"7","args":{"name":"worker"}},
        {"ph":"M","name":"process_name","pid":"1","args":{"name":"engine"}},
        {"ph":"B","name":"outer","cat":"c","pid":1,"tid":7,"ts":10},
        {"ph":"X","name":"inner","pid":1,"tid":7,"ts":"11.5","dur":2},
        {"ph":"E","pid":1,"tid":7,"ts":20.001},
        {"ph":"E","pid":1,"tid":7,"ts":21},
        {"ph":"B","name":"open","pid":1,"tid":7,"ts":22},
        {"ph":"X","name":"no dur","pid":1,"tid":7,"ts":30},
        {"ph":"C","name":"kv","pid":1,"ts":12,"args":{"used":3,"free":1.5,"what":"x"}},
        {"ph":"s","name":"f","cat":"c","id":5,"pid":1,"tid":7,"ts":12},
        {"ph":"b","name":"r","cat":"c","id2":{"local":"0x1"},"pid":1,"tid":7,"ts":12}
    ]"#;
    let options = LoadOptions { args: vec!["layer".to_owned()], n_workers: 1 };
    let trace = load(text.as_bytes(), &options).unwrap().trace;
    let text = |id| trace.strings.get(id);
    assert_eq!(trace.slices.start, [11_500, 10_000]);
    assert_eq!(trace.slices.duration, [2_000, 10_001]);
    assert_eq!(trace.slices.name.iter().map(|&id| text(id)).collect::<Vec<_>>(), ["inner", "outer"]);
    assert_eq!(trace.slices.track[0], trace.slices.track[1]);
    assert_eq!(trace.tracks.label(trace.slices.track[0], &trace.strings), "worker (7)");
    let anomalies = trace.census.anomalies;
    assert_eq!((anomalies.unopened, anomalies.unclosed, anomalies.unusable), (1, 1, 1));
    assert_eq!(trace.counters.value, [3.0, 1.5]);
    assert_eq!((text(trace.flows.id[0]), text(trace.asyncs.id[0])), ("5", "1/0x1"));
    assert_eq!((trace.census.events, trace.census.span()), (11, 20_000));
}

#[test]
fn async_events_keep_the_requested_arguments() {
    let text = r#"[
        {"ph":"b","name":"request","cat":"request","id":7,"pid":1,"tid":1,"ts":1,"args":{"prompt_tokens":12}},
        {"ph":"n","name":"token","cat":"request","id":7,"pid":1,"tid":1,"ts":2,"args":{"tokens":3}},
        {"ph":"X","name":"other","pid":1,"tid":1,"ts":2,"dur":1},
        {"ph":"e","name":"request","cat":"request","id":7,"pid":1,"tid":1,"ts":3,"args":{"reason":"stop"}}
    ]"#;
    let args = ["prompt_tokens", "tokens", "reason"].map(str::to_owned).to_vec();
    let trace = load(text.as_bytes(), &LoadOptions { args, n_workers: 1 }).unwrap().trace;
    assert_eq!(trace.asyncs.order, [0, 1, 3]);
    let value = |column: usize, event: usize| {
        trace.args[column].of(trace.asyncs.order[event]).map(|value| value.content(&trace.strings).into_owned())
    };
    assert_eq!([value(0, 0), value(1, 1), value(2, 2)], ["12", "3", "stop"].map(|text| Some(text.to_owned())));
    assert_eq!([value(0, 1), value(2, 0)], [None, None]);
}

#[test]
fn arguments_of_any_form_keep_their_content() {
    let of_args = |args: &str| {
        let text = format!(r#"[{{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,{args},"dur":1}}]"#);
        let wanted = ["a", "b c"].map(str::to_owned).to_vec();
        let trace = load(text.as_bytes(), &LoadOptions { args: wanted, n_workers: 1 }).unwrap().trace;
        let content = |column: usize| trace.args[column].of(0).map(|value| value.content(&trace.strings).into_owned());
        [content(0), content(1)].map(|content| content.unwrap_or_else(|| "-".to_owned()))
    };
    let cases = [
        (r#""args":{"a":1,"b c":"x"}"#, ["1", "x"]),
        (r#""args" : { "x" : {"a":2} , "a" : -1.50 , "b c" : [1, {"a": "]"}] } "#, ["-1.50", r#"[1, {"a": "]"}]"#]),
        (r#""args":{"a":"\"q\" \u00e9","b c":""}"#, ["\"q\" é", ""]),
        (r#""args":{"a":1,"a":2,"b c":null}"#, ["2", "null"]),
        (r#""args":{"a":1,"b c":2},"args":{"b c":3}"#, ["-", "3"]),
        (r#""args":{}"#, ["-", "-"]),
        (r#""args":["a",1]"#, ["-", "-"]),
        (r#""args":"a""#, ["-", "-"]),
    ];
    for (args, expected) in cases {
        assert_eq!(of_args(args), expected, "{args}");
    }
}

#[test]
fn invalid_arguments_are_reported_at_the_same_place_with_and_without_a_request_for_them() {
    for args in [r#"{"a" 1}"#, r#"{"a":1,}"#, r#"{"a":1 "b":2}"#, r#"{"a":[1}"#, r#"{"a":tru}"#, "{a:1}", r#"{"a":1"#] {
        let text = format!(r#"[{{"ph":"X","name":"x","pid":1,"tid":1,"ts":1,"dur":1,"args":{args}}},{{"ph":"i"}}]"#);
        let losses = |wanted: &[&str]| {
            let wanted = wanted.iter().map(|&key| key.to_owned()).collect();
            let loaded = load(text.as_bytes(), &LoadOptions { args: wanted, n_workers: 1 }).unwrap();
            format!("{:?}", loaded.losses)
        };
        assert_eq!(losses(&["a"]), losses(&[]), "{args}");
    }
}

/// Returns a file large enough for many pieces.
fn large_file() -> String {
    let mut file = String::from("{\"schemaVersion\":1,\"traceEvents\":[\n");
    for n in 0..40_000 {
        let (name, tid) = (n % 977, n % 5);
        file.push_str(&format!(
            "{{\"ph\":\"X\",\"cat\":\"op\",\"name\":\"n{name}\",\"pid\":1,\"tid\":{tid},\"ts\":{n}.25,\"dur\":0.5,\
             \"args\":{{\"External id\":{n},\"Dims\":[[1,2],[{{\"name\":1}},{{\"name\":2}}]],\"layer\":{name}}}}},\n"
        ));
    }
    file.push_str("{\"ph\":\"i\",\"name\":\"last\",\"ts\":1,\"pid\":1,\"tid\":1}],\"end\":true}");
    file
}

fn in_parallel(file: &[u8], n_workers: usize) -> Result<Found, String> {
    in_pieces(file, 1 << 18, n_workers)
}

fn in_pieces(file: &[u8], piece_bytes: usize, n_workers: usize) -> Result<Found, String> {
    let mut all = Found::default();
    let take = |part: Found| {
        all.events.extend(part.events);
        all.losses.extend(part.losses);
        all.fields.extend(part.fields);
        Ok(())
    };
    read_in_pieces(file, piece_bytes, n_workers, Found::default, take).map_err(|error| error.to_string())?;
    Ok(all)
}

#[test]
fn several_threads_find_the_same_as_one() {
    let mut file = large_file().into_bytes();
    let one = found(&file).unwrap().1;
    assert_eq!((one.events.len(), one.losses.len(), one.fields.len()), (40_001, 0, 2));
    for n_workers in [1, 2, 5] {
        assert!(in_parallel(&file, n_workers).unwrap() == one);
    }
    // The same with damage in many places.
    for n in (300_000..file.len()).step_by(377_777) {
        let end = (n + 40).min(file.len());
        file[n..end].fill(b"\0]\"}{"[n % 5]);
    }
    let one = found(&file).unwrap().1;
    assert!(one.losses.len() > 10, "{}", one.losses.len());
    for n_workers in [1, 2, 5] {
        assert!(in_parallel(&file, n_workers).unwrap() == one);
    }
}

#[test]
fn columns_do_not_depend_on_the_number_of_threads() {
    let file = large_file();
    let options = |n_workers| LoadOptions { args: vec!["layer".to_owned()], n_workers };
    let one = load(file.as_bytes(), &options(1)).unwrap().trace;
    let many = load(file.as_bytes(), &options(4)).unwrap().trace;
    assert_eq!(one.args[0].value.len(), 40_000);
    assert_eq!(format!("{:?}", one.slices), format!("{:?}", many.slices));
    assert_eq!(format!("{:?}", one.args), format!("{:?}", many.args));
    let layer = one.args[0].of(one.slices.order[1000]).unwrap();
    assert_eq!(layer.content(&one.strings), "23");
    assert!(one.strings.iter().eq(many.strings.iter()));
}

/// Returns a file of several pieces in which names, categories, threads and processes differ, as slices, begins and
/// ends, and async events.
fn file_of_many_names() -> String {
    let events = (0..60_000).map(|n: u32| {
        let (pid, tid, end) = (n / 5000, n / 25, n + 1);
        match n % 3 {
            0 => format!(r#"{{"ph":"X","name":"slice {n}","cat":"c {n}","ts":{n},"dur":1,"pid":{pid},"tid":{tid}}}"#),
            1 => format!(
                r#"{{"ph":"B","name":"open {n}","ts":{n},"pid":{pid},"tid":{tid}}},{{"ph":"E","ts":{end},"pid":{pid},"tid":{tid}}}"#
            ),
            _ => format!(r#"{{"ph":"b","name":"a {n}","cat":"c","id":{n},"ts":{n},"pid":{pid},"tid":{tid}}}"#),
        }
    });
    format!("[{}]", events.collect::<Vec<_>>().join(",\n"))
}

#[test]
fn names_beyond_the_limit_are_joined_with_any_number_of_threads() {
    let file = file_of_many_names();
    let load = |n_workers, names| {
        let options = LoadOptions { args: Vec::new(), n_workers };
        load_within(file.as_bytes(), &options, Limits { names, ..Limits::default() }).unwrap().trace
    };
    let (all, one, many) = (load(1, usize::MAX), load(1, 50_000), load(4, 50_000));
    assert!(one.strings.iter().eq(many.strings.iter()));
    assert_eq!(format!("{:?}", one.slices), format!("{:?}", many.slices));
    assert_eq!(format!("{:?}", one.asyncs), format!("{:?}", many.asyncs));
    assert_eq!((one.census.beyond, all.census.beyond), (many.census.beyond, Beyond::default()));
    // 60,000 names, a category for each slice, and `c`.
    assert_eq!(one.census.beyond.names, 80_001 - 50_000);
    assert_eq!(one.slices.duration, all.slices.duration, "only names are lost");
    for (slice, (&name, &limited)) in all.slices.name.iter().zip(&one.slices.name).enumerate() {
        let (name, limited) = (all.strings.get(name), one.strings.get(limited));
        let is_early = all.slices.order[slice] < 20_000;
        assert!(name == limited || (limited == OTHER_NAMES && !is_early), "{name} is {limited}");
    }
    // Ids stay distinct: they join events.
    let ids: std::collections::HashSet<_> = one.asyncs.id.iter().collect();
    assert_eq!(ids.len(), 20_000);
}

#[test]
fn tracks_beyond_the_limit_are_removed_and_counted_with_any_number_of_threads() {
    let file = file_of_many_names();
    let load = |n_workers, tracks| {
        let options = LoadOptions { args: Vec::new(), n_workers };
        load_within(file.as_bytes(), &options, Limits { tracks, ..Limits::default() }).unwrap().trace
    };
    let (all, one, many) = (load(1, usize::MAX), load(1, 1200), load(4, 1200));
    assert_eq!(format!("{:?}", one.slices), format!("{:?}", many.slices));
    assert_eq!((all.tracks.len(), one.tracks.len(), many.tracks.len()), (2400, 1200, 1200));
    assert_eq!(one.census.beyond, many.census.beyond);
    assert_eq!((one.census.events, one.census.beyond.on_tracks), (80_000, 40_000));
    assert_eq!(one.slices.len(), all.slices.len() / 2);
    assert_eq!(one.census.anomalies, all.census.anomalies, "no begin has lost its end");
    assert!(!one.strings.iter().any(|(_, text)| text == "2398"), "nothing is kept of threads that are left out");
}

/// Generates any byte, but bytes with a meaning in JSON more often.
fn nasty_byte() -> impl Strategy<Value = u8> {
    prop_oneof![any::<u8>(), prop::sample::select(b"\x1e\0[]{}\",:\\ 1n".as_slice())]
}

#[test]
fn documents_may_follow_each_other_after_separators() {
    let text = format!("\x1e[{A}]\x1e{{\"x\":1,\"traceEvents\":[{B}]}}\n\x1e{A}\n{B}\x1enot a document\x1e[{A}]");
    let (found, losses) = names(text.as_bytes());
    assert_eq!(found, ["a", "b", "a", "b", "a"]);
    assert_eq!(losses.len(), 1);
    // A separator in the middle of a list loses nothing either, wherever the file is cut.
    let text = format!("{{\"traceEvents\":[{A},\x1e{B},{A}],\"y\":2}}");
    let (_, one) = found_in(&text);
    assert_eq!(one.events.len(), 3);
    assert_eq!(in_pieces(text.as_bytes(), 40, 2).unwrap(), one);
}

fn found_in(text: &str) -> (DocumentShape, Found) {
    found(text.as_bytes()).unwrap()
}

proptest! {
    /// Whatever is done to a file, the events that stay whole are found, with any number of threads.
    #[test]
    fn any_changed_bytes_are_tolerated(
        events in proptest::collection::vec(0usize..3, 0..12),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), nasty_byte()), 0..6),
    ) {
        let list: Vec<&str> = events.iter().map(|&n| [A, B, "{\"ph\":\"i\"}"][n]).collect();
        let mut file = format!("[{}]", list.join(",")).into_bytes();
        for (place, byte) in edits {
            let place = place.index(file.len());
            file[place] = byte;
        }
        match (found(&file), in_pieces(&file, 40, 2)) {
            (Ok((_, one)), Ok(two)) => prop_assert_eq!(one, two),
            (one, two) => prop_assert!(one.is_err() && two.is_err()),
        }
    }
}
