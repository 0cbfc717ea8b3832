//! Converts Chrome trace events to a Perfetto trace and back: every slice is kept, to the nanosecond, with all its
//! properties.

use crate::converted;
use ferrum_trace_analyze::convert::Target;
use ferrum_trace_format::perfetto::read::{is_pftrace, to_chrome};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// A slice as a comparable text: start, end, process, name, category, arguments.
fn spell(start: i64, end: i64, pid: u64, event: &Value, args: Value) -> String {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    format!("{start}..{end} in {pid}: {} [{}] {args}", text("name"), text("cat"))
}

/// Nanoseconds of a time. Those of the tests are small enough for floats.
fn nanos(event: &Value, key: &str) -> i64 {
    (event[key].as_f64().unwrap() * 1000.0).round() as i64
}

/// Slices of begins and ends, and complete events, in the order of their begins.
fn slices_of(events: &[Value]) -> Vec<String> {
    let mut open: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
    let mut slices: Vec<(&Value, Option<i64>)> = Vec::new();
    let mut last = 0;
    for event in events {
        let track = || (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        match event["ph"].as_str().unwrap() {
            "B" => {
                open.entry(track()).or_default().push(slices.len());
                slices.push((event, None));
            }
            "E" => {
                let begin = open.get_mut(&track()).and_then(Vec::pop).expect("a begin for every end");
                slices[begin].1 = Some(nanos(event, "ts"));
            }
            "X" => slices.push((event, Some(nanos(event, "ts") + nanos(event, "dur")))),
            _ => continue,
        }
        assert!(nanos(event, "ts") >= last, "in order");
        last = nanos(event, "ts");
    }
    let spelled = slices.iter().map(|(event, end)| {
        let args = event.get("args").cloned().unwrap_or(json!({}));
        spell(nanos(event, "ts"), end.unwrap_or(i64::MAX), event["pid"].as_u64().unwrap(), event, args)
    });
    spelled.collect()
}

/// Converts to Perfetto and back.
fn round_trip(events: &[Value]) -> (Vec<Value>, i64) {
    let (pftrace, summary) = converted(Target::Perfetto, &Value::from(events).to_string());
    assert!(is_pftrace(&pftrace[..pftrace.len().min(64)]));
    let mut back = Vec::new();
    let read = to_chrome(&pftrace[..], &mut back).unwrap();
    assert_eq!((read.losses.n, read.n_without_state, read.n_undefined), (0, 0, 0));
    let document: Value = serde_json::from_slice(&back).unwrap();
    (document["traceEvents"].as_array().unwrap().clone(), summary.shift_ns)
}

/// Removes nulls, which Perfetto does not have.
fn without_null(value: Value) -> Value {
    match value {
        Value::Null => json!("null"),
        Value::Array(values) => values.into_iter().map(without_null).collect(),
        Value::Object(entries) => {
            entries.into_iter().map(|(key, value)| (key, without_null(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        any::<String>().prop_filter("no NUL", |text| !text.contains('\0')).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-d]{1,2}", inner, 0..4).prop_map(|entries| entries.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// A complete event with one of a few names on one of a few tracks, so that they collide.
fn any_event() -> impl Strategy<Value = Value> {
    let args = prop_oneof![Just(json!({})), btree_map("[a-e]", any_json(), 0..4).prop_map(|args| json!(args))];
    (-50i64..300, 0i64..100, 1..3u64, 1..3u64, "[a-c]|é\\n", prop_oneof![Just(""), Just("op")], args).prop_map(
        |(start, len, pid, tid, name, category, args)| {
            let mut event = json!({ "ph": "X", "pid": pid, "tid": tid, "name": name, "args": args });
            event["ts"] = json!(start as f64 / 1000.0);
            event["dur"] = json!(len as f64 / 1000.0);
            if !category.is_empty() {
                event["cat"] = json!(category);
            }
            event
        },
    )
}

proptest! {
    #[test]
    fn arbitrary_slices_are_kept(events in vec(any_event(), 0..40)) {
        let (back, shift) = round_trip(&events);
        let mut expected: Vec<String> = events
            .iter()
            .map(|event| {
                let start = nanos(event, "ts") + shift;
                let end = start + nanos(event, "dur");
                spell(start, end, event["pid"].as_u64().unwrap(), event, without_null(event["args"].clone()))
            })
            .collect();
        let mut found = slices_of(&back);
        expected.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }

    /// Compares complete events with the same slices as begins and ends.
    #[test]
    fn begins_and_ends_are_the_same_as_complete_events(lens in vec((0i64..20, 0i64..20), 0..20)) {
        let time = |nanos: i64| json!(nanos as f64 / 1000.0);
        let (mut complete, mut edges) = (Vec::new(), Vec::new());
        let mut at = 0;
        for (n, (gap, len)) in lens.into_iter().enumerate() {
            let (start, inner_end, end) = (at + gap, at + gap + len, at + gap + len + 1);
            for (name, end) in [("outer", end), ("inner", inner_end)] {
                let name = format!("{name} {n}");
                complete.push(json!({"ph":"X","pid":1,"tid":1,"name":name,"ts":time(start),"dur":time(end - start)}));
                edges.push(json!({"ph":"B","pid":1,"tid":1,"name":name,"ts":time(start)}));
            }
            for end in [inner_end, end] {
                edges.push(json!({"ph":"E","pid":1,"tid":1,"ts":time(end)}));
            }
            at = end;
        }
        let (from_complete, from_edges) = (round_trip(&complete).0, round_trip(&edges).0);
        prop_assert_eq!(slices_of(&from_complete), slices_of(&from_edges));
    }
}

#[test]
fn times_since_1970_keep_their_nanoseconds() {
    let trace = r#"[{"ph":"X","name":"a","ts":1700000000123456.789,"dur":0.001,"pid":1,"tid":1}]"#;
    let mut back = Vec::new();
    to_chrome(&converted(Target::Perfetto, trace).0[..], &mut back).unwrap();
    let back = String::from_utf8(back).unwrap();
    assert!(back.contains("\"ts\":1700000000123456.789,") && back.contains("\"dur\":0.001"), "{back}");
}

#[test]
fn points_counters_and_flows_are_kept() {
    let events = json!([
        {"ph":"X","name":"a","ts":1,"dur":5,"pid":1,"tid":1},
        {"ph":"X","name":"b","ts":8,"dur":5,"pid":1,"tid":2},
        {"ph":"i","name":"t","ts":2,"pid":1,"tid":1,"s":"t"},
        {"ph":"i","name":"p","ts":2,"pid":1,"tid":1,"s":"p"},
        {"ph":"i","name":"g","ts":2,"pid":1,"tid":1,"s":"g"},
        {"ph":"s","name":"f","cat":"c","id":"req-1","ts":3,"pid":1,"tid":1},
        {"ph":"f","name":"f","cat":"c","id":"req-1","ts":9,"pid":1,"tid":2,"bp":"e"},
        {"ph":"f","name":"f","cat":"c","id":"nobody","ts":9,"pid":1,"tid":2,"bp":"e"},
        {"ph":"s","name":"f","cat":"c","id":"outside","ts":7,"pid":1,"tid":1},
        {"ph":"f","name":"f","cat":"c","id":"req-1","ts":14,"pid":1,"tid":2},
        {"ph":"C","name":"mem","ts":4,"pid":1,"tid":1,"args":{"used":7,"free":0.5,"odd":"x"}},
        {"ph":"N","name":"object","ts":4,"pid":1,"tid":1,"id":"0x1"}
    ]);
    let (_, summary) = converted(Target::Perfetto, &events.to_string());
    assert_eq!((summary.n_slices, summary.n_instants, summary.n_counter_values, summary.n_flow_points), (2, 3, 2, 2));
    assert_eq!((summary.left.unbound_flow_points, summary.left.odd_counter_values), (3, 1));
    assert_eq!(summary.left.phases[usize::from(b'N')], 1);
    let (back, _) = round_trip(events.as_array().unwrap());
    let spell = |event: &Value| {
        let more = ["s", "id", "bp"].map(|key| event[key].as_str().unwrap_or_default()).join("");
        format!("{}{} {} {}{}", event["ph"], event["name"], event["ts"], more, event["args"]).replace('"', "")
    };
    let mut found: Vec<String> = back
        .iter()
        .filter(|event| !["M", "B", "E", "X"].iter().any(|phase| event["ph"] == *phase))
        .map(spell)
        .collect();
    found.sort_unstable();
    let expected = [
        "Cmem free 4.0 {value:0.5}",
        "Cmem used 4.0 {value:7}",
        "ff 9.0 0x2000000000000001enull",
        "ig 2.0 gnull",
        "ip 2.0 pnull",
        "it 2.0 tnull",
        "sf 3.0 0x2000000000000001enull",
    ];
    assert_eq!(found, expected);
}

/// Ids are numbers or texts, are reused while they are in use, and are shared by processes.
#[test]
fn async_events_are_kept() {
    let events = json!([
        {"ph":"b","name":"request","cat":"r","id":"0x7","ts":1,"pid":1,"tid":1,"args":{"k":1}},
        {"ph":"b","name":"prefill","cat":"r","id":"0x7","ts":2,"pid":1,"tid":2},
        {"ph":"n","name":"token","cat":"r","id":"0x7","ts":3,"pid":1,"tid":1},
        {"ph":"b","name":"crossing","cat":"r","id":"0x7","ts":3,"pid":1,"tid":1},
        {"ph":"e","name":"prefill","cat":"r","id":"0x7","ts":4,"pid":1,"tid":2},
        {"ph":"e","name":"crossing","cat":"r","id":"0x7","ts":9,"pid":1,"tid":1},
        {"ph":"e","name":"request","cat":"r","id":"0x7","ts":8,"pid":1,"tid":1,"args":{"l":2}},
        {"ph":"b","name":"other","cat":"r","id":"request 1","ts":5,"pid":1,"tid":1},
        {"ph":"e","name":"other","cat":"r","id":"request 1","ts":6,"pid":1,"tid":1},
        {"ph":"b","name":"elsewhere","cat":"r","id2":{"local":"0x7"},"ts":5,"pid":2,"tid":1},
        {"ph":"e","name":"elsewhere","cat":"r","id2":{"local":"0x7"},"ts":6,"pid":2,"tid":1}
    ]);
    let (back, _) = round_trip(events.as_array().unwrap());
    let found: Vec<String> = back
        .iter()
        .filter(|event| event["ph"] != "M")
        .map(|event| {
            let id = event["id2"]["local"].as_str().unwrap();
            let row = format!("{}/{}", event["pid"], event["tid"]);
            format!("{} {} {} {id} {row} {}", event["ph"], event["name"], event["ts"], event["args"]).replace('"', "")
        })
        .collect();
    let expected = [
        "b request 1.0 0x7 1/1 {k:1,l:2}",
        "b prefill 2.0 0x7 1/2 null",
        "b crossing 3.0 0x4000000000000000 1/1 {id:0x7}",
        "n token 3.0 0x7 1/1 null",
        "e prefill 4.0 0x7 1/2 null",
        "b other 5.0 0x4000000000000001 1/1 {id:request 1}",
        "b elsewhere 5.0 0x7 2/1 null",
        "e other 6.0 0x4000000000000001 1/1 null",
        "e elsewhere 6.0 0x7 2/1 null",
        "e request 8.0 0x7 1/1 null",
        "e crossing 9.0 0x4000000000000000 1/1 null",
    ];
    assert_eq!(found, expected);
}

#[test]
fn flows_keep_their_ids_unless_one_is_reused() {
    let point = |phase: &str, category: &str, id: Value, ts: u32| {
        let tid = if phase == "s" { 1 } else { 2 };
        json!({"ph": phase, "name": category, "cat": category, "id": id, "ts": ts, "pid": 1, "tid": tid, "bp": "e"})
    };
    let arrow =
        |category: &str, id: Value, ts: u32| [point("s", category, id.clone(), ts), point("f", category, id, ts + 1)];
    let slice = |tid: u32| json!({"ph": "X", "name": "a", "ts": 1, "dur": 90, "pid": 1, "tid": tid});
    let arrows = [
        arrow("ac2g", json!(2_147_483_648_u32), 2),
        arrow("ac2g", json!("0x10"), 4),
        arrow("fwdbwd", json!(16), 6),
        arrow("ac2g", json!(16), 8),
        arrow("ac2g", json!("0x7d3100000001"), 10),
    ];
    let events: Vec<Value> = [slice(1), slice(2)].into_iter().chain(arrows.into_iter().flatten()).collect();
    let (back, _) = round_trip(&events);
    let ids = |phase: &str| -> Vec<Value> {
        back.iter().filter(|event| event["ph"] == phase).map(|event| event["id"].clone()).collect()
    };
    let expected =
        [json!(2_147_483_648_u32), json!(16), json!(16), json!("0x2000000000000001"), json!("0x7d3100000001")];
    assert_eq!((ids("s"), ids("f")), (expected.to_vec(), expected.to_vec()));
}

#[test]
fn deep_arguments_are_text_from_some_level_on() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let trace = format!(r#"[{{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1,"args":{{"deep":{deep},"x":1}}}}]"#);
    let mut back = Vec::new();
    to_chrome(&converted(Target::Perfetto, &trace).0[..], &mut back).unwrap();
    let document: Value = serde_json::from_slice(&back).unwrap();
    let begin = document["traceEvents"].as_array().unwrap().iter().find(|event| event["ph"] == "X").unwrap();
    assert_eq!(begin["args"]["x"], 1);
    let mut inner = &begin["args"]["deep"];
    while let Some(values) = inner.as_array() {
        inner = &values[0];
    }
    assert!(inner.as_str().unwrap().len() > 199_000);
}

#[test]
fn no_text_is_cut_at_a_nul() {
    let slice = r#"{"ph":"X","name":"na\u0000me","cat":"ca\u0000t","ts":1,"dur":1,"pid":1,"tid":1,"args":{"ke\u0000y":"val\u0000ue","in":["va\u0000l"]}}"#;
    let trace = format!(
        r#"[{{"ph":"M","name":"process_name","pid":1,"args":{{"name":"pro\u0000cess"}}}},
        {{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{{"name":"thr\u0000ead"}}}},
        {slice},{slice},
        {{"ph":"C","name":"mem\u0000ory","ts":1,"pid":1,"args":{{"us\u0000ed":7}}}}]"#
    );
    let (pftrace, _) = converted(Target::Perfetto, &trace);
    let has = |text: &str| pftrace.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    for text in ["na␀me", "ca␀t", "ke␀y", "val␀ue", "va␀l", "pro␀cess", "thr␀ead", "mem␀ory us␀ed"] {
        assert!(has(text) && !has(&text.replace('␀', "\0")), "{text}");
    }
    let (back, _) = round_trip(serde_json::from_str::<Value>(&trace).unwrap().as_array().unwrap());
    let n_whole = back.iter().filter(|event| event["name"] == "na␀me" && event["args"]["ke␀y"] == "val␀ue").count();
    assert_eq!(n_whole, 2);
}

/// Texts that repeat are interned, which must not depend on the seed of a hash; unfinished slices come last.
#[test]
fn the_same_input_gives_the_same_bytes() {
    let event = |n: u32| {
        let args = json!({"file": format!("file {}.rs", n % 997), "task": format!("task {}", n % 1499)});
        json!({"ph": "B", "name": "work", "ts": n, "pid": 1 + n % 5, "tid": n % 7, "args": args})
    };
    let events = Value::Array((0..20_000).map(event).collect()).to_string();
    let first = converted(Target::Perfetto, &events).0;
    for _ in 0..3 {
        assert!(converted(Target::Perfetto, &events).0 == first);
    }
}
