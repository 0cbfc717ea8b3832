//! `TraceWriter`: everything that was pushed is in its file, once, after any number of flushes and the drop.

mod again;
mod scratch;

use ferrum_bench_core::trace::{TraceEvent, TraceWriter};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

fn events(path: &Path) -> Vec<TraceEvent> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn names(path: &Path) -> Vec<String> {
    events(path).into_iter().map(|event| event.name).collect()
}

fn numbered(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|n| format!("event {n}")).collect()
}

fn args(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn every_event_is_there_once_after_each_flush_and_after_the_drop() {
    let path = scratch::folder("every_event_is_there_once").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    let mut n_pushed = 0;
    for batch in [1, 0, 5, 100, 0, 3] {
        for _ in 0..batch {
            writer.push(format!("event {n_pushed}"), "test", 0.0, 1);
            n_pushed += 1;
        }
        writer.flush().unwrap();
        assert_eq!(names(&path), numbered(0..n_pushed));
    }
    writer.push(format!("event {n_pushed}"), "test", 0.0, 1);
    drop(writer);
    assert_eq!(names(&path), numbered(0..n_pushed + 1));
}

#[test]
fn a_drop_right_after_a_flush_changes_nothing() {
    let path = scratch::folder("a_drop_right_after_a_flush").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    writer.push("only", "test", 0.0, 1);
    writer.flush().unwrap();
    let flushed = fs::read(&path).unwrap();
    drop(writer);
    assert_eq!(names(&path), ["only"]);
    assert_eq!(fs::read(&path).unwrap(), flushed);
}

#[test]
fn a_drop_without_a_flush_writes_everything() {
    let folder = scratch::folder("a_drop_without_a_flush");
    let path = folder.join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    writer.push("only", "test", 0.0, 1);
    drop(writer);
    assert_eq!(names(&path), ["only"]);
    let left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["trace.json"], "no other file stays");
}

#[test]
fn a_writer_without_events_leaves_an_empty_list() {
    let path = scratch::folder("a_writer_that_got_nothing").join("trace.json");
    drop(TraceWriter::enabled(path.clone()));
    assert!(events(&path).is_empty());
}

#[test]
fn every_string_type_can_be_pushed() {
    let path = scratch::folder("everything_that_becomes_a_string").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    let owned = String::from("&String");
    let mut changing = String::from("&mut str");
    writer.push("&str", "cat", 0.0, 1);
    writer.push(String::from("String"), String::from("cat"), 0.0, 1);
    writer.push(&owned, &owned, 0.0, 1);
    writer.push(Cow::Borrowed("Cow::Borrowed"), Cow::Borrowed("cat"), 0.0, 1);
    writer.push(Cow::<'_, str>::Owned("Cow::Owned".into()), "cat", 0.0, 1);
    writer.push(Box::<str>::from("Box<str>"), Box::<str>::from("cat"), 0.0, 1);
    writer.push(changing.as_mut_str(), "cat", 0.0, 1);
    writer.push('ß', 'c', 0.0, 1);
    writer.push_with_args(owned.clone(), 'c', 0.0, 1, Map::new());
    writer.push_with_args("&str", owned, 0.0, 1, args(json!({"n": 1})));
    drop(writer);
    let expected =
        ["&str", "String", "&String", "Cow::Borrowed", "Cow::Owned", "Box<str>", "&mut str", "ß", "&String", "&str"];
    assert_eq!(names(&path), expected);
    assert_eq!(events(&path)[7].cat, "c");
}

#[test]
fn the_file_has_exactly_the_pushed_events_in_the_order_of_the_pushes() {
    let path = scratch::folder("exactly_the_pushed_events").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    for n in 0..50u32 {
        // One row each, so that nothing overlaps.
        writer.push_with_args(format!("event {n}"), format!("cat {}", n % 3), 0.01, n, args(json!({"n": n})));
    }
    drop(writer);
    let events = events(&path);
    assert_eq!(events.len(), 50, "no metadata, no other events");
    for (n, event) in (0..).zip(&events) {
        let expected = (format!("event {n}"), format!("cat {}", n % 3), 'X', 0, n);
        assert_eq!((event.name.clone(), event.cat.clone(), event.ph, event.pid, event.tid), expected);
        assert!((9..=11).contains(&event.dur), "10 microseconds, begin and end rounded: {}", event.dur);
        assert_eq!(event.args, args(json!({"n": n})));
    }
    assert!(events.is_sorted_by_key(|event| event.ts));
}

#[test]
fn pushes_that_began_before_the_writer_all_begin_with_it_and_the_longest_comes_first() {
    let path = scratch::folder("pushes_that_began_before_the_writer").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    writer.push("short", "test", 500.0, 1);
    writer.push("longer", "test", 1000.0, 1);
    writer.push("longest", "test", 2000.0, 1);
    drop(writer);
    // Viewers need the outer one of two slices with the same begin first.
    assert_eq!(names(&path), ["longest", "longer", "short"]);
    let durations: Vec<u64> = events(&path).iter().map(|event| event.dur).collect();
    assert_eq!(durations, [2_000_000, 1_000_000, 500_000]);
}

#[test]
fn pushes_that_overlap_partly_get_separate_rows() {
    let path = scratch::folder("pushes_that_overlap").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    for _ in 0..2000 {
        // Longer than the push itself takes.
        writer.push("twenty microseconds", "test", 0.02, 5);
    }
    drop(writer);
    let (names, slices): (Vec<_>, Vec<_>) = events(&path).into_iter().partition(|event| event.ph == 'M');
    assert_eq!(slices.len(), 2000);
    let rows: BTreeSet<(u32, u32)> = slices.iter().map(|event| (event.pid, event.tid)).collect();
    assert!(
        rows.len() > 1 && rows.contains(&(0, 5)),
        "viewers lose or misdraw overlapping slices of one row: {rows:?}"
    );
    assert!(rows.iter().all(|row| row.1 == 5), "all have the same `tid`: {rows:?}");
    for (row, n) in rows.iter().skip(1).zip(2..) {
        let name_of = |what: &str| {
            let mut of_row = names.iter().filter(|event| event.name == what && (event.pid, event.tid) == *row);
            of_row.next().unwrap_or_else(|| panic!("{row:?} has no {what}")).args["name"].clone()
        };
        assert_eq!(name_of("process_name"), format!("overlap {n}"));
        assert_eq!(name_of("thread_name"), format!("tid 5 (overlap {n})"));
    }
}

#[expect(clippy::disallowed_methods, reason = "the durations follow the machine's speed")]
#[test]
fn overlapping_pushes_of_several_layers_stay_with_their_layers() {
    let path = scratch::folder("overlapping_pushes_of_several_layers").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    let start = Instant::now();
    for n in 0..300 {
        // Half of the time since the start: consecutive slices overlap in part, however slow the machine is.
        let half_millis = start.elapsed().as_secs_f64() * 500.0;
        writer.push("overlaps", "test", half_millis, n % 3);
    }
    drop(writer);
    let slices: Vec<_> = events(&path).into_iter().filter(|event| event.ph == 'X').collect();
    for tid in 0..3 {
        assert_eq!(slices.iter().filter(|slice| slice.tid == tid).count(), 100);
    }
    assert!(slices.iter().any(|slice| slice.pid > 0));
}

#[test]
fn arguments_may_be_any_json() {
    let path = scratch::folder("arguments_may_be_any_json").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    let nested = json!({
        "shape": [1, 32, 4096],
        "deep": {"a": {"b": {"c": [{"d": null}, [], {}, [[[]]]]}}},
        "text": "\"quotes\" \\ \u{1} \u{0} 🦀 \u{2028}",
        "": "empty key",
        "key with \"quotes\"": true,
        "numbers": [0, -1, u64::MAX, i64::MIN, 0.1, 1e300, -0.0],
    });
    writer.push_with_args("nested", "test", 0.0, 1, args(nested.clone()));
    writer.push_with_args("none", "test", 0.0, 1, Map::new());
    drop(writer);
    assert_eq!(Value::Object(events(&path)[0].args.clone()), nested);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.lines().find(|line| line.contains("\"none\"")).unwrap().contains("args"));
}

#[test]
fn arguments_nested_sixty_levels_deep_are_kept() {
    let path = scratch::folder("arguments_nested_deeply").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    let deep = (0..60).fold(json!("core"), |inner, _| json!([inner]));
    writer.push_with_args("deep", "test", 0.0, 1, args(json!({"deep": deep})));
    drop(writer);
    assert_eq!(events(&path)[0].args, args(json!({"deep": deep})));
}

#[test]
fn arguments_beyond_8_kib_are_replaced_by_a_note() {
    let path = scratch::folder("arguments_beyond_8_kib").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    let long = args(json!({"long": "x".repeat(1 << 20)}));
    let n_bytes = Value::Object(long.clone()).to_string().len();
    writer.push_with_args("long", "test", 0.0, 1, long);
    drop(writer);
    let note = format!("arguments of {n_bytes} bytes left out");
    assert_eq!(events(&path)[0].args, args(json!({"ferrum_trace": note})));
}

#[test]
fn invalid_and_huge_durations_leave_a_valid_file() {
    let path = scratch::folder("durations_that_are_none").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    let durations = [f64::NAN, -1.0, f64::NEG_INFINITY, -0.0, f64::INFINITY, 1e300, f64::MAX, 1e-300];
    for (row, duration) in (1..).zip(durations) {
        writer.push("odd", "test", duration, row);
    }
    drop(writer);
    let events = events(&path);
    assert_eq!(events.len(), durations.len());
    for event in &events {
        let duration = durations[event.tid as usize - 1];
        // Less than 2^64 nanoseconds, or 584 years.
        let expected = if duration >= 1e300 { 18_000_000_000_000_000..=u64::MAX } else { 0..=0 };
        assert!(expected.contains(&event.dur), "{duration} ms: {}", event.dur);
    }
}

#[test]
fn rows_may_be_any_number() {
    let path = scratch::folder("rows_may_be_any_number").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    let rows = [0, 1, 1 << 30, i32::MAX as u32, u32::MAX];
    for row in rows {
        writer.push("row", "test", 0.0, row);
    }
    drop(writer);
    assert_eq!(events(&path).iter().map(|event| event.tid).collect::<Vec<_>>(), rows);
}

#[test]
fn two_writers_at_once_do_not_mix() {
    let folder = scratch::folder("two_writers_at_once");
    let paths = [folder.join("one.json"), folder.join("other.json")];
    let writers = paths.clone().map(TraceWriter::enabled);
    for n in 0..100 {
        writers[n % 2].push(format!("event {n}"), "test", 0.0, 1);
        if n % 10 == 0 {
            writers[n % 2].flush().unwrap();
        }
    }
    drop(writers);
    for (half, path) in paths.iter().enumerate() {
        let expected: Vec<String> = (0..100).filter(|n| n % 2 == half).map(|n| format!("event {n}")).collect();
        assert_eq!(names(path), expected);
    }
}

#[test]
fn two_writers_of_one_path_get_separate_files_and_a_line_reports_it() {
    let test = "two_writers_of_one_path_get_separate_files_and_a_line_reports_it";
    if again::is_child() {
        let path = std::env::current_dir().unwrap().join("trace.json");
        let (one, other) = (TraceWriter::enabled(path.clone()), TraceWriter::enabled(path));
        one.push("of one", "test", 0.0, 1);
        other.push("of the other", "test", 0.0, 1);
        return;
    }
    let folder = scratch::folder(test);
    let output = again::run(test, |child| {
        child.current_dir(&folder);
    });
    assert!(output.status.success());
    let lines = again::lines(&output);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let taken = lines[0].split("recording to ").nth(1).unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!(names(&folder.join("trace.json")), ["of one"]);
    assert_eq!(names(Path::new(taken)), ["of the other"]);
}

#[test]
fn many_threads_may_push_and_flush_at_once() {
    const THREADS: u32 = 8;
    const EVENTS: u32 = 500;
    let path = scratch::folder("many_threads_may_push").join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let writer = &writer;
            scope.spawn(move || {
                for n in 0..EVENTS {
                    writer.push(format!("event {}", thread * EVENTS + n), "test", 0.0, thread);
                    if n % 100 == 0 {
                        writer.flush().unwrap();
                    }
                }
            });
        }
    });
    drop(writer);
    let found = names(&path);
    assert_eq!(found.len() as u32, THREADS * EVENTS);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), numbered(0..THREADS * EVENTS).into_iter().collect());
}

#[test]
fn a_disabled_writer_does_nothing() {
    let writer = TraceWriter::disabled();
    assert!(!writer.is_enabled());
    writer.push("nothing", "test", 1.0, 1);
    writer.push_with_args("nothing", "test", 1.0, 1, args(json!({"n": 1})));
    writer.flush().unwrap();
}

#[test]
fn a_path_that_cannot_be_written_is_reported_in_one_line_and_disables_the_writer() {
    let test = "a_path_that_cannot_be_written_is_reported_in_one_line_and_disables_the_writer";
    if again::is_child() {
        let path = std::env::current_dir().unwrap().join("missing/trace.json");
        let writer = TraceWriter::enabled(path);
        assert!(!writer.is_enabled());
        writer.push("nothing", "test", 1.0, 1);
        writer.flush().unwrap();
        return;
    }
    let folder = scratch::folder(test);
    let output = again::run(test, |child| {
        child.current_dir(&folder);
    });
    assert!(output.status.success());
    let lines = again::lines(&output);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("missing/trace.json") && lines[0].contains("No such file or directory"), "{lines:?}");
    assert!(fs::read_dir(folder).unwrap().next().is_none());
}
