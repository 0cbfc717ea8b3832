//! Tests of ids: separate files stay separate, and joined events stay joined.

use crate::{Made, input, merge_aligned, merged};
use ferrum_trace_analyze::merge::{Align, Error, Input, MergeOptions, MergedForm, merge};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Slices, flows, and async slices of every kind, as written by a tool without other processes.
fn busy(pid: &str) -> String {
    let events = [
        r#"{"ph":"X","name":"launch","cat":"op","ts":1,"dur":5,"tid":7,"pid":PID}"#,
        r#"{"ph":"s","name":"ac2g","cat":"ac2g","id":3,"ts":2,"tid":7,"pid":PID}"#,
        r#"{"ph":"X","name":"kernel","cat":"kernel","ts":10,"dur":5,"tid":"stream 7","pid":PID}"#,
        r#"{"ph":"f","bp":"e","name":"ac2g","cat":"ac2g","id":3,"ts":11,"tid":"stream 7","pid":PID}"#,
        r#"{"ph":"b","name":"plain","cat":"a","id":"0x5","ts":3,"tid":7,"pid":PID}"#,
        r#"{"ph":"e","name":"plain","cat":"a","id":"0x5","ts":4,"tid":7,"pid":PID}"#,
        r#"{"ph":"b","name":"local","cat":"a","id2":{"local":"0x5"},"ts":3,"tid":7,"pid":PID}"#,
        r#"{"ph":"e","name":"local","cat":"a","id2":{"local":"0x5"},"ts":4,"tid":7,"pid":PID}"#,
        r#"{"ph":"n","name":"global","cat":"a","id2":{"global":"0x5"},"ts":3,"tid":7,"pid":PID}"#,
        r#"{"ph":"X","name":"bound","cat":"op","ts":20,"dur":1,"tid":7,"pid":PID,"bind_id":"0x9","flow_out":true}"#,
        r#"{"ph":"N","name":"object","cat":"a","id":"0x5","ts":3,"tid":7,"pid":PID}"#,
        r#"{"ph":"C","name":"memory","ts":3,"pid":PID,"args":{"used":4}}"#,
    ];
    format!("[{}]", events.join(",\n").replace("PID", pid))
}

fn ids(made: &Made, name: &str, id: impl Fn(&Value) -> Value) -> BTreeMap<u64, BTreeSet<String>> {
    let mut ids: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for event in made.named(name) {
        ids.entry(event["pid"].as_u64().unwrap()).or_default().insert(id(event).to_string());
    }
    ids
}

/// Checks that each process has one id, different from the others.
#[track_caller]
fn assert_apart(made: &Made, name: &str, n_files: usize, id: impl Fn(&Value) -> Value) {
    let ids = ids(made, name, id);
    let all: BTreeSet<&String> = ids.values().flatten().collect();
    assert!(ids.len() == n_files && all.len() == n_files && ids.values().all(|ids| ids.len() == 1), "{name}: {ids:?}");
}

#[test]
fn ids_of_one_file_do_not_join_events_of_another() {
    let inputs: Vec<Input> = (0..3).map(|n| input(&format!("{n}.json"), &busy("5"))).collect();
    let made = merged(&inputs);
    made.assert_clean();
    let pids: Vec<u32> = made.merged.inputs.iter().map(|input| input.processes[0].pid).collect();
    assert_eq!(pids[0], 5, "the first keeps its number");
    assert_eq!(pids.iter().collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(made.merged.inputs[2].processes[0].old_pid, "5");
    assert_apart(&made, "ac2g", 3, |event| event["id"].clone());
    assert_apart(&made, "plain", 3, |event| event["id"].clone());
    assert_apart(&made, "bound", 3, |event| event["bind_id"].clone());
    let object = ids(&made, "object", |event| event["id"].clone());
    assert!(
        object.values().all(|ids| ids.contains("\"0x5\"")),
        "the id of an object is a memory address of its process"
    );
    let local = ids(&made, "local", |event| event["id2"]["local"].clone());
    assert!(
        local.values().all(|ids| ids.len() == 1 && ids.contains("\"0x5\"")),
        "they are distinguished by the process"
    );
    let global = ids(&made, "global", |event| event["id2"]["global"].clone());
    assert!(global.values().all(|ids| ids.contains("\"0x5\"")), "global ids stay global");
    let labels = made.named("process_labels").map(|event| event["args"]["labels"].clone()).collect::<Vec<_>>();
    assert_eq!(labels, [json!("pid 5"), json!("pid 5")], "the old number of the other two");
}

#[test]
fn text_ids_become_numbers_and_names() {
    let made = merged(&[input("a.json", &busy("\"Spans\"")), input("b.json", &busy("\"Spans\""))]);
    made.assert_clean();
    let names: Vec<&Value> = made.named("process_name").map(|event| &event["args"]["name"]).collect();
    assert_eq!(names, [&json!("Spans"), &json!("Spans")]);
    let threads: BTreeSet<&str> =
        made.named("thread_name").map(|event| event["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(threads, BTreeSet::from(["stream 7"]));
}

/// A trace of our recorder: the ids of flows begin with the number of the process.
fn ours(pid: u64, host: &str) -> String {
    let flow = pid << 32 | 1;
    format!(
        r#"[{{"ph":"X","name":"a","cat":"x","ts":1,"dur":9,"pid":{pid},"tid":{pid}}},
        {{"ph":"s","name":"flow","cat":"flow","id":"{flow:#x}","ts":2,"pid":{pid},"tid":{pid}}},
        {{"ph":"X","name":"b","cat":"x","ts":20,"dur":9,"pid":{pid},"tid":{pid}}},
        {{"ph":"f","bp":"e","name":"flow","cat":"flow","id":"{flow:#x}","ts":21,"pid":{pid},"tid":{pid}}},
        {{"ph":"M","name":"ferrum_trace","pid":{pid},"tid":{pid},"args":{{"host":"{host}","recorded":4}}}}]"#
    )
}

#[test]
fn our_flows_are_unique_unless_processes_share_a_number() {
    let made = merged(&[input("a", &ours(70, "n0")), input("b", &ours(71, "n0")), input("c", &ours(70, "n1"))]);
    made.assert_clean();
    assert_apart(&made, "flow", 3, |event| event["id"].clone());
    let ids: Vec<String> =
        made.named("flow").filter(|event| event["ph"] == "s").map(|event| event["id"].to_string()).collect();
    assert_eq!(ids[..2], ["\"0x4600000001\"", "\"0x4700000001\""], "the ids are kept");
}

#[test]
fn flows_of_other_tools_with_our_names_are_kept_separate() {
    let trace = r#"[{"ph":"X","name":"a","cat":"x","ts":1,"dur":9,"pid":0,"tid":3},{"ph":"s","name":"flow","cat":"flow","id":1,"ts":2,"pid":0,"tid":3}]"#;
    let made = merged(&[input("a", trace), input("b", trace), input("c", trace)]);
    assert_apart(&made, "flow", 3, |event| event["id"].clone());
}

#[test]
fn ranks_are_named_and_in_order() {
    let trace = r#"[{"ph":"M","name":"process_name","pid":9,"args":{"name":"python"}},
        {"ph":"M","name":"process_sort_index","pid":9,"args":{"sort_index":9}},
        {"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}},
        {"ph":"M","name":"process_labels","pid":0,"args":{"labels":"GPU 0"}},
        {"ph":"M","name":"process_sort_index","pid":0,"args":{"sort_index":5000000}},
        {"ph":"X","name":"a","ts":1,"dur":1,"pid":0,"tid":7},
        {"ph":"X","name":"a","ts":1,"dur":1,"pid":9,"tid":9}]"#;
    let mut given = input("whatever.json", trace);
    given.rank = Some(1);
    let stated = format!("{{\"distributedInfo\":{{\"rank\":0}},\"traceEvents\":{trace}}}");
    let made = merged(&[input("rank_11.json", trace), given, input("rank77.json", &stated)]);
    let ranks: Vec<Option<u32>> = made.merged.inputs.iter().map(|input| input.rank).collect();
    assert_eq!(
        ranks,
        [Some(0), Some(1), Some(11)],
        "the option takes precedence over the trace, and the trace over its name"
    );
    let mut by_place: Vec<(i64, String)> = Vec::new();
    for event in made.named("process_sort_index") {
        let name = made.named("process_name").find(|name| name["pid"] == event["pid"]).unwrap();
        let name = name["args"]["name"].as_str().unwrap().to_owned();
        by_place.push((event["args"]["sort_index"].as_i64().unwrap(), name));
    }
    by_place.sort();
    let names: Vec<&str> = by_place.iter().map(|(_, name)| name.as_str()).collect();
    let of_rank = |rank| [format!("rank {rank}: python 9"), format!("rank {rank}: GPU 0")];
    assert_eq!(names, [of_rank(0), of_rank(1), of_rank(11)].concat());
}

#[test]
fn shared_fields_are_kept_and_others_go_with_their_file() {
    let trace = |rank: u32| {
        let event = r#"{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}"#;
        let fields = r#""schemaVersion":1,"baseTimeNanoseconds":1800000000000000000"#;
        format!("{{{fields},\"distributedInfo\":{{\"rank\":{rank}}},\"traceEvents\":[{event}]}}")
    };
    let made = merged(&[input("a", &trace(0)), input("b", &trace(1))]);
    assert_eq!(made.document["schemaVersion"], 1);
    assert_eq!(made.document["baseTimeNanoseconds"], 1_800_000_000_000_001_000_i64, "the new time zero");
    assert_eq!(made.document["distributedInfo"], Value::Null);
    let fields: Vec<&Value> =
        made.named("ferrum_trace_merge").map(|event| &event["args"]["fields"]["distributedInfo"]).collect();
    assert_eq!(fields, [&json!({"rank": 0}), &json!({"rank": 1})]);
}

#[test]
fn fields_keep_their_names_with_special_characters() {
    let trace = |own: &str| format!(r#"{{"a\"b":1,"\u0063":2,"d\"e":"{own}","traceEvents":[]}}"#);
    let made = merged(&[input("a", &trace("x")), input("b", &trace("y"))]);
    assert_eq!((&made.document["a\"b"], &made.document["c"]), (&json!(1), &json!(2)));
    let fields: Vec<&Value> = made.named("ferrum_trace_merge").map(|event| &event["args"]["fields"]).collect();
    assert_eq!(fields, [&json!({"d\"e": "x"}), &json!({"d\"e": "y"})]);
}

#[test]
fn keys_of_fields_are_bounded_like_their_values() {
    let long = format!(r#"{{"{}":1,"short":2,"traceEvents":[]}}"#, "k".repeat(2 << 20));
    let made = merged(&[input("a", &long)]);
    assert_eq!(made.merged.n_fields_lost, 1);
    assert_eq!(made.document["short"], 2);
}

#[test]
fn the_recorders_metadata_have_the_new_time_zero() {
    let trace = |start: i64| {
        format!(
            r#"[{{"ph":"X","name":"a","ts":5,"dur":1,"pid":1,"tid":1}},{{"ph":"M","name":"ferrum_trace","pid":1,"tid":1,
            "args":{{"start_monotonic_ns":{start},"start_unix_ns":{},"boot_id":"b","host":"h"}}}}]"#,
            start + 1_000_000_000_000_000_000
        )
    };
    let made = merged(&[input("a", &trace(1_000_000)), input("b", &trace(3_000_000))]);
    for event in made.named("ferrum_trace") {
        assert_eq!(event["args"]["start_monotonic_ns"], 1_005_000);
        assert_eq!(event["args"]["start_unix_ns"], 1_000_000_000_001_005_000_i64);
    }
    assert_eq!(made.merged.start_unix_ns, Some(1_000_000_000_001_005_000));
}

#[test]
fn a_file_that_is_not_a_trace_is_named_and_a_damaged_one_is_merged() {
    let good = busy("1");
    let refused = merge_aligned(&[input("a.json", &good), input("page.html", "<html>")], Align::Auto).err().unwrap();
    assert!(matches!(&refused, Error::Input { place: 1, name, .. } if name == "page.html"), "{refused}");
    assert!(refused.to_string().starts_with("page.html: byte 0: expected a trace"), "{refused}");
    let made = merged(&[input("a.json", &good), input("cut.json", &good[..good.len() - 40])]);
    assert_eq!((made.merged.inputs[0].losses.n, made.merged.inputs[1].losses.n), (0, 1));
    assert_eq!(made.merged.inputs[1].n_events, made.merged.inputs[0].n_events - 1);
}

#[test]
fn metadata_of_other_tools_stay_with_their_process() {
    let trace = r#"[{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1},{"ph":"M","name":"num_cpus","pid":3,"tid":"x","args":{"number":8}}]"#;
    let made = merged(&[input("a", trace), input("b", trace)]);
    let pids: BTreeSet<u64> = made.named("num_cpus").map(|event| event["pid"].as_u64().unwrap()).collect();
    assert_eq!(pids.len(), 2);
}

#[test]
fn no_input_and_a_single_input_can_be_merged() {
    assert_eq!(merged(&[]).merged.n_events, 0);
    assert_eq!(merged(&[input("empty", "[]")]).merged.inputs.len(), 1);
    let made = merged(&[input("one", &busy("1"))]);
    made.assert_clean();
    assert_eq!(made.merged.inputs[0].n_events, 12);
}

#[test]
fn all_output_formats_have_the_same_content() {
    // Two slices that overlap partly, which viewers do not accept.
    let overlap = r#"[{"ph":"X","name":"a","ts":1,"dur":5,"pid":1,"tid":1},{"ph":"X","name":"b","ts":3,"dur":5,"pid":1,"tid":1}]"#;
    let inputs = [input("a", overlap), input("b", overlap)];
    let mut mended = Vec::new();
    let options = MergeOptions { form: MergedForm::ChromeRepaired, ..MergeOptions::default() };
    merge(&inputs, &mut mended, &options).unwrap();
    let document: Value = serde_json::from_slice(&mended).unwrap();
    let merged = merged(&inputs).merged;
    Made { bytes: mended, document, merged }.assert_clean();
    let mut perfetto = Vec::new();
    let options = MergeOptions { form: MergedForm::Perfetto, ..MergeOptions::default() };
    let merged = merge(&inputs, &mut perfetto, &options).unwrap();
    assert_eq!(merged.n_events, 4 + 2, "slices, and the description of each input");
    assert!(ferrum_trace_format::perfetto::read::is_pftrace(&perfetto));
}
