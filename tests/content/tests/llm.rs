//! The LLM vocabulary in the file.

use content::child;
use ferrum_trace_testkit::strict_trace::{Event, Phase, Trace};
use tempfile::tempdir;

fn trace_of(scene: &str) -> Trace {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    child!(scene).out(&path).run().expect_quiet();
    Trace::read(path)
}

/// `name|category|key=value …` of an event.
fn spelled(event: &Event) -> String {
    let args: Vec<String> = event.args.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{}|{}|{}", event.name, event.cat, args.join(" "))
}

/// The events of a request, sorted by time: `b` for a begin, `e` for an end, `n` for an instant.
fn life(trace: &Trace, id: u64) -> Vec<String> {
    let id = format!("{id:#x}");
    let mut events: Vec<(u64, String)> =
        trace.recorded().filter_map(|event| Some((event.start, described(event, &id)?))).collect();
    // Stable: simultaneous events stay in the order of the file, as in viewers.
    events.sort_by_key(|(start, _)| *start);
    events.into_iter().map(|(_, described)| described).collect()
}

fn described(event: &Event, wanted: &str) -> Option<String> {
    let (letter, id) = match &event.phase {
        Phase::AsyncBegin(id) => ('b', id),
        Phase::AsyncInstant(id) => ('n', id),
        Phase::AsyncEnd(id) => ('e', id),
        _ => return None,
    };
    assert_eq!(event.cat, "request");
    let args: String = event.args.0.iter().map(|(key, value)| format!(" {key}={value}")).collect();
    (id == wanted).then(|| format!("{letter} {}{args}", event.name))
}

#[test]
fn steps_layers_and_operations_nest() {
    let trace = trace_of("steps");
    let mut slices: Vec<&Event> = trace.slices().collect();
    slices.sort_by_key(|slice| slice.start);
    let layer = |n| {
        [
            format!("layer|layer|layer={n}"),
            format!("qkv_proj|gemm|layer={n} m=4 quantized=true"),
            "paged_attention|attention|".to_owned(),
            "silu|act|".to_owned(),
        ]
    };
    let mut expected = vec![
        "prefill|step|phase=\"prefill\" batch=1 prefill_tokens=2 decode_tokens=0 context_tokens=0".to_owned(),
        "mixed|step|phase=\"mixed\" batch=4 prefill_tokens=2 decode_tokens=3 context_tokens=50".to_owned(),
        format!("decode|step|phase=\"decode\" batch=4 prefill_tokens=0 decode_tokens=4 context_tokens={}", u64::MAX),
    ];
    expected.extend(layer(0).into_iter().chain(layer(1)));
    expected.push("sample|sampling|batch=4".to_owned());
    assert_eq!(slices.iter().map(|slice| spelled(slice)).collect::<Vec<_>>(), expected);
    assert!(slices[3..].iter().all(|inner| slices[2].encloses(inner)));
    assert!(slices[4..7].iter().all(|inner| slices[3].encloses(inner)));
    assert!(slices[8..11].iter().all(|inner| slices[7].encloses(inner)));
}

#[test]
fn the_stages_of_a_request_are_in_order_on_any_thread() {
    let trace = trace_of("a request over threads");
    let expected = [
        "b request request=7 prompt_tokens=40",
        "b queued",
        "e queued",
        "b prefill",
        "e prefill",
        "b decode",
        "n first token",
        "n token",
        "n token tokens=3",
        "e decode",
        "b preempted",
        "e preempted",
        "b prefill",
        "e prefill",
        "b decode",
        "n token",
        "e decode",
        "e request output_tokens=6 reason=\"length\"",
    ];
    assert_eq!(life(&trace, 7), expected);
}

#[test]
fn misplaced_stages_are_ignored_and_every_request_ends_once() {
    let trace = trace_of("requests out of order");
    let twice = [
        "b request request=1",
        "b queued",
        "e queued",
        "b prefill",
        "e prefill",
        "b decode",
        "n first token",
        "n token",
        "e decode",
        "b preempted",
        "e preempted",
        "e request output_tokens=2 reason=\"stop\"",
    ];
    assert_eq!(life(&trace, 1), twice);
    let early = [
        "b request request=2 prompt_tokens=5",
        "b queued",
        "e queued",
        "b decode",
        "n first token tokens=2",
        "e decode",
        "e request output_tokens=2 reason=\"dropped\"",
    ];
    assert_eq!(life(&trace, 2), early);
    let dropped = ["b request request=3", "b queued", "e queued", "e request output_tokens=0 reason=\"dropped\""];
    assert_eq!(life(&trace, 3), dropped);
}

#[test]
fn a_request_belongs_to_the_recording_in_which_it_arrived() {
    let folder = tempdir().unwrap();
    let paths = ["one.json", "other.json"].map(|name| folder.path().join(name));
    child!("a request between recordings").arg(&paths[0]).arg(&paths[1]).run().expect_quiet();
    let [one, other] = paths.map(Trace::read);
    let cut = ["b request request=2", "b queued", "e queued unclosed=true", "e request unclosed=true"];
    assert_eq!(life(&one, 2), cut);
    assert_eq!((life(&one, 1).len(), life(&other, 1).len(), life(&other, 2).len()), (0, 0, 0));
    assert_eq!(life(&other, 3).len(), 4);
}

#[test]
fn counters_have_their_keys() {
    let trace = trace_of("counters of an engine");
    let counters: Vec<String> = trace.recorded().map(spelled).collect();
    let expected = [
        "kv_cache|counter|used=3 free=97",
        "running|counter|requests=2",
        "waiting|counter|requests=1",
        "tokens|counter|prompt=512 generated=20",
    ];
    assert_eq!(counters, expected);
}
