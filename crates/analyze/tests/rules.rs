//! One small file for each rule that violates it, and the result of `repair`.

use ferrum_trace_analyze::check::{Report, check, rules};
use ferrum_trace_analyze::repair::{Changes, ChromeOptions, OutputForm, RepairOptions, chrome, repair};
use std::collections::HashSet;
use std::io::Read;

fn checked(file: &[u8]) -> Report {
    let file = file.to_vec();
    check(&|| Ok(Box::new(std::io::Cursor::new(file.clone())) as Box<dyn Read + Send>)).unwrap()
}

fn repaired(file: &[u8]) -> (String, Changes) {
    let file = file.to_vec();
    let mut out = Vec::new();
    let open = || Ok(Box::new(std::io::Cursor::new(file.clone())) as Box<dyn Read + Send>);
    let changes = repair(&open, &mut out, &RepairOptions::default()).unwrap();
    (String::from_utf8(out).unwrap(), changes)
}

/// Codes of errors, and of notes that are more than observations.
fn codes(file: &[u8]) -> Vec<&'static str> {
    let quiet = ["missing-category", "no-slices"];
    let report = checked(file);
    report.findings.iter().map(|finding| finding.rule.code).filter(|code| !quiet.contains(code)).collect()
}

const OK: &str = r#"{"ph":"X","name":"ok","cat":"c","pid":1,"tid":11,"ts":1000,"dur":5}"#;

fn object(events: &str) -> String {
    format!("{{\"traceEvents\":[{OK},{events}]}}")
}

/// Code, events that violate the rule, and a text that must be in the repaired file.
const CASES: &[(&str, &str, &str)] = &[
    ("empty-event", "{}", ""),
    ("unknown-phase", r#"{"ph":"Z","name":"z","pid":1,"tid":11,"ts":1}"#, r#""ph":"i""#),
    ("phase-not-shown", r#"{"ph":"O","name":"z","pid":1,"tid":11,"ts":1}"#, r#""ph":"O""#),
    ("missing-name", r#"{"ph":"X","pid":1,"tid":11,"ts":1,"dur":1}"#, r#""name":"""#),
    ("name-not-text", r#"{"ph":"X","name":5,"pid":1,"tid":11,"ts":1,"dur":1}"#, r#""name":"5""#),
    ("args-not-object", r#"{"ph":"X","name":"a","pid":1,"tid":11,"ts":1,"dur":1,"args":[1]}"#, r#"{"value":[1]}"#),
    (
        "odd-number",
        r#"{"ph":"X","name":"a","pid":1,"tid":010,"ts":087.830,"dur":01,"args":{"a":[-007,1e999]}}"#,
        r#""tid":10,"ts":87.830,"dur":1,"args":{"a":[-7,"1e999"]}"#,
    ),
    ("instant-scope", r#"{"ph":"i","name":"a","pid":1,"tid":11,"ts":1,"s":"x"}"#, r#""s":"t""#),
    ("empty-row-name", r#"{"ph":"M","name":"thread_name","pid":1,"tid":11,"args":{"name":""}}"#, ""),
    ("escape", r#"{"ph":"X","name":"\u00e9","pid":1,"tid":11,"ts":1,"dur":1}"#, r#""name":"é""#),
    ("surrogate-pair", r#"{"ph":"X","name":"\ud83d\ude00","pid":1,"tid":11,"ts":1,"dur":1}"#, "😀"),
    ("final-backslash", r#"{"ph":"X","name":"C:\\","pid":1,"tid":11,"ts":1,"dur":1}"#, r"C:\u005c"),
    ("nul", r#"{"ph":"X","name":"a\u0000","pid":1,"tid":11,"ts":1,"dur":1}"#, "a␀"),
    ("control-byte", "{\"ph\":\"X\",\"name\":\"a\tb\",\"pid\":1,\"tid\":11,\"ts\":1,\"dur\":1}", r"a\tb"),
    ("missing-id", r#"{"ph":"X","name":"a","ts":1,"dur":1}"#, r#"{"name":"no thread"}"#),
    ("text-id", r#"{"ph":"X","name":"a","pid":1,"tid":"GPU 0","ts":1,"dur":1}"#, r#"{"name":"GPU 0"}"#),
    (
        "mixed-id",
        r#"{"ph":"X","name":"a","pid":1,"tid":"11","ts":1,"dur":1},{"ph":"X","name":"a","pid":1,"tid":11,"ts":1,"dur":1}"#,
        r#""tid":11"#,
    ),
    ("id-range", r#"{"ph":"X","name":"a","pid":1,"tid":-1,"ts":1,"dur":1}"#, r#"{"name":"-1"}"#),
    ("tid-zero", r#"{"ph":"X","name":"a","pid":1,"tid":0,"ts":1,"dur":1}"#, r#""tid":12"#),
    ("missing-ts", r#"{"ph":"X","name":"gone","pid":1,"tid":11,"dur":1}"#, ""),
    ("missing-dur", r#"{"ph":"X","name":"a","pid":1,"tid":11,"ts":1}"#, r#""unusable_dur":"missing""#),
    ("negative-dur", r#"{"ph":"X","name":"a","pid":1,"tid":11,"ts":1,"dur":-5}"#, r#""unusable_dur":"-5""#),
    ("quoted-number", r#"{"ph":"X","name":"a","pid":1,"tid":11,"ts":"1.5","dur":"2"}"#, r#""ts":1.500,"dur":2"#),
    ("negative-ts", r#"{"ph":"X","name":"a","pid":1,"tid":11,"ts":-3,"dur":1}"#, r#""ferrumTraceShiftNs":"-3000""#),
    ("sub-nanosecond", r#"{"ph":"X","name":"a","pid":1,"tid":11,"ts":1.00049,"dur":1}"#, r#""ts":1,"#),
    (
        "long-span",
        r#"{"ph":"X","name":"a","pid":1,"tid":11,"ts":1700000000000000.123,"dur":1}"#,
        "1700000000000000.123",
    ),
    (
        "overlap",
        r#"{"ph":"M","name":"thread_name","pid":1,"tid":11,"args":{"name":"main"}},{"ph":"X","name":"a","pid":1,"tid":11,"ts":1004,"dur":5}"#,
        r#"{"name":"main (2)"}"#,
    ),
    (
        "outer-not-first",
        r#"{"ph":"X","name":"outer","pid":1,"tid":11,"ts":1000,"dur":9}"#,
        "\"outer\",\"pid\":1,\"tid\":11,\"ts\":1000,\"dur\":9},\n{\"ph\":\"X\",\"name\":\"ok\"",
    ),
    (
        "unordered-be",
        r#"{"ph":"E","name":"a","pid":1,"tid":7,"ts":9},{"ph":"B","name":"a","pid":1,"tid":7,"ts":1}"#,
        r#""ts":1,"dur":8"#,
    ),
    ("unmatched-end", r#"{"ph":"E","name":"a","pid":1,"tid":7,"ts":9}"#, ""),
    ("unclosed-begin", r#"{"ph":"B","name":"a","pid":1,"tid":7,"ts":5}"#, r#""dur":1000,"args":{"unclosed":true}"#),
    (
        "misnamed-end",
        r#"{"ph":"B","name":"a","pid":1,"tid":7,"ts":5,"args":{"k":1}},{"ph":"E","name":"b","pid":1,"tid":7,"ts":8,"args":{"l":2}}"#,
        r#""args":{"k":1,"l":2},"dur":3"#,
    ),
    (
        "zero-length-pair",
        r#"{"ph":"B","name":"a","pid":1,"tid":11,"ts":5},{"ph":"E","name":"a","pid":1,"tid":11,"ts":5},{"ph":"X","name":"b","pid":1,"tid":11,"ts":5,"dur":0}"#,
        r#""ts":5,"dur":0},"#,
    ),
    (
        "zero-length-tie",
        r#"{"ph":"X","name":"a","pid":1,"tid":11,"ts":5,"dur":0},{"ph":"X","name":"b","pid":1,"tid":11,"ts":5,"dur":0}"#,
        r#""ts":5,"dur":0},"#,
    ),
    (
        "shared-start",
        r#"{"ph":"B","name":"a","pid":1,"tid":11,"ts":5},{"ph":"X","name":"b","pid":1,"tid":11,"ts":5,"dur":1},{"ph":"E","name":"a","pid":1,"tid":11,"ts":9}"#,
        r#""ts":5,"dur":4"#,
    ),
    ("flow-without-id", r#"{"ph":"s","name":"f","pid":1,"tid":11,"ts":1001}"#, ""),
    ("flow-id-text", r#"{"ph":"s","name":"f","pid":1,"tid":11,"ts":1001,"id":"req-1"}"#, r#""id":1}"#),
    (
        "duplicate-flow",
        r#"{"ph":"s","name":"f","pid":1,"tid":11,"ts":1001,"id":4},{"ph":"s","name":"f","pid":1,"tid":11,"ts":1002,"id":4}"#,
        r#""id":5}"#,
    ),
    ("flow-without-start", r#"{"ph":"f","name":"f","pid":1,"tid":11,"ts":1001,"id":4,"bp":"e"}"#, ""),
    ("flow-outside-slice", r#"{"ph":"s","name":"f","pid":1,"tid":11,"ts":1,"id":4}"#, ""),
    (
        "flow-without-bp",
        r#"{"ph":"s","name":"f","pid":1,"tid":11,"ts":1001,"id":4},{"ph":"f","name":"f","pid":1,"tid":11,"ts":1002,"id":4}"#,
        r#""bp":"e""#,
    ),
    (
        "flow-fan-out",
        r#"{"ph":"s","name":"f","pid":1,"tid":11,"ts":1001,"id":4},{"ph":"f","name":"f","pid":1,"tid":11,"ts":1002,"id":4,"bp":"e"},{"ph":"f","name":"f","pid":1,"tid":11,"ts":1003,"id":4,"bp":"e"}"#,
        r#"{"ph":"s","name":"f","pid":1,"tid":11,"ts":1001,"id":5}"#,
    ),
    ("async-without-id", r#"{"ph":"b","name":"a","pid":1,"tid":11,"ts":1}"#, ""),
    (
        "legacy-async",
        r#"{"ph":"S","name":"a","pid":1,"tid":11,"ts":1,"id":1},{"ph":"F","name":"a","pid":1,"tid":11,"ts":2,"id":1}"#,
        r#"{"ph":"b","name":"a""#,
    ),
    (
        "unmatched-async",
        r#"{"ph":"b","name":"a","pid":1,"tid":11,"ts":1,"id":1}"#,
        r#"{"ph":"e","name":"a","pid":1,"tid":11,"ts":1005"#,
    ),
    (
        "crossed-async",
        r#"{"ph":"b","name":"a","pid":1,"tid":11,"ts":1,"id":1},{"ph":"b","name":"b","pid":1,"tid":11,"ts":2,"id":1},{"ph":"e","name":"a","pid":1,"tid":11,"ts":3,"id":1},{"ph":"e","name":"b","pid":1,"tid":11,"ts":4,"id":1}"#,
        r#""id2":{"global":"1 (2)"}"#,
    ),
    (
        "shared-async-id",
        r#"{"ph":"b","name":"a","pid":1,"tid":11,"ts":1,"id":1},{"ph":"b","name":"a","pid":2,"tid":11,"ts":2,"id":1},{"ph":"e","name":"a","pid":1,"tid":11,"ts":3,"id":1},{"ph":"e","name":"a","pid":2,"tid":11,"ts":4,"id":1}"#,
        r#""id2":{"local":"1"}"#,
    ),
    ("counter-without-args", r#"{"ph":"C","name":"c","pid":1,"tid":11,"ts":1,"args":{}}"#, ""),
    (
        "counter-not-number",
        r#"{"ph":"C","name":"c","pid":1,"tid":11,"ts":1,"args":{"a":"7","b":null,"c":1}}"#,
        r#"{"a":7,"c":1}"#,
    ),
    (
        "profile-id",
        concat!(
            r#"{"ph":"P","name":"Profile","cat":"v8","pid":1,"tid":11,"ts":1,"id":"0x1","args":{"data":{"startTime":1}}},"#,
            r#"{"ph":"P","name":"Profile","cat":"v8","pid":2,"tid":12,"ts":2,"id":"0x1","args":{"data":{"startTime":2}}}"#
        ),
        r#""tid":12,"ts":2,"id":"0x2""#,
    ),
    (
        "profile-data",
        r#"{"ph":"P","name":"ProfileChunk","cat":"v8","pid":1,"tid":11,"ts":1,"id":"0x1","args":{"data":{"cpuProfile":{"samples":[2]},"timeDeltas":[1]}}}"#,
        "",
    ),
];

/// Code, whole file that violates the rule, and a text that must be in the repaired file.
const FILES: &[(&str, &[u8])] = &[
    ("bom", b"\xef\xbb\xbf{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]}"),
    ("cut-event", b"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1},{\"ph\":"),
    ("unclosed-array", b"[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1},"),
    ("unclosed-file", b"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]"),
    ("stray-comma", b"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}, ] }"),
    ("stray-comma", b"[,{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]"),
    ("missing-comma", b"[{\"ph\":\"i\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1} {\"ph\":\"i\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1}]"),
    ("lines-form", b"{\"ph\":\"i\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1}\n{\"ph\":\"i\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1}"),
    ("nan", b"[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":NaN},{\"ph\":\"i\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1}]"),
    ("damage", b"[{\"ph\":\"i\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1},]\0\0,{\"ph\":\"i\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1}]"),
    ("empty-array", b"[]"),
    (
        "unusable-field",
        b"{\"systemTraceEvents\":{},\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"cat\":\"c\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]}",
    ),
    ("no-events", b"{\"traceEvents\":[]}"),
    ("no-slices", b"{\"traceEvents\":[{\"ph\":\"i\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1}]}"),
    ("array-form", b"[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]"),
    ("invalid-utf8", b"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\xff\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]}"),
    ("missing-category", b"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]}"),
    (
        "epoch-precision",
        b"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1700000000000000.123,\"dur\":1}]}",
    ),
];

#[test]
fn a_correct_file_has_no_findings_and_is_written_unchanged() {
    let file = object(
        r#"{ "ph":"B", "name":"a","cat":"c","pid":1,"tid":7,"ts":5},{"ph":"E","name":"a","pid":1,"tid":7,"ts":8}"#,
    );
    assert_eq!(codes(file.as_bytes()), Vec::<&str>::new());
    let (out, changes) = repaired(file.as_bytes());
    assert!(changes.is_empty());
    let first = format!("{OK},\n{{ \"ph\":\"B\", \"name\":\"a\"");
    assert!(out.contains(&first), "{out}");
}

#[test]
fn each_rule_is_found_and_repaired() {
    for &(code, events, expected) in CASES {
        let file = object(events);
        assert!(codes(file.as_bytes()).contains(&code), "{code} in {:?} of {file}", codes(file.as_bytes()));
        let (out, _) = repaired(file.as_bytes());
        assert!(out.contains(expected), "{code}: expected {expected} in {out}");
        assert_is_right(code, &out);
    }
}

#[test]
fn each_rule_about_whole_files_is_found() {
    for &(code, file) in FILES {
        let found: Vec<&str> = checked(file).findings.iter().map(|finding| finding.rule.code).collect();
        assert!(found.contains(&code), "{code} in {found:?} of {}", String::from_utf8_lossy(file));
        assert_is_right(code, &repaired(file).0);
    }
}

fn assert_is_right(code: &str, out: &str) {
    serde_json::from_str::<serde_json::Value>(out).unwrap_or_else(|error| panic!("{code}: {error} in {out}"));
    let errors: Vec<&str> = checked(out.as_bytes()).errors().map(|finding| finding.rule.code).collect();
    assert_eq!(errors, Vec::<&str>::new(), "{code}: {out}");
    let (again, changes) = repaired(out.as_bytes());
    assert_eq!(again, out, "{code}: {:?}", changes.repaired);
}

#[test]
fn every_rule_has_a_file() {
    // These need a compressed file, many events or a Perfetto trace, and have separate tests.
    let apart = ["cut-container", "deep-nesting", "unfinished"];
    let covered: HashSet<&str> = CASES.iter().map(|case| case.0).chain(FILES.iter().map(|file| file.0)).collect();
    for rule in rules::all() {
        assert!(covered.contains(rule.code) || apart.contains(&rule.code), "{} has no file", rule.code);
    }
}

#[test]
fn slices_nested_too_deep_are_moved() {
    let slice = |n: u32| format!(r#"{{"ph":"X","name":"d","pid":1,"tid":7,"ts":{n},"dur":{}}}"#, 3000 - 2 * n);
    let events: Vec<String> = (0..600).map(slice).collect();
    let file = object(&events.join(","));
    assert_eq!(checked(file.as_bytes()).get("deep-nesting").map(|finding| finding.n), Some(88));
    assert_is_right("deep-nesting", &repaired(file.as_bytes()).0);
}

#[test]
fn a_truncated_container_is_reported() {
    struct Cut(std::io::Cursor<Vec<u8>>);
    impl Read for Cut {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(bytes)? {
                0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
                n => Ok(n),
            }
        }
    }
    let open = || Ok(Box::new(Cut(std::io::Cursor::new(format!("[{OK},{OK}").into_bytes()))) as Box<dyn Read + Send>);
    let report = check(&open).unwrap();
    assert!(report.get("cut-container").is_some());
    assert_eq!(report.n_events, 2);
}

/// Nodes 1 and 2, and samples of the second.
fn chunk(pid: u32, ts: u32, nodes: &str, samples: &str) -> String {
    let n_samples = samples.split(',').count();
    let times = vec!["1"; n_samples].join(",");
    format!(
        r#"{{"ph":"P","name":"ProfileChunk","cat":"v8","pid":{pid},"tid":11,"ts":{ts},"id":"0x1","args":{{"data":{{"cpuProfile":{{"nodes":[{nodes}],"samples":[{samples}]}},"timeDeltas":[{times}]}}}}}}"#
    )
}

#[test]
fn samples_of_a_profile_with_missing_data_are_left_out_and_the_others_kept() {
    let start = |pid: u32, ts: u32| {
        format!(
            r#"{{"ph":"P","name":"Profile","cat":"v8","pid":{pid},"tid":11,"ts":{ts},"id":"0x1","args":{{"data":{{"startTime":{ts}}}}}}}"#
        )
    };
    let node = |id: u32, parent: u32| format!(r#"{{"id":{id},"parent":{parent},"callFrame":{{"functionName":"f"}}}}"#);
    let root = r#"{"id":1,"callFrame":{"functionName":"(root)"}}"#;
    let events = [
        start(1, 10),
        chunk(1, 11, &format!("{root},{}", node(2, 1)), "2,2"),
        // Its parent is missing, so references to it are invalid too.
        chunk(1, 12, &node(4, 3), "4"),
        chunk(1, 13, "", "4"),
        chunk(1, 14, &node(5, 2), "5"),
        // A node that is defined twice.
        chunk(1, 15, &node(5, 2), "5"),
        // The same id in another process, and the same again.
        start(2, 20),
        chunk(2, 21, &format!("{root},{}", node(2, 1)), "2"),
        start(2, 30),
        chunk(2, 31, &format!("{root},{}", node(2, 1)), "2"),
    ];
    let file = object(&events.join(","));
    let report = checked(file.as_bytes());
    let count = |code: &str| report.get(code).map(|finding| finding.n);
    assert_eq!((count("profile-data"), count("profile-id")), (Some(3), Some(2)));
    let (out, changes) = repaired(file.as_bytes());
    assert_is_right("profiles", &out);
    assert_eq!((changes.n_read, changes.n_written), (11, 8));
    assert_eq!(["\"0x1\"", "\"0x2\"", "\"0x3\""].map(|id| out.matches(&format!("\"id\":{id}")).count()), [3, 2, 2]);
}

#[test]
fn locations_are_the_first_in_the_file() {
    let overlapping = |n: u32| format!(r#"{{"ph":"X","name":"a","pid":1,"tid":7,"ts":{},"dur":15}}"#, n * 10);
    let events: Vec<String> = (0..20).map(overlapping).collect();
    let file = object(&events.join(","));
    let report = checked(file.as_bytes());
    let finding = report.get("overlap").unwrap();
    assert_eq!((finding.n, finding.first.len()), (10, 5));
    for place in &finding.first {
        let found = &file[place.offset as usize..];
        assert!(found.starts_with(&place.excerpt), "{} is not at {}", place.excerpt, place.offset);
    }
    assert!(finding.first.is_sorted_by_key(|place| place.offset));
}

#[test]
fn fields_around_the_events_become_json() {
    let file = [b"{\"a\":[010,\"\xff\"],\"traceEvents\":[", OK.as_bytes(), b"],\"\x01\":\"\\ud800\"}"].concat();
    for code in ["odd-number", "invalid-utf8", "control-byte", "surrogate-pair"] {
        let report = checked(&file);
        assert_eq!(report.get(code).map(|finding| finding.n), Some(1), "{code} in {:?}", report.findings);
    }
    let (out, _) = repaired(&file);
    assert_eq!(out, format!("{{\"a\":[10,\"\u{fffd}\"],\n\"traceEvents\":[\n{OK}\n],\n\"\\u0001\":\"\u{fffd}\"}}\n"));
    assert_is_right("fields", &out);
}

#[test]
fn invalid_json_is_not_kept() {
    let event =
        b"{\"ph\":\"X\",\"name\":\"\\u00e9\",\"tid\":010,\"args\":{\"a\":\"\x01\\u00e9\",\"b\":\"\\ud83d\\ude00\"}}";
    let file = [b"[", &event[..], b"]"].concat();
    let open = || Ok(Box::new(std::io::Cursor::new(file.clone())) as Box<dyn Read + Send>);
    let mut out = Vec::new();
    chrome(&open, &mut out, &ChromeOptions { form: OutputForm::Array, as_is: true }).unwrap();
    let expected = r#"{"ph":"X","name":"\u00e9","tid":10,"args":{"a":"\u0001é","b":"\ud83d\ude00"}}"#;
    assert_eq!(String::from_utf8(out).unwrap(), format!("[\n{expected}\n]\n"));
}

#[test]
fn fields_around_the_events_are_kept() {
    let file = format!("{{ \"a\" : [1, 2] ,\"traceEvents\":[{OK}],\"b\":\"\\u00e9\",\"c\":{{\"x\": 1}}}}");
    let (out, _) = repaired(file.as_bytes());
    assert_eq!(out, format!("{{\"a\":[1, 2],\n\"traceEvents\":[\n{OK}\n],\n\"b\":\"é\",\n\"c\":{{\"x\": 1}}}}\n"));
}

#[test]
fn as_is_keeps_every_byte() {
    let events = r#"{ "ph":"X" , "name":"\u00e9","tid":"x","ts":"5"}"#;
    let file = object(events);
    let open = || Ok(Box::new(std::io::Cursor::new(file.clone().into_bytes())) as Box<dyn Read + Send>);
    let mut out = Vec::new();
    chrome(&open, &mut out, &ChromeOptions { form: OutputForm::Array, as_is: true }).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), format!("[\n{OK},\n{events}\n]\n"));
}

#[test]
fn a_closed_output_stops_the_repair() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let file = format!("[{OK}]");
    let open = || Ok(Box::new(std::io::Cursor::new(file.clone().into_bytes())) as Box<dyn Read + Send>);
    let error = repair(&open, &mut Closed, &RepairOptions::default()).unwrap_err();
    assert_eq!(error.io_error().map(std::io::Error::kind), Some(std::io::ErrorKind::BrokenPipe));
}

#[test]
fn every_rule_is_documented() {
    let documented = include_str!("../../../docs/check.md");
    for rule in rules::all() {
        let row = format!("| `{}` | {} | ", rule.code, rule.severity);
        assert!(documented.contains(&row), "docs/check.md lacks `{}`", rule.code);
        assert!(documented.contains(rule.what) && documented.contains(rule.repair), "docs/check.md on `{}`", rule.code);
    }
}
