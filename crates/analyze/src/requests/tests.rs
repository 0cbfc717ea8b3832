use super::*;
use crate::steps::{STEP_ARGS, StepSource};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use proptest::prelude::*;

/// Two requests of an engine that runs three steps, in microseconds:
///
/// ```text
///        0         10        20        30        40        50
/// steps            |prefill--|prefill--|  |mixed--|decode|
/// 1      |queued---|prefill--|decode-------------------|
/// 2          |queued---------|prefill----|preempted|…
/// ```
const ENGINE: &str = r#"[
{"ph":"b","cat":"request","name":"request","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":0,"args":{"prompt_tokens":100}},
{"ph":"b","cat":"request","name":"queued","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":0},
{"ph":"b","cat":"request","name":"request","id2":{"local":"0x2"},"pid":1,"tid":1,"ts":4,"args":{"prompt_tokens":50}},
{"ph":"b","cat":"request","name":"queued","id2":{"local":"0x2"},"pid":1,"tid":1,"ts":4},
{"ph":"e","cat":"request","name":"queued","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":10},
{"ph":"b","cat":"request","name":"prefill","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":10},
{"ph":"X","cat":"step","name":"prefill","pid":1,"tid":1,"ts":10,"dur":10},
{"ph":"e","cat":"request","name":"prefill","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":20},
{"ph":"n","cat":"request","name":"first token","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":20},
{"ph":"b","cat":"request","name":"decode","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":20},
{"ph":"e","cat":"request","name":"queued","id2":{"local":"0x2"},"pid":1,"tid":1,"ts":20},
{"ph":"b","cat":"request","name":"prefill","id2":{"local":"0x2"},"pid":1,"tid":1,"ts":20},
{"ph":"X","cat":"step","name":"prefill","pid":1,"tid":1,"ts":20,"dur":10},
{"ph":"e","cat":"request","name":"prefill","id2":{"local":"0x2"},"pid":1,"tid":1,"ts":32},
{"ph":"b","cat":"request","name":"preempted","id2":{"local":"0x2"},"pid":1,"tid":1,"ts":32},
{"ph":"X","cat":"step","name":"mixed","pid":1,"tid":1,"ts":33,"dur":9},
{"ph":"n","cat":"request","name":"token","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":41},
{"ph":"e","cat":"request","name":"preempted","id2":{"local":"0x2"},"pid":1,"tid":1,"ts":42},
{"ph":"X","cat":"step","name":"decode","pid":1,"tid":1,"ts":42,"dur":7},
{"ph":"n","cat":"request","name":"token","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":48,"args":{"tokens":2}},
{"ph":"e","cat":"request","name":"decode","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":49},
{"ph":"e","cat":"request","name":"request","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":50,"args":{"output_tokens":4,"reason":"stop"}}
]"#;

fn loaded(text: &str) -> Trace {
    let args = STEP_ARGS.iter().chain(&REQUEST_ARGS).map(|&key| key.to_owned()).collect();
    load(text.as_bytes(), &LoadOptions { args, n_workers: 1 }).unwrap().trace
}

fn found(trace: &Trace, slos: &[Slo]) -> Requests {
    requests(trace, &Nesting::of(trace), &RequestsOptions { slos: slos.to_vec(), ..RequestsOptions::default() })
}

fn parts_of(parts: &Parts) -> Vec<(&'static str, i64)> {
    Part::ALL.iter().map(|&part| (part.name(), parts.get(part))).filter(|(_, time)| *time != 0).collect()
}

#[test]
fn figures_are_those_of_the_benchmark() {
    let trace = loaded(ENGINE);
    let requests = found(&trace, &[]);
    let figures = &requests.figures;
    assert_eq!((figures.completed, figures.failed, figures.unfinished, requests.n_strays), (1, 0, 1, 0));
    assert_eq!((figures.wall, figures.prompt_tokens, figures.output_tokens), (50_000, 100, 4));
    assert_eq!((figures.n_miscounted, figures.good, figures.met.len()), (0, None, 0));
    // TTFT 0 to 20; TPOT (50 - 20) / 3; ITL 21 and 7; E2EL 50; queue 10.
    assert_eq!((figures.ttft.mean, figures.tpot.mean, figures.itl.mean), (20_000.0, 10_000.0, 14_000.0));
    assert_eq!((figures.itl.count, figures.itl.values.p50, figures.itl.values.p99), (2, 7_000, 21_000));
    assert_eq!((figures.e2el.mean, figures.queue.mean), (50_000.0, 10_000.0));
    assert_eq!(figures.per_second(1), 20_000.0);
}

#[test]
fn the_parts_of_a_request_sum_to_its_latency() {
    let trace = loaded(ENGINE);
    let requests = found(&trace, &[]);
    let [parts, unfinished] = &requests.parts[..] else { panic!("{requests:?}") };
    // Decode from 20 to 49: 10 prefill of others, 9 mixed, 7 decode, and 3 without a step; 1 after it.
    let expected = [
        ("queue", 10_000),
        ("prefill", 10_000),
        ("others_prefill", 10_000),
        ("mixed", 9_000),
        ("decode", 7_000),
        ("between_steps", 3_000),
        ("unexplained", 1_000),
    ];
    assert_eq!(parts_of(parts), expected);
    assert_eq!(Some(parts.sum()), requests.requests[0].latency());
    assert_eq!((unfinished.sum(), requests.n_steps), (0, 4));
}

#[test]
fn without_steps_the_stages_are_the_parts() {
    let without: Vec<&str> = ENGINE.lines().filter(|line| !line.contains(r#""cat":"step""#)).collect();
    let trace = loaded(&without.join("\n"));
    let requests = found(&trace, &[]);
    let expected = [("queue", 10_000), ("prefill", 10_000), ("decode", 29_000), ("unexplained", 1_000)];
    assert_eq!((parts_of(&requests.parts[0]), requests.n_steps), (expected.to_vec(), 0));
}

#[test]
fn decode_steps_of_others_do_not_count_as_prefill() {
    let text = ENGINE.replace(
        r#""name":"prefill","pid":1,"tid":1,"ts":10,"dur":10"#,
        r#""name":"decode","pid":1,"tid":1,"ts":10,"dur":4"#,
    );
    let requests = found(&loaded(&text), &[]);
    assert_eq!(requests.parts[0].get(Part::OthersDecode), 4_000);
    assert_eq!((requests.parts[0].get(Part::Prefill), requests.parts[0].sum()), (0, 50_000));
}

#[test]
fn goodput_counts_requests_that_meet_every_limit() {
    let trace = loaded(ENGINE);
    let slo = |metric, limit| Slo { metric, limit };
    let keeps = [slo(SloMetric::Ttft, 20_000), slo(SloMetric::Tpot, 10_000), slo(SloMetric::E2el, 50_000)];
    assert_eq!(found(&trace, &keeps).figures.good, Some(1));
    let figures = found(&trace, &[keeps[0], slo(SloMetric::Tpot, 9_999), slo(SloMetric::Queue, 9_999)]).figures;
    assert_eq!((figures.good, figures.met), (Some(0), vec![1, 0, 0]));
    let violation = |worst| SloViolations { count: 1, n_unknown: 0, worst: Some(worst) };
    assert_eq!(figures.violations, [SloViolations::default(), violation(10_000), violation(10_000)]);
}

#[test]
fn a_request_is_found_by_any_spelling_of_its_id() {
    let trace = loaded(ENGINE);
    let requests = found(&trace, &[]);
    for id in ["1/0x2", "0x2", "2"] {
        assert_eq!(requests.find(&trace, id), [1], "{id}");
    }
    assert_eq!(requests.find(&trace, "3"), [0; 0]);
    assert_eq!(requests.by_latency(), [0]);
}

#[test]
fn failed_requests_and_strays_are_counted_and_ids_may_repeat() {
    let event = |phase: &str, name: &str, ts: u32, args: &str| {
        format!(
            r#"{{"ph":"{phase}","cat":"request","name":"{name}","id":"r","pid":1,"tid":1,"ts":{ts},"args":{{{args}}}}}"#
        )
    };
    let events = [
        event("n", "token", 1, ""),
        event("b", "request", 2, ""),
        event("n", "token", 3, ""),
        event("e", "request", 4, r#""output_tokens":9,"reason":"length""#),
        event("b", "request", 5, ""),
        event("e", "request", 6, r#""reason":"abort""#),
        event("e", "request", 7, ""),
        event("b", "request", 8, ""),
        event("b", "request", 9, ""),
        event("e", "decode", 10, ""),
    ];
    let trace = loaded(&format!("[{}]", events.join(",")));
    let requests = found(&trace, &[Slo { metric: SloMetric::Tpot, limit: 1_000 }]);
    let figures = &requests.figures;
    assert_eq!((figures.completed, figures.failed, figures.unfinished, requests.n_strays), (1, 1, 2, 2));
    assert_eq!((figures.n_miscounted, figures.output_tokens, figures.ttft.mean), (1, 9, 1_000.0));
    assert_eq!((figures.tpot.values.p50, figures.queue.count, figures.good), (125, 0, Some(1)));
    assert_eq!(parts_of(&requests.parts[0]), [("unexplained", 2_000)]);
}

#[test]
fn stages_that_overlap_or_leave_the_request_do_not_count_twice() {
    let event = |phase: &str, name: &str, ts: i32| {
        format!(r#"{{"ph":"{phase}","cat":"request","name":"{name}","id":1,"pid":1,"tid":1,"ts":{ts}}}"#)
    };
    let events = [
        event("b", "request", 0),
        event("b", "queued", 0),
        event("b", "decode", 5),
        event("e", "queued", 10),
        event("b", "prefill", 12),
        event("e", "decode", 15),
        event("e", "request", 20),
    ];
    let requests = found(&loaded(&format!("[{}]", events.join(","))), &[]);
    let expected = [("queue", 10_000), ("prefill", 5_000), ("decode", 5_000)];
    assert_eq!((requests.figures.n_preempted, requests.figures.n_preemptions), (0, 0));
    assert_eq!(parts_of(&requests.parts[0]), expected);
}

#[test]
fn preemptions_are_counted_by_request_and_all_together() {
    let event = |phase: &str, name: &str, ts: i32| {
        format!(r#"{{"ph":"{phase}","cat":"request","name":"{name}","id":1,"pid":1,"tid":1,"ts":{ts}}}"#)
    };
    let twice = [(2, 3), (5, 9)].map(|(from, to)| [event("b", "preempted", from), event("e", "preempted", to)]);
    let events = [vec![event("b", "request", 0)], twice.concat(), vec![event("e", "request", 10)]].concat();
    let requests = found(&loaded(&format!("[{}]", events.join(","))), &[]);
    assert_eq!((requests.figures.n_preempted, requests.figures.n_preemptions), (1, 2));
    assert_eq!(parts_of(&requests.parts[0]), [("preempted", 5_000), ("unexplained", 5_000)]);
}

#[test]
fn requests_are_selected_by_arrival() {
    let trace = loaded(ENGINE);
    let options = RequestsOptions { arrived: Some(1..5_000), ..RequestsOptions::default() };
    let chosen = requests(&trace, &Nesting::of(&trace), &options);
    assert_eq!((chosen.requests.len(), chosen.figures.unfinished), (1, 1));
    let steps = all_steps(&trace, &Nesting::of(&trace), &options);
    assert!(steps.iter().all(|step| step.mark.source == StepSource::Ferrum));
}

/// The same requests in Perfetto's representation: slices and instants on a separate track.
const ON_TRACKS: &str = r#"[
{"ph":"X","cat":"request","name":"request","pid":1,"tid":90,"ts":0,"dur":50,"args":{"id":"1/0x1","prompt_tokens":100,"output_tokens":4,"reason":"stop"}},
{"ph":"X","cat":"request","name":"queued","pid":1,"tid":90,"ts":0,"dur":10},
{"ph":"X","cat":"request","name":"prefill","pid":1,"tid":90,"ts":10,"dur":10},
{"ph":"X","cat":"request","name":"decode","pid":1,"tid":90,"ts":20,"dur":29},
{"ph":"i","cat":"request","name":"first token","pid":1,"tid":90,"ts":20},
{"ph":"i","cat":"request","name":"token","pid":1,"tid":90,"ts":41},
{"ph":"i","cat":"request","name":"token","pid":1,"tid":90,"ts":48,"args":{"tokens":2}},
{"ph":"X","cat":"request","name":"request","pid":1,"tid":90,"ts":50,"dur":5},
{"ph":"X","cat":"request","name":"queued","pid":1,"tid":90,"ts":50,"dur":0},
{"ph":"i","cat":"request","name":"token","pid":1,"tid":90,"ts":55},
{"ph":"i","cat":"other","name":"token","pid":1,"tid":90,"ts":52}
]"#;

#[test]
fn requests_on_tracks_are_the_same() {
    let (trace, on_tracks) = (loaded(ENGINE), loaded(ON_TRACKS));
    let [expected, found] = [&trace, &on_tracks].map(|trace| found(trace, &[]).requests);
    assert_eq!(found[0].id.content(&on_tracks.strings), "1/0x1");
    assert_eq!((&found[0].stages, &found[0].arrivals), (&expected[0].stages, &expected[0].arrivals));
    let counts = |request: &Request| (request.prompt_tokens, request.output_tokens, request.n_arrived, request.end);
    assert_eq!(counts(&found[0]), counts(&expected[0]));
    assert_eq!((found[1].arrival, found[1].tokens(), found[1].queue_time()), (50_000, 1, Some(0)));
    assert_eq!((&*found[1].id.content(&on_tracks.strings), found.len()), ("90", 2));
}

#[test]
fn a_synthetic_end_leaves_the_request_unfinished() {
    let open = r#""name":"request","cat":"request","pid":1,"tid":1"#;
    let text = format!(
        r#"[{{"ph":"b",{open},"id":1,"ts":1}},{{"ph":"e",{open},"id":1,"ts":9,"args":{{"unclosed":true}}}},
            {{"ph":"X",{open},"ts":1,"dur":8,"args":{{"unclosed":true}}}}]"#
    );
    let figures = found(&loaded(&text), &[]).figures;
    assert_eq!((figures.completed, figures.unfinished), (0, 2));
}

proptest! {
    #[test]
    fn the_parts_always_sum_to_the_latency(
        stages in prop::collection::vec((0_usize..4, 0_i64..100, 0_i64..60), 0..6),
        steps in prop::collection::vec((0_usize..4, 0_i64..100, 0_i64..20), 0..12),
        latency in 0_i64..90,
    ) {
        let kinds = ["queued", "prefill", "decode", "preempted"];
        let phases = ["prefill", "decode", "mixed", "step"];
        let mut slices = vec![("1", "2", "request", "request", 10, 10 + latency)];
        slices.extend(steps.iter().map(|&(phase, start, length)| ("1", "1", "step", phases[phase], start, start + length)));
        slices.extend(stages.iter().map(|&(kind, start, length)| ("1", "2", "request", kinds[kind], start, start + length)));
        let trace = crate::test_traces::trace(&slices);
        let requests = found(&trace, &[]);
        for (request, parts) in requests.requests.iter().zip(&requests.parts) {
            prop_assert_eq!(request.latency().unwrap_or(0), parts.sum());
            prop_assert!(Part::ALL.iter().all(|&part| parts.get(part) >= 0), "{:?}", parts);
        }
    }
}

/// A request whose prompt is computed by a step that ends on the host at 12 and on the device at 30, and its first
/// token.
fn with_device(token: u32, kernel: &str) -> Requests {
    let event = |phase: &str, name: &str, ts: u32| {
        format!(r#"{{"ph":"{phase}","cat":"request","name":"{name}","id":1,"pid":1,"tid":1,"ts":{ts}}}"#)
    };
    let launch = r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":11,"dur":1,"args":{"correlation":5}}"#;
    let step = r#"{"ph":"X","cat":"step","name":"prefill","pid":1,"tid":1,"ts":10,"dur":2}"#;
    let events = [
        event("b", "request", 0),
        event("b", "prefill", 10),
        step.to_owned(),
        launch.to_owned(),
        event("n", "first token", token),
        event("e", "prefill", token),
        event("n", "token", 40),
        event("e", "request", 50),
    ];
    found(&loaded(&format!("[{}{kernel}]", events.join(","))), &[])
}

const KERNEL: &str =
    r#",{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20,"dur":10,"args":{"correlation":5}}"#;

#[test]
fn a_first_token_before_its_result_exists_has_no_figures() {
    let early = with_device(12, KERNEL);
    let figures = &early.figures;
    assert_eq!((figures.n_early, figures.ttft.count, figures.tpot.count, figures.itl.count), (1, 0, 0, 0));
    assert_eq!((figures.e2el.mean, early.requests[0].is_early), (50_000.0, true));
    let late = with_device(31, KERNEL).figures;
    assert_eq!((late.n_early, late.ttft.mean, late.itl.count), (0, 31_000.0, 1));
    let error = KERNEL.replace(r#""correlation":5"#, r#""correlation":5,"clock_error_ns":"18000""#);
    assert_eq!(with_device(12, &error).figures.n_early, 0, "within the clock error");
}

#[test]
fn a_request_waits_for_a_step_until_its_kernels_have_ended() {
    let parts = with_device(31, KERNEL).parts[0];
    // In prefill from 10 to 31, of which the step takes 20; nothing is recorded before and after.
    assert_eq!(parts_of(&parts), [("prefill", 20_000), ("between_steps", 1_000), ("unexplained", 29_000)]);
    let cut = with_device(12, "");
    assert_eq!((cut.n_steps, cut.n_incomplete_steps, cut.figures.n_early), (1, 1, 0));
}
