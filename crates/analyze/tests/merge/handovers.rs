//! Tests that hand-overs between processes bound their clocks.

use crate::{input, merged, nanos};
use ferrum_trace_analyze::merge::{AlignedBy, Input};

/// Sends and arrivals of flows between processes, as our recorder writes them: phase, id and time in microseconds.
fn ends(name: &str, host: &str, unix: i64, ends: &[(char, u64, i64)]) -> Input {
    let mut json = "[".to_owned();
    for (phase, id, ts) in ends {
        let id = 1_u64 << 62 | id;
        json += &format!(
            r#"{{"ph":"X","name":"at {ts}","cat":"x","ts":{ts}.001,"dur":0.5,"pid":1,"tid":1}},
            {{"ph":"{phase}","bp":"e","name":"flow","cat":"flow","id":"{id:#x}","ts":{ts}.001,"pid":1,"tid":1}},"#
        );
    }
    json += &format!(
        r#"{{"ph":"M","name":"ferrum_trace","pid":1,"tid":1,"args":{{"host":"{host}","boot_id":"{host}",
        "start_monotonic_ns":0,"start_unix_ns":{unix}}}}}]"#
    );
    input(name, &json)
}

const UNIX: i64 = 1_800_000_000_000_000_000;

#[test]
fn requests_in_both_directions_bound_the_offset() {
    // The second clock is 1 s ahead. A request takes 30 µs there and 10 µs back.
    let router = ends("router", "n0", UNIX, &[('s', 1, 1_000), ('f', 2, 1_140)]);
    let engine = ends("engine", "n1", UNIX, &[('f', 1, 1_001_030), ('s', 2, 1_001_130)]);
    let made = merged(&[router, engine]);
    made.assert_clean();
    let alignment = made.merged.inputs[1].alignment;
    assert_eq!((alignment.by, alignment.n_facts), (AlignedBy::Order, 2));
    let bound = alignment.error_ns.unwrap() as i64;
    assert!((20_000..20_100).contains(&bound), "half of the 40 µs: {bound}");
    let arrived = made.events().iter().find(|event| event["name"] == "at 1001030").unwrap();
    assert!((nanos(&arrived["ts"]) - 30_000).abs() <= bound);
    // Both ends have the same id, so that viewers draw the flow.
    let mut ids: Vec<String> = made.named("flow").map(|event| event["id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 2);
}

#[test]
fn hand_overs_in_one_direction_are_respected_without_an_error_bound() {
    // By the wall clock it would arrive before it was sent.
    let router = ends("router", "n0", UNIX, &[('s', 1, 1_000)]);
    let engine = ends("engine", "n1", UNIX - 5_000_000_000, &[('f', 1, 2_000)]);
    let made = merged(&[router, engine]);
    let alignment = made.merged.inputs[1].alignment;
    assert_eq!((alignment.by, alignment.error_ns, alignment.n_facts), (AlignedBy::Wall, None, 1));
    let time = |name: &str| nanos(&made.events().iter().find(|event| event["name"] == name).unwrap()["ts"]);
    assert!(time("at 2000") >= time("at 1000") - 4, "{} {}", time("at 2000"), time("at 1000"));
}

#[test]
fn an_id_that_was_sent_twice_is_ignored() {
    let router = ends("router", "n0", UNIX, &[('s', 1, 1_000), ('s', 1, 1_500)]);
    let engine = ends("engine", "n1", UNIX, &[('f', 1, 2_000)]);
    assert_eq!(merged(&[router, engine]).merged.inputs[1].alignment.n_facts, 0);
}
