//! Tests that the parts of a rotating recording are merged into one process.

use crate::{Made, input, merged, nanos, with};
use ferrum_trace_analyze::merge::Input;
use std::collections::BTreeSet;

/// A part of a rotating recording: a step from each of these times on, in microseconds, and a request that is open
/// across its boundaries.
fn part(pid: u32, number: u32, steps: &[i64]) -> Input {
    let mut json = "[".to_owned();
    for ts in steps {
        json += &format!(r#"{{"ph":"X","name":"decode","cat":"step","ts":{ts},"dur":10,"pid":{pid},"tid":70}},"#);
    }
    let ts = steps[0];
    json += &format!(
        r#"{{"ph":"n","name":"token","cat":"request","id":"0x5","ts":{ts},"pid":{pid},"tid":70}},
        {{"ph":"M","name":"thread_name","pid":{pid},"tid":70,"args":{{"name":"main"}}}},
        {{"ph":"M","name":"process_name","pid":{pid},"tid":70,"args":{{"name":"engine"}}}},
        {{"ph":"M","name":"ferrum_trace","pid":{pid},"tid":70,"args":{{"start_monotonic_ns":9000,"start_unix_ns":1,"part":{number},
        "pid":{pid},"host":"h","boot_id":"b"}}}}]"#
    );
    input(&format!("{pid}.{number:03}.json"), &json)
}

fn pids(made: &Made) -> Vec<u32> {
    made.merged.inputs.iter().map(|input| input.processes[0].pid).collect()
}

#[test]
fn parts_of_one_recording_are_one_process_in_any_order() {
    let made = merged(&[part(7, 2, &[100, 200]), part(8, 1, &[5, 105]), part(7, 1, &[0]), part(8, 2, &[205])]);
    made.assert_clean();
    let names: Vec<&str> = made.merged.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["7.001.json", "7.002.json", "8.001.json", "8.002.json"]);
    assert_eq!(pids(&made), [7, 7, 8, 8]);
    let rows: BTreeSet<(u64, u64)> =
        made.named("decode").map(|event| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())).collect();
    assert_eq!(rows, BTreeSet::from([(7, 70), (8, 70)]));
    assert_eq!(made.named("process_name").count(), 2);
    assert_eq!(made.named("process_sort_index").count(), 2);
    let requests: Vec<(u64, String)> =
        made.named("token").map(|event| (event["pid"].as_u64().unwrap(), event["id"].to_string())).collect();
    assert_eq!(requests[0], requests[1], "a request is open across the boundary");
    assert_eq!(requests[2], requests[3]);
    assert_ne!(requests[0].1, requests[2].1, "and differs from that of the other process");
    let times: Vec<i64> = made.named("decode").map(|event| nanos(&event["ts"]) / 1000).collect();
    assert_eq!(times, [0, 100, 200, 5, 105, 205]);
    // The second process ends each step 5 us later, counted over both parts.
    let steps = &made.merged.steps;
    assert_eq!((steps.rows[0].n, steps.rows[0].n_ranks, steps.rows[0].max_ns), (3, 2, 5_000));
    let labels: Vec<&str> = steps.ranks.iter().map(|rank| rank.label.as_str()).collect();
    assert_eq!(labels, ["engine 7", "engine 8"]);
}

/// A part of a recording with begins and ends of requests; `u` is a synthetic end at the end of the part.
fn with_requests(number: u32, step: i64, events: &[(&str, u32, i64)]) -> Input {
    let event = |&(phase, id, ts): &(&str, u32, i64)| {
        let (phase, args) = if phase == "u" { ("e", r#","args":{"unclosed":true}"#) } else { (phase, "") };
        let id = format!(r#""id2":{{"local":"{id}"}}"#);
        format!(r#"{{"ph":"{phase}","name":"request","cat":"request",{id},"ts":{ts},"pid":7,"tid":70{args}}},"#)
    };
    let events: String = events.iter().map(event).collect();
    with(&part(7, number, &[step]), "[", &format!("[{events}"))
}

#[test]
fn async_events_across_a_part_boundary_begin_once() {
    let made = merged(&[
        with_requests(1, 0, &[("b", 1, 10), ("b", 2, 20), ("b", 3, 25), ("e", 2, 30), ("e", 4, 35), ("b", 4, 5)]),
        with_requests(
            2,
            100,
            &[("b", 1, 90), ("e", 1, 110), ("b", 2, 120), ("e", 2, 130), ("b", 1, 140), ("b", 4, 150), ("e", 4, 160)],
        ),
        with_requests(3, 200, &[("b", 3, 190), ("e", 3, 210), ("b", 1, 190), ("e", 1, 220)]),
    ]);
    made.assert_clean();
    let of = |id: &str| -> String {
        let mut seen: Vec<(i64, &str)> = made
            .named("request")
            .filter(|event| event["id2"]["local"] == id)
            .map(|event| (nanos(&event["ts"]) / 1000, event["ph"].as_str().unwrap()))
            .collect();
        seen.sort_unstable();
        seen.iter().map(|(ts, phase)| format!("{phase}{ts} ")).collect()
    };
    assert_eq!(of("1"), "b10 e110 b140 e220 ");
    assert_eq!(of("2"), "b20 e30 b120 e130 ");
    assert_eq!(of("3"), "b25 e210 ");
    assert_eq!(of("4"), "b5 e35 b150 e160 ", "in any position in the file");
}

#[test]
fn synthetic_ends_are_written_after_the_last_part_only() {
    let made = merged(&[
        with_requests(
            1,
            0,
            &[
                ("b", 1, 10),
                ("b", 2, 20),
                ("b", 3, 25),
                ("u", 1, 50),
                ("u", 2, 50),
                ("u", 3, 50),
                ("b", 4, 30),
                ("b", 4, 40),
                ("u", 4, 50),
                ("u", 4, 50),
            ],
        ),
        with_requests(2, 100, &[("b", 1, 90), ("u", 1, 150)]),
        with_requests(
            3,
            200,
            &[("b", 1, 190), ("e", 1, 210), ("b", 2, 190), ("u", 2, 250), ("b", 4, 190), ("e", 4, 220)],
        ),
    ]);
    made.assert_clean();
    let of = |id: &str| -> Vec<(i64, &str, bool)> {
        let of_id = made.named("request").filter(|event| event["id2"]["local"] == id);
        let seen =
            of_id.map(|event| (nanos(&event["ts"]) / 1000, event["ph"].as_str().unwrap(), !event["args"].is_null()));
        let mut seen: Vec<_> = seen.collect();
        seen.sort_unstable();
        seen
    };
    assert_eq!(of("1"), [(10, "b", false), (210, "e", false)]);
    assert_eq!(of("2"), [(20, "b", false), (250, "e", true)], "some parts have none of its events");
    assert_eq!(of("3"), [(25, "b", false), (50, "e", true)]);
    let twice = [(30, "b", false), (40, "b", false), (50, "e", true), (220, "e", false)];
    assert_eq!(of("4"), twice, "open twice, continued once");
}

#[test]
fn other_recordings_and_duplicate_parts_stay_separate() {
    let other = part(7, 2, &[100]);
    let made = merged(&[part(7, 1, &[0]), part(7, 1, &[0])]);
    assert_eq!(BTreeSet::from_iter(pids(&made)).len(), 2);
    for (from, to) in [(":9000,", ":9001,"), ("\"boot_id\":\"b\"", "\"boot_id\":\"c\""), ("\"part\":2,", "")] {
        let made = merged(&[part(7, 1, &[0]), with(&other, from, to)]);
        assert_eq!(BTreeSet::from_iter(pids(&made)).len(), 2, "{to}");
    }
}
