//! `TraceEvent`, as users of the original engine create and read it.

use ferrum_bench_core::trace::TraceEvent;
use serde_json::{Value, json};

fn read(json: Value) -> TraceEvent {
    serde_json::from_value(json).unwrap()
}

/// All fields of an event.
fn fields(event: &TraceEvent) -> (&str, &str, char, u64, u64, u32, u32, Value) {
    let args = Value::Object(event.args.clone());
    (&event.name, &event.cat, event.ph, event.ts, event.dur, event.pid, event.tid, args)
}

#[test]
fn a_complete_event_has_the_given_values() {
    let event = TraceEvent::complete("decode", String::from("step"), 77, 1.5, 4);
    assert_eq!(fields(&event), ("decode", "step", 'X', 77, 1500, 0, 4, json!({})));
}

#[test]
fn durations_are_rounded_to_whole_microseconds() {
    for (millis, micros) in
        [(0.0, 0), (0.0004, 0), (0.0006, 1), (0.9994, 999), (0.9996, 1000), (86_400_000.0, 86_400_000_000)]
    {
        assert_eq!(TraceEvent::complete("", "", 0, millis, 0).dur, micros, "{millis} ms");
    }
}

#[test]
fn invalid_durations_become_the_nearest_valid_one() {
    for (millis, micros) in
        [(f64::NAN, 0), (-1.0, 0), (f64::NEG_INFINITY, 0), (f64::INFINITY, u64::MAX), (1e300, u64::MAX)]
    {
        assert_eq!(TraceEvent::complete("", "", 0, millis, 0).dur, micros, "{millis} ms");
    }
}

#[test]
fn an_event_is_the_same_after_writing_and_parsing() {
    let mut event = TraceEvent::complete("a \"name\" \\ \n 🦀", "", 1_700_000_000_000_000, 0.123, u32::MAX);
    event.pid = u32::MAX;
    event.args = json!({"shape": [1, 4096], "nested": {"deep": [null, true, -1.5, "x"]}}).as_object().unwrap().clone();
    let back: TraceEvent = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
    assert_eq!(fields(&back), fields(&event));
}

#[test]
fn times_of_64_bits_are_exact_after_writing_and_parsing() {
    for number in [(1 << 53) + 1, i64::MAX as u64, u64::MAX - 1, u64::MAX] {
        let mut event = TraceEvent::complete("", "", number, 0.0, 0);
        let back: TraceEvent = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        assert_eq!(back.ts, number);
        (event.ts, event.dur) = (0, number);
        let back: TraceEvent = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        assert_eq!(back.dur, number);
    }
}

#[test]
fn the_json_has_the_original_fields_and_args_only_if_there_are_any() {
    let mut event = TraceEvent::complete("rope", "attn", 5, 0.5, 2);
    let expected = json!({"name": "rope", "cat": "attn", "ph": "X", "ts": 5, "dur": 500, "pid": 0, "tid": 2});
    assert_eq!(serde_json::to_value(&event).unwrap(), expected);
    event.args.insert("tokens".into(), json!(4));
    assert_eq!(serde_json::to_value(&event).unwrap()["args"], json!({"tokens": 4}));
}

#[test]
fn begin_and_end_of_a_file_with_decimals_are_rounded() {
    let event = read(json!({"name": "a", "cat": "b", "ph": "X", "ts": 1.6, "dur": 0.8, "pid": 1, "tid": 1}));
    assert_eq!((event.ts, event.dur), (2, 0), "1.6 and 2.4 are both rounded to 2");
    let event = read(json!({"name": "a", "cat": "b", "ph": "X", "ts": 1.4, "dur": 0.2, "pid": 1, "tid": 1}));
    assert_eq!((event.ts, event.dur), (1, 1), "1.4 to 1.6");
}

#[test]
fn events_of_other_phases_are_read_too() {
    let event = read(json!({"name": "thread_name", "ph": "M", "pid": 7, "tid": 8, "args": {"name": "main"}}));
    assert_eq!(fields(&event), ("thread_name", "", 'M', 0, 0, 7, 8, json!({"name": "main"})));
    assert!(serde_json::from_value::<TraceEvent>(json!({"ph": "X", "ts": 1})).is_err(), "the name is required");
}

#[test]
fn an_event_can_be_cloned_and_printed() {
    let event = TraceEvent::complete("rope", "attn", 5, 0.5, 2);
    assert_eq!(format!("{:?}", event.clone()), format!("{event:?}"));
}
