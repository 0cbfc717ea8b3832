//! Tests of each format with a small trace.

use crate::{ClosedPipe, converted, converted_text};
use ferrum_trace_analyze::convert::{CsvTexts, Error, Target, convert};
use std::io::{self, Read};

/// Two threads: one with nested slices, of which one is written as begin and end, and one with slices that overlap.
const TRACE: &str = r#"{"traceEvents":[
{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"main"}},
{"ph":"X","name":"inner","cat":"op","ts":12,"dur":3,"pid":1,"tid":2,"args":{"text":"a \"b\", c"}},
{"ph":"X","name":"outer; or so","ts":10,"dur":10.5,"pid":1,"tid":2},
{"ph":"E","ts":18,"pid":1,"tid":2,"args":{"z":2}},
{"ph":"B","name":"inner","ts":16,"pid":1,"tid":2,"args":{"y":1}},
{"ph":"X","name":"early","ts":11,"dur":4,"pid":1,"tid":"stream 7"},
{"ph":"X","name":"late","ts":13,"dur":4,"pid":1,"tid":"stream 7"},
{"ph":"i","name":"point","ts":13,"pid":1,"tid":2},
{"ph":"M","name":"process_name","pid":1,"args":{"name":"engine"}}
]}"#;

#[test]
fn folded_stacks_have_self_times_and_one_line_each() {
    let (out, summary) = converted(Target::Folded, TRACE);
    let expected = "\
engine (1);main (2);outer: or so 5500
engine (1);main (2);outer: or so;inner 5000
engine (1);thread stream 7;early 4000
engine (1);thread stream 7;late 4000
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
    assert_eq!((summary.n_slices, summary.n_moved, summary.left.phases[usize::from(b'i')]), (5, 1, 1));
}

#[test]
fn a_table_has_one_row_per_slice_in_time_order() {
    let expected = r#"start_ns,duration_ns,name,category,process,pid,thread,tid,args,layer,step,phase,parent
10000,10500,outer; or so,,engine,1,main,2,,,,,
11000,4000,early,,engine,1,,stream 7,,,,,
12000,3000,inner,op,engine,1,main,2,"{""text"":""a \""b\"", c""}",,,,outer; or so
13000,4000,late,,engine,1,,stream 7,,,,,
16000,2000,inner,,engine,1,main,2,"{""y"":1,""z"":2}",,,,outer; or so
"#;
    assert_eq!(converted_text(Target::Csv(CsvTexts::Guarded), TRACE), expected);
}

#[test]
fn speedscope_has_one_profile_per_lane_with_matching_begins_and_ends() {
    let document: serde_json::Value = serde_json::from_str(&converted_text(Target::Speedscope, TRACE)).unwrap();
    let frames = document["shared"]["frames"].as_array().unwrap();
    let spelled: Vec<String> = document["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|profile| {
            assert_eq!((&profile["type"], &profile["unit"]), (&"evented".into(), &"nanoseconds".into()));
            let edges = profile["events"].as_array().unwrap().iter().map(|edge| {
                let name = &frames[edge["frame"].as_u64().unwrap() as usize]["name"];
                format!(" {}{}@{}", edge["type"].as_str().unwrap(), name, edge["at"])
            });
            format!("{}:{} end {}", profile["name"].as_str().unwrap(), edges.collect::<String>(), profile["endValue"])
        })
        .collect();
    let expected = [
        r#"engine (1) / main (2): O"outer; or so"@0 O"inner"@2000 C"inner"@5000 O"inner"@6000 C"inner"@8000 C"outer; or so"@10500 end 10500"#,
        r#"engine (1) / thread stream 7: O"early"@1000 C"early"@5000 end 5000"#,
        r#"engine (1) / thread stream 7 (2): O"late"@3000 C"late"@7000 end 7000"#,
    ];
    assert_eq!(spelled, expected);
}

#[test]
fn a_begin_without_an_end_is_closed_for_speedscope_and_has_no_time_elsewhere() {
    let trace =
        r#"[{"ph":"B","name":"open","ts":1,"pid":1,"tid":1},{"ph":"X","name":"a","ts":2,"dur":3,"pid":1,"tid":1}]"#;
    let (out, summary) = converted(Target::Speedscope, trace);
    assert_eq!(summary.left.unclosed, 1);
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let events = document["profiles"][0]["events"].as_array().unwrap();
    assert_eq!((events.len(), &events[3]["type"], &events[3]["at"]), (4, &"C".into(), &4000.into()));
    assert_eq!(converted_text(Target::Folded, trace), "process 1;thread 1;a 3000\n");
    assert!(converted_text(Target::Csv(CsvTexts::Guarded), trace).contains("\n1000,,open,"));
}

#[test]
fn a_flame_graph_names_every_frame() {
    let svg = converted_text(Target::Svg, TRACE);
    for name in ["outer: or so", "inner", "early", "late", "main (2)"] {
        assert!(svg.contains(name), "{name}");
    }
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(converted_text(Target::Svg, "[]").contains("no slices"));
}

#[test]
fn a_trace_without_slices_is_accepted_by_all_formats() {
    for target in [Target::Perfetto, Target::Speedscope, Target::Folded, Target::Svg, Target::Csv(CsvTexts::Guarded)] {
        let (_, summary) = converted(target, r#"{"traceEvents":[]}"#);
        assert_eq!(summary.n_slices, 0);
    }
}

#[test]
fn errors_distinguish_reading_from_writing() {
    let open = || Ok(Box::new(TRACE.as_bytes()) as Box<dyn Read + Send>);
    for target in [Target::Perfetto, Target::Speedscope, Target::Folded, Target::Svg, Target::Csv(CsvTexts::Guarded)] {
        let error = convert(target, &open, &mut ClosedPipe).unwrap_err();
        assert!(matches!(error, Error::Write(cause) if cause.kind() == io::ErrorKind::BrokenPipe));
    }
    let open = || Ok(Box::new(&b"no trace"[..]) as Box<dyn Read + Send>);
    let error = convert(Target::Perfetto, &open, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, Error::Read(cause) if cause.is_wrong_format()));
}
