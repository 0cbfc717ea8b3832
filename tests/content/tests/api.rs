//! The interface: every macro and type, evaluation of arguments, and statistics.

use content::child;
use content::child::{Child, Outcome};
use ferrum_trace_testkit::strict_trace::{Event, Phase, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tempfile::tempdir;

/// Runs a scene that must succeed without messages; returns its output and trace.
#[track_caller]
fn recorded_by(child: Child) -> (Outcome, Trace) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = child.out(&path).run().expect_quiet();
    (outcome, Trace::read(path))
}

#[track_caller]
fn trace_of(scene: &str) -> Trace {
    recorded_by(child!(scene)).1
}

/// `name|category|key=value …` of an event.
fn spelled(event: &Event) -> String {
    let args: Vec<String> = event.args.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{}|{}|{}", event.name, event.cat, args.join(" "))
}

#[test]
fn macros_take_every_documented_form() {
    let trace = trace_of("macro forms");
    let of = |wanted: fn(&Phase) -> bool| -> Vec<String> {
        trace.recorded().filter(|event| wanted(&event.phase)).map(spelled).collect()
    };
    assert_eq!(
        of(|phase| *phase == Phase::Slice),
        [
            "span 1|default|",
            "span 2|default|",
            "span 3|cat|",
            "span 4|cat|",
            "span 5|cat|layer=3",
            "span 6|cat|layer=3",
            "span 7|cat|layer=3 tokens=3 text=\"short\" copied=\"a longer text\"",
            "span 8|default|layer=3",
            "span 9|default|layer=3",
            "span 10|default|layer=3 n=2 m=4",
            "a constant name|default|",
            "a constant name|cat|layer=3",
            "a constant of another module|default|layer=3",
            "span 11|cat|",
            "a::path|cat|",
            "span 12|default|closure=12",
            "laps 1|default|",
            "laps 2|default|",
            "laps 3|cat|",
            "laps 4|cat|layer=3 n=1",
            "laps 5|default|layer=3",
            "a constant name|laps|",
            // Of slices with the same begin the longest comes first.
            "a constant name|complete|layer=3 n=1",
            "complete 1|cat|",
            "complete 2|cat|",
        ]
    );
    assert_eq!(
        of(|phase| *phase == Phase::Instant('t')),
        [
            "instant 1|default|",
            "instant 2|default|",
            "instant 3|cat|",
            "instant 4|cat|layer=3 n=1",
            "instant 5|default|layer=3",
            "a constant name|instant|",
            "instant 6|default|",
            "instant 7|default|",
        ]
    );
    assert_eq!(
        of(|phase| *phase == Phase::Counter),
        [
            "counter 1|counter|layer=3",
            "counter 2|counter|layer=3",
            "counter 3|counter|used=1 free=3",
            "a constant name|counter|value=0.5",
        ]
    );
    assert_eq!(
        of(|phase| matches!(phase, Phase::AsyncBegin(_))),
        [
            "async 1|async|",
            "async 2|async|",
            "async 3|cat|",
            "async 4|cat|layer=3 n=1",
            "async 5|async|layer=3",
            "begun 1|cat|",
            "begun 2|cat|layer=3 n=1",
        ]
    );
    assert_eq!(of(|phase| matches!(phase, Phase::AsyncInstant(_))), ["point|cat|", "point with args|cat|layer=3 n=1"]);
    let ends = of(|phase| matches!(phase, Phase::AsyncEnd(_)));
    assert_eq!(ends.last().unwrap(), "begun 2|cat|tokens=5");
    assert_eq!(ends.len(), 7);
}

#[test]
fn nothing_is_evaluated_while_recording_is_off() {
    let outcome = child!("side effects").run().expect_quiet();
    for key in ["evaluated", "is_on", "span_is_on", "has_stats", "pushes"] {
        assert_eq!(outcome.reported(key), 0, "{key}");
    }
}

#[test]
fn everything_is_evaluated_once_while_recording_is_on() {
    let (outcome, _) = recorded_by(child!("side effects"));
    // Eleven arguments, three ids and two times.
    assert_eq!(outcome.reported("evaluated"), 16);
    for key in ["is_on", "span_is_on", "has_stats", "pushes"] {
        assert_eq!(outcome.reported(key), 1, "{key}");
    }
}

#[test]
fn processes_and_threads_have_the_names_that_were_set() {
    let trace = trace_of("processes and threads");
    assert_eq!(trace.process_name(), "engine 7");
    for (event, name) in [
        ("on main", "main"),
        ("on a named thread", "by the standard library"),
        ("on a renamed thread", "after"),
        ("on a thread named before its first event", "named before its first event"),
    ] {
        assert_eq!(trace.track_name(trace.one(event)), name, "{event}");
    }
    let without = trace.track_name(trace.one("on a thread without a name"));
    assert!(without.strip_prefix("thread ").is_some_and(|number| number.parse::<u32>().is_ok()), "{without}");
    let tracks: BTreeSet<(u32, u32)> = trace.recorded().map(Event::track).collect();
    assert_eq!(tracks.len(), 5, "a track each");
    let main = trace.one("on main");
    assert_eq!(main.pid, main.tid, "the tid of the main thread is the pid");
}

#[test]
fn the_default_name_of_the_process_is_that_of_its_program() {
    let trace = recorded_by(child!("some spans").number(1)).1;
    assert_eq!(trace.process_name(), "content-child");
}

#[test]
fn names_set_after_a_flush_are_in_the_file() {
    let trace = trace_of("late names");
    assert_eq!(trace.process_name(), "a late process name");
    assert_eq!(trace.track_name(trace.one("before")), "a late thread name");
}

#[test]
fn tracks_have_their_names_and_sort_indexes() {
    let trace = trace_of("tracks");
    let sorts = trace.sort_indexes();
    for (name, sort) in [("stream 1", -5), ("stream 2", 7)] {
        let tracks = trace.tracks_named(name);
        let [track] = tracks[..] else { panic!("{name}: {tracks:?}") };
        assert_eq!(sorts[&track], sort);
        assert!(track.1 >= 1);
    }
    assert!(trace.tracks_named("nothing on it").is_empty());
    for name in ["outer", "inner", "next"] {
        assert_eq!(trace.track_name(trace.one(name)), "stream 1");
    }
}

#[test]
fn overlapping_slices_of_a_track_get_lanes_below_it() {
    let trace = trace_of("tracks");
    for (name, row) in [("one", "stream 2"), ("overlaps both", "stream 2 (2)"), ("overlaps one", "stream 2 (3)")] {
        assert_eq!(trace.track_name(trace.one(name)), row, "{name}");
    }
    let sorts = trace.sort_indexes();
    let tracks = ["stream 2", "stream 2 (2)", "stream 2 (3)"].map(|name| trace.tracks_named(name)[0]);
    assert_eq!(tracks.map(|track| sorts[&track]), [7; 3], "they stay together");
}

#[test]
fn a_slice_that_ends_before_it_begins_has_zero_length() {
    let trace = trace_of("tracks");
    let (one, backwards) = (trace.one("one"), trace.one("backwards"));
    assert_eq!((backwards.start - one.start, backwards.end - one.start), (300_000, 300_000));
}

#[test]
fn explicit_times_are_exact_to_the_nanosecond() {
    let (outcome, trace) = recorded_by(child!("explicit times"));
    let start = outcome.reported("start") - trace.about().number("start_monotonic_ns");
    let slices = trace.all("slice");
    assert_eq!(slices.len(), 6);
    for slice in slices {
        let nanos = slice.args.number("nanos");
        assert_eq!((slice.start, slice.end), (start + nanos, start + 2 * nanos), "{slice:?}");
    }
}

#[test]
fn a_slice_that_began_before_the_trace_is_cut_at_its_start() {
    let (outcome, trace) = recorded_by(child!("times before the trace"));
    let now = outcome.reported("now") - trace.about().number("start_monotonic_ns");
    let begun_before = trace.one("begun before");
    assert_eq!((begun_before.start, begun_before.end), (0, now), "cut at the start of the trace, not moved");
    let before = trace.one("all of it before");
    assert_eq!((before.start, before.end), (0, 0), "cut at the start of the trace, not moved");
}

#[test]
fn explicit_times_may_be_very_long() {
    let trace = trace_of("long explicit times");
    for (name, nanos) in [("49 days", (1 << 42) * 1000), ("a year", 365 * 24 * 3600 * 1_000_000_000u64)] {
        let slice = trace.one(name);
        assert_eq!(slice.end - slice.start, nanos, "{name}");
    }
}

#[test]
fn instants_of_the_standard_library_are_converted_to_timestamps() {
    let (outcome, trace) = recorded_by(child!("instants of the standard library"));
    assert_eq!(outcome.reported("not_as_far_apart"), 0, "of 10000 pairs");
    let (first, second) = (trace.one("first half"), trace.one("second half"));
    assert_eq!((first.end - first.start, second.end - second.start), (2_500_000, 2_500_000));
    assert_eq!(first.end, second.start);
    assert_eq!(first.track(), second.track(), "touching slices share a track");
}

#[test]
fn flows_lead_from_slice_to_slice() {
    let trace = trace_of("flows");
    let flows: Vec<&Event> = trace.recorded().filter(|event| event.phase != Phase::Slice).collect();
    // Flow events by id, each with the innermost slice around it.
    let mut flows_by_id: BTreeMap<&str, Vec<(char, &str)>> = BTreeMap::new();
    for flow in &flows {
        assert_eq!((flow.name.as_str(), flow.cat.as_str()), ("flow", "flow"), "viewers pair by name and category too");
        let (letter, id) = match &flow.phase {
            Phase::FlowStart(id) => ('s', id),
            Phase::FlowStep(id) => ('t', id),
            Phase::FlowEnd(id) => ('f', id),
            other => panic!("{other:?}"),
        };
        let around = trace.slices().filter(|slice| slice.track() == flow.track() && slice.encloses(flow));
        let innermost = around.min_by_key(|slice| slice.end - slice.start).expect("a flow is inside a slice");
        flows_by_id.entry(id).or_default().push((letter, &innermost.name));
    }
    let mut flows_by_id: Vec<Vec<(char, &str)>> = flows_by_id.into_values().collect();
    flows_by_id.sort();
    assert_eq!(
        flows_by_id,
        [
            vec![('s', "cause"), ('f', "effect")],
            vec![('s', "enqueue"), ('f', "run")],
            vec![('s', "enqueue"), ('t', "pass on"), ('f', "run")],
        ]
    );
}

#[test]
fn async_rows_have_titles_with_their_arguments() {
    let trace = trace_of("row titles");
    let titles: Vec<String> = trace
        .titles()
        .map(|title| {
            let letter = if matches!(title.phase, Phase::AsyncBegin(_)) { 'b' } else { 'e' };
            format!("{letter} {}", spelled(title))
        })
        .collect();
    let download = "download 9f8b2c61-55a4-4d0e-9c0b-0d4f1d1f3a77|io|row_of=\"download\"";
    let expected = [
        format!("b {download}"),
        format!("e {download}"),
        "b upload -1|async|row_of=\"upload\"".to_owned(),
        "e upload -1|async|row_of=\"upload\"".to_owned(),
        "b request 42|request|row_of=\"request\"".to_owned(),
        "e request 42|request|row_of=\"request\"".to_owned(),
        "b request 43|request|row_of=\"request\"".to_owned(),
        "e request 43|request|row_of=\"request\" unclosed=true".to_owned(),
    ];
    assert_eq!(titles, expected);
    // Includes the synthetic ends of async events without one.
    let events = || trace.events.iter().filter(|event| !event.args.has("row_of"));
    for title in trace.titles() {
        let name = title.args.value("row_of");
        let is_inner = |event: &&Event| event.phase == title.phase && event.start == title.start && event.name == name;
        assert_eq!(events().filter(is_inner).count(), 1, "{title:?}");
    }
    assert_eq!(events().filter(|event| event.name == "request").count(), 4 * 2, "their names do not change");
}

#[test]
fn async_events_begin_and_end_on_different_threads_by_id() {
    let (outcome, trace) = recorded_by(child!("async"));
    let worker = trace.tracks_named("worker")[0];
    let task_id = format!("{:#x}", outcome.reported("task_id"));
    let story = |wanted: &str| -> Vec<(String, String, bool)> {
        let events = trace.recorded().filter_map(|event| {
            let (letter, id) = match &event.phase {
                Phase::AsyncBegin(id) => ("begin", id),
                Phase::AsyncInstant(id) => ("instant", id),
                Phase::AsyncEnd(id) => ("end", id),
                other => panic!("{other:?}"),
            };
            (id == wanted).then(|| (letter.to_owned(), spelled(event), event.track() == worker))
        });
        let mut events: Vec<_> = events.collect();
        events.sort_by_key(|(letter, ..)| ["begin", "instant", "end"].iter().position(|known| known == letter));
        events
    };
    let step = |letter: &str, event: &str, on_worker| (letter.to_owned(), event.to_owned(), on_worker);
    assert_eq!(
        story("0x2a"),
        [
            step("begin", "request|llm|prompt_tokens=17", false),
            step("instant", "first token|llm|token=5", true),
            step("end", "request|llm|tokens=100", false),
        ]
    );
    assert_eq!(story("0x2b"), [step("begin", "request|llm|", false), step("end", "request|llm|", true)]);
    assert_eq!(
        story(&task_id),
        [
            step("begin", "task|io|bytes=100", false),
            step("instant", "half|io|", true),
            step("instant", "75 percent|io|", true),
            step("end", "task|io|", true),
        ]
    );
    let begin = trace.recorded().find(|event| matches!(event.phase, Phase::AsyncBegin(_)) && event.name == "task");
    let end = trace.recorded().find(|event| matches!(event.phase, Phase::AsyncEnd(_)) && event.name == "task");
    assert!(begin.unwrap().start < end.unwrap().start);
}

#[test]
fn the_builder_records_without_the_environment() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = child!("builder").arg(&path).run().expect_quiet();
    let trace = Trace::read(path);
    let names: Vec<&str> = trace.recorded().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["within", "within, elsewhere", "after the flush"]);
    let unfinished: Vec<&str> = trace.unfinished().map(|event| event.name.as_str()).collect();
    assert_eq!(unfinished, ["still open"]);
    assert_eq!(trace.process_name(), "named by the builder");
    assert_eq!(trace.about().text("clock"), "monotonic");
    assert_eq!(
        (outcome.reported("recorded_so_far"), outcome.reported("recorded"), outcome.reported("dropped")),
        (3, 3, 0)
    );
    assert_eq!(outcome.reported("threads"), 2);
    assert!(outcome.reported("bytes") > 0 && outcome.reported("bytes") <= 8 << 20);
}

#[test]
fn the_environment_overrides_the_builder_until_its_recording_is_finished() {
    let folder = tempdir().unwrap();
    let [path, second, other] = ["trace.json", "second.json", "other.json"].map(|name| folder.path().join(name));
    let outcome = child!("two recordings").arg(&path).arg(&second).out(&other).run();
    // Also if the program starts its own recording first: that path is never used.
    assert!(outcome.one_line().contains("other.json: recorded because of FERRUM_TRACE_OUT"), "{outcome:?}");
    assert_eq!(Trace::read(other).slices().count(), 3);
    assert!(!path.exists() && second.exists());
}

#[test]
fn a_second_recording_has_the_call_sites_and_names_of_the_first() {
    let folder = tempdir().unwrap();
    let paths = ["one.json", "other.json"].map(|name| folder.path().join(name));
    child!("two recordings").arg(&paths[0]).arg(&paths[1]).run().expect_quiet();
    for path in paths {
        let trace = Trace::read(&path);
        let names: Vec<&str> = trace.slices().map(|slice| slice.name.as_str()).collect();
        assert_eq!(names, ["place", "name", "slice"]);
        assert_eq!(Path::new(&trace.one("place").args.text("path")), path);
        assert_eq!(trace.track_name(trace.one("slice")), "a track of both");
    }
}

#[test]
fn errors_of_the_builder_have_messages() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = child!("builder mistakes").arg(&path).in_folder(folder.path()).run().expect_quiet();
    let spool = folder.path().join("missing folder/trace.json.spool");
    let expected = [
        "no path: no path to record to was given".to_owned(),
        format!("nowhere: {}: cannot record to: No such file or directory (os error 2)", spool.display()),
        "second: this process is recording already".to_owned(),
        "again: this process is not recording".to_owned(),
    ];
    assert_eq!(outcome.stdout.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn threads_whose_first_spans_are_simultaneous_lose_nothing() {
    for _ in 0..20 {
        let (_, trace) = recorded_by(child!("first spans at once").number(8));
        let mut found: Vec<u64> = trace.slices().map(|slice| slice.args.number("n")).collect();
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(trace.about().number("dropped"), 0);
    }
}

#[test]
fn statistics_are_right_during_the_recording() {
    let (outcome, trace) = recorded_by(child!("stats while running"));
    let counts = ["at_first", "then", "at_last", "dropped", "threads"].map(|key| outcome.reported(key));
    assert_eq!(counts, [0, 10_000, 10_001, 0, 2]);
    assert!(outcome.reported("bytes") >= 16 * 10_001);
    // The span that was open has ended since then.
    assert_eq!((trace.recorded().count(), trace.about().number("recorded")), (10_002, 10_002));
}

#[test]
fn the_program_can_finish_a_recording_that_the_environment_started() {
    let (outcome, trace) = recorded_by(child!("finish by name"));
    assert_eq!(outcome.reported("recorded"), 1);
    let names: Vec<&str> = trace.recorded().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["span"]);
}
