//! Tests that `repair` turns any damaged file into a correct one with the same slices.

use ferrum_trace_analyze::check::check;
use ferrum_trace_analyze::repair::{RepairOptions, repair};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use proptest::prelude::*;
use std::io::{Cursor, Read};

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(texts).prop_map(str::to_owned)
}

/// Field of an event: mostly good values, some odd ones, sometimes missing.
fn field(
    key: &'static str,
    good: &'static [&'static str],
    odd: &'static [&'static str],
) -> impl Strategy<Value = String> {
    prop_oneof![
        12 => one_of(good).prop_map(move |value| format!(",\"{key}\":{value}")),
        1 => one_of(odd).prop_map(move |value| format!(",\"{key}\":{value}")),
        1 => Just(String::new()),
    ]
}

fn number(key: &'static str, max: u32) -> impl Strategy<Value = String> {
    prop_oneof![
        20 => (0..max).prop_map(move |number| format!(",\"{key}\":{number}")),
        3 => (0..max, 0..2000u32).prop_map(move |(number, part)| format!(",\"{key}\":{number}.{part:04}")),
        1 => (0..max).prop_map(move |number| format!(",\"{key}\":\"{number}\"")),
        1 => Just(format!(",\"{key}\":-7")),
        1 => Just(format!(",\"{key}\":null")),
        1 => Just(String::new()),
    ]
}

/// A time: mostly soon after the beginning, sometimes since 1970, where floats have no nanoseconds.
fn time() -> impl Strategy<Value = String> {
    let since_1970 =
        (0..60u32, 0..1000u32).prop_map(|(number, part)| format!(",\"ts\":17000000000000{number:02}.{part:03}"));
    prop_oneof![9 => number("ts", 60), 1 => since_1970]
}

fn event() -> impl Strategy<Value = String> {
    let phases = &[
        "\"X\"", "\"X\"", "\"X\"", "\"B\"", "\"E\"", "\"B\"", "\"E\"", "\"i\"", "\"C\"", "\"s\"", "\"t\"", "\"f\"",
        "\"b\"", "\"e\"", "\"n\"", "\"S\"", "\"F\"", "\"M\"",
    ];
    (
        field("ph", phases, &["\"Z\"", "\"\"", "\"O\"", "\"R\""]),
        field(
            "name",
            &["\"a\"", "\"b\"", "\"thread_name\""],
            &["5", "\"\\u00e9\\ud83d\\ude00\"", "\"x\\\\\"", "null", "\"\\u0000\""],
        ),
        field("pid", &["1", "2"], &["0", "\"gpu\"", "-4", "\"1\""]),
        field("tid", &["11", "12"], &["0", "\"s\"", "99999999999", "1.5", "\"11\""]),
        time(),
        number("dur", 20),
        field(
            "args",
            &["{}", "{\"k\":1}", "{\"name\":\"n\"}"],
            &["[1]", "null", "{\"v\":\"7\",\"w\":null}", "{\"name\":\"\"}", "\"x\""],
        ),
        field("id", &["1", "2"], &["\"req\"", "\"0x1f\"", "{}"]),
        field("bp", &["\"e\""], &["\"x\""]),
        field("bind_id", &["\"0x1\"", "\"0x2\""], &["\"zz\""]),
        field("flow_in", &["true", "false"], &["1"]),
        field("flow_out", &["true", "false"], &["1"]),
    )
        .prop_map(|fields| {
            let (ph, name, pid, tid, ts, dur, args, id, bp, bind_id, flow_in, flow_out) = fields;
            let all = [ph, name, pid, tid, ts, dur, args, id, bp, bind_id, flow_in, flow_out].concat();
            format!("{{{}}}", all.strip_prefix(',').unwrap_or(""))
        })
}

/// A file of such events, as an object, an array or lines, and perhaps damaged.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let events = prop::collection::vec(event(), 0..40);
    let damage = prop::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>(), any::<bool>()));
    (events, 0..4, damage).prop_map(|(events, form, damage)| {
        let text = match form {
            0 => format!("[{}]", events.join(",\n")),
            1 => format!("[{}", events.iter().map(|event| format!("{event},\n")).collect::<String>()),
            2 => format!("{{\"a\":{{\"b\":[]}},\"traceEvents\":[{}],\"c\":1}}", events.join(",")),
            _ => format!("{{\"traceEvents\":[{},]}}", events.join(",")),
        };
        let mut bytes = text.into_bytes();
        if let Some((place, byte, is_cut)) = damage {
            let place = place.index(bytes.len());
            if is_cut {
                bytes.truncate(place);
            } else {
                bytes[place] = byte;
            }
        }
        bytes
    })
}

fn opener(file: &[u8]) -> impl Fn() -> Result<Box<dyn Read + Send>, ferrum_trace_format::Error> {
    let file = file.to_vec();
    move || Ok(Box::new(Cursor::new(file.clone())) as Box<dyn Read + Send>)
}

/// Names and durations of all slices, except those that `repair` has closed.
fn slices(file: &[u8]) -> Option<Vec<(String, i64)>> {
    let options = LoadOptions { args: vec!["unclosed".to_owned()], n_workers: 1 };
    let trace = load(file, &options).ok()?.trace;
    let is_closed = |n: &usize| trace.args[0].of(trace.slices.order[*n]).is_none();
    let mut slices: Vec<(String, i64)> = (0..trace.slices.len())
        .filter(is_closed)
        .map(|n| (trace.strings.get(trace.slices.name[n]).replace('\0', "␀"), trace.slices.duration[n]))
        .collect();
    slices.sort();
    Some(slices)
}

/// Two slices begin together. The outer one ends with arguments and another name, so it is written when these are
/// known. The inner one must stay inside it.
#[test]
fn slices_that_wait_for_an_outer_one_stay_in_order() {
    let begin = r#"{"ph":"B","name":"a","cat":"c","pid":1,"tid":2,"ts":5,"args":{"k":1}}"#;
    let ends = r#"{"ph":"E","name":"a","cat":"c","pid":1,"tid":2,"ts":8},{"ph":"E","name":"b","cat":"c","pid":1,"tid":2,"ts":9,"args":{"l":2}}"#;
    let mut repaired = Vec::new();
    repair(&opener(format!("[{begin},{begin},{ends}]").as_bytes()), &mut repaired, &RepairOptions::default()).unwrap();
    let report = check(&opener(&repaired)).unwrap();
    assert_eq!(report.errors().count(), 0, "{}", String::from_utf8_lossy(&repaired));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_repaired_file_is_correct_and_has_the_same_slices(file in file()) {
        let mut out = Vec::new();
        let Ok(changes) = repair(&opener(&file), &mut out, &RepairOptions::default()) else {
            // A file that `repair` refuses is also refused by `load`.
            prop_assert!(slices(&file).is_none());
            return Ok(());
        };
        serde_json::from_slice::<serde_json::Value>(&out).unwrap();
        let report = check(&opener(&out)).unwrap();
        let errors: Vec<&str> = report.errors().map(|finding| finding.rule.code).collect();
        let text = String::from_utf8_lossy(&out);
        prop_assert!(errors.is_empty(), "{:?} in {}", errors, text);
        prop_assert_eq!(slices(&file), slices(&out), "{}", &text);
        prop_assert_eq!(changes.n_written, report.n_events);

        let mut again = Vec::new();
        let changes = repair(&opener(&out), &mut again, &RepairOptions::default()).unwrap();
        prop_assert_eq!(String::from_utf8_lossy(&again), text);
        prop_assert!(changes.is_empty(), "{:?}", changes.repaired);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let file = [b"{\"traceEvents\":[{\"ph\":\"X\"".as_slice(), &bytes].concat();
        let mut out = Vec::new();
        if repair(&opener(&file), &mut out, &RepairOptions::default()).is_ok() {
            serde_json::from_slice::<serde_json::Value>(&out).unwrap();
        }
    }
}
