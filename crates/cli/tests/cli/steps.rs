use crate::scene::{Run, Scene};
use serde::Deserialize;

/// A prefill and three decodes; the second decode samples longer and has a gap of 8 µs.
const TRACE: &str = r#"[
{"ph":"X","name":"prefill","cat":"step","ts":0,"dur":100,"pid":1,"tid":1,"args":{"phase":"prefill","batch":1,"prefill_tokens":64,"decode_tokens":1}},
{"ph":"X","name":"up","cat":"gemm","ts":0,"dur":90,"pid":1,"tid":1},
{"ph":"X","name":"decode","cat":"step","ts":100,"dur":20,"pid":1,"tid":1,"args":{"phase":"decode","batch":4,"prefill_tokens":0,"decode_tokens":4}},
{"ph":"X","name":"up","cat":"gemm","ts":100,"dur":15,"pid":1,"tid":1},
{"ph":"X","name":"sample","cat":"sampling","ts":115,"dur":5,"pid":1,"tid":1},
{"ph":"X","name":"decode","cat":"step","ts":120,"dur":50,"pid":1,"tid":1,"args":{"phase":"decode","batch":4,"prefill_tokens":0,"decode_tokens":4}},
{"ph":"X","name":"up","cat":"gemm","ts":122,"dur":15,"pid":1,"tid":1},
{"ph":"X","name":"sample","cat":"sampling","ts":145,"dur":25,"pid":1,"tid":1},
{"ph":"X","name":"step","cat":"step","ts":170,"dur":20,"pid":1,"tid":1,"args":{"phase":"decode","batch":4,"decode_tokens":4}},
{"ph":"X","name":"up","cat":"gemm","ts":170,"dur":15,"pid":1,"tid":1},
{"ph":"X","name":"log","cat":"io","ts":185,"dur":5,"pid":1,"tid":1}
]"#;

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("t.json", TRACE);
    scene
}

#[test]
fn steps_are_told_by_phase_and_batch_with_what_explains_them() {
    let expected = "\
t.json: 4 steps on 1 track in 190.0 µs, marked by ferrum-trace
tokens    64 of prompts, 13 generated; 336,842 and 68,421 per second of wall time
covered   89.5 % of 190.0 µs of steps; 20.00 µs are in no span
          10.00 µs at the end of the step, after `up`, once
          8.000 µs between `up` and `sample`, once
          2.000 µs at the start of the step, before `up`, once

phase    batch  steps     total      mean       p50       p95       p99       max  prompt/s    gen/s  covered %  device %
prefill      1      1  100.0 µs  100.0 µs  100.0 µs  100.0 µs  100.0 µs  100.0 µs   640,000   10,000       90.0         -
decode       4      3  90.00 µs  30.00 µs  20.00 µs  50.00 µs  50.00 µs  50.00 µs         -  133,333       88.9         -
all          -      4  190.0 µs  47.50 µs  20.00 µs  100.0 µs  100.0 µs  100.0 µs   336,842   68,421       89.5         -

op        count  self time of spans  % of it    a step
gemm          4            135.0 µs     79.4  33.75 µs
sampling      2            30.00 µs     17.6  7.500 µs
other         1            5.000 µs      2.9  1.250 µs
other is
  5.000 µs `log`, 1

step 3 (decode, batch 4) at 120.0 µs: 50.00 µs, 2.50 times the median of its kind, 20.00 µs
  0 tokens of prompts instead of unknown
  +25.00 µs `sample`: 25.00 µs instead of 0 ns, 1 instead of 0
  +10.00 µs in no span: 10.00 µs instead of 0 ns
  -5.000 µs `log`: 0 ns instead of 5.000 µs, 0 instead of 1
  longest time in no span: 8.000 µs between `up` and `sample`
";
    // The median is the second of 20, 20 and 50, which is the last step.
    let run = Run::of(scene().command("steps t.json").env("COLUMNS", "130").output().unwrap());
    run.expect(0, expected, "");
}

#[test]
fn phases_filters_and_the_list_of_all_narrow_it_down() {
    let scene = scene();
    let run = scene.run("steps --phase decode --slowest 0 --each --filter time=..150us t.json").expect_code(0);
    assert!(run.stdout.starts_with("t.json: 2 steps on 1 track in 70.00 µs"), "{}", run.stdout);
    let rows: Vec<Vec<&str>> = run.stdout.lines().rev().take(2).map(|line| line.split_whitespace().collect()).collect();
    let expected =
        ["2", "decode", "120.0", "µs", "4", "0", "4", "-", "50.00", "µs", "10.00", "µs", "80.0", "0", "ns", "-"];
    assert_eq!(rows[0], expected);
    assert_eq!(rows[1][..2], ["1", "decode"]);
    scene.run("steps --phase mixed t.json").expect_code(1);
    scene.run("steps --phase other t.json").expect_code(2);
}

#[test]
fn a_trace_without_steps_says_what_it_has_instead() {
    let scene = Scene::new();
    scene.write("t.json", r#"[{"ph":"X","name":"decode","cat":"op","ts":1,"dur":2,"pid":1,"tid":1},{"ph":"b","id":1,"cat":"task","name":"t","ts":1,"pid":1,"tid":1}]"#);
    scene.write("empty.json", "[]");
    let run = scene.run("steps t.json").expect_code(1);
    assert!(
        run.stdout.starts_with("t.json: no steps that the flags ask for\nlooked for\n  slices of category `step`\n")
    );
    assert!(
        run.stdout.ends_with("there is instead\n  slices: 1 `op`\n  asynchronous events: 1 `task`\n"),
        "{}",
        run.stdout
    );
    let run = scene.run("steps empty.json").expect_code(1);
    assert!(run.stdout.ends_with("  slices: none\n  asynchronous events: none\n"), "{}", run.stdout);
    let run = scene.run("steps --json t.json").expect_code(1);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.count, object.groups.len()), (0, 0));
    scene.run("steps missing.json").expect_code(2);
}

#[test]
fn kernels_are_counted_for_the_step_that_launched_them() {
    let scene = Scene::new();
    scene.write(
        "vllm.json",
        r#"{"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"execute_context_0(0)_generation_2(2)","pid":9,"tid":9,"ts":0,"dur":10},
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":9,"tid":9,"ts":2,"dur":6,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"nvjet_tst_64x64","pid":0,"tid":7,"ts":12,"dur":20,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"triton_poi_fused_0","pid":0,"tid":7,"ts":36,"dur":4,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"lost","pid":0,"tid":7,"ts":90,"dur":1}]}"#,
    );
    let run = scene.run_with_stdin("steps -", &scene.read("vllm.json")).expect_code(0);
    for line in [
        "device    busy 85.7 % of 28.00 µs from first to last kernel of steps; 4.000 µs idle",
        "          4.000 µs between `nvjet_tst_64x64` and `triton_poi_fused_0`, once",
        "kernels   and copies: 2 by their launch, 1 in no step (1.000 µs)",
        "other is",
        "  4.000 µs `triton_poi_fused_0`, 1",
    ] {
        assert!(run.stdout.contains(&format!("{line}\n")), "{line}\n{}", run.stdout);
    }
    let run = scene.run("steps --json --each vllm.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    let attribution = object.attribution.unwrap();
    let Attribution { by_launch, by_flow, by_annotation, by_time, outside, outside_ns } = attribution;
    assert_eq!((by_launch, by_flow, by_annotation, by_time), (2, 0, 0, 0));
    assert_eq!((outside, outside_ns), (1, 1000));
    let ops: Vec<_> = object.device_ops.iter().map(|op| (op.op.as_str(), op.count, op.total_ns)).collect();
    assert_eq!(ops, [("gemm", 1, 20_000), ("other", 1, 4_000)]);
    assert_eq!(object.steps[0].device, Device { slices: 2, span_ns: 28_000, busy_ns: 24_000, idle_ns: 4_000 });
    assert_eq!((object.steps[0].source.as_str(), object.steps[0].decode_tokens), ("vLLM", Some(2)));
}

#[test]
fn steps_of_several_tracks_are_told_apart() {
    let scene = Scene::new();
    let step = |tid: u32| {
        format!(
            r#"{{"ph":"X","name":"decode","cat":"step","ts":1,"dur":5,"pid":1,"tid":{tid},"args":{{"decode_tokens":1}}}}"#
        )
    };
    scene.write("t.json", format!("[{},{}]", step(1), step(2)));
    let run = scene.run("steps t.json").expect_code(0);
    assert!(run.stdout.starts_with("t.json: 2 steps on 2 tracks"), "{}", run.stdout);
    let note = "t.json: steps are on 2 tracks: tokens are counted on each, `--filter track=ID` picks one\n";
    assert_eq!(run.stderr, note);
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    version: u32,
    file: String,
    count: u64,
    sources: Vec<Source>,
    tracks: u64,
    nested: u64,
    wall_ns: i64,
    all: Group,
    groups: Vec<Group>,
    gaps: Vec<Gap>,
    idle_gaps: Vec<Gap>,
    attribution: Option<Attribution>,
    device_ops: Vec<Op>,
    device_other: Vec<Name>,
    host_ops: Vec<Op>,
    host_other: Vec<Name>,
    slowest: Vec<Slow>,
    steps: Vec<Step>,
    losses: serde_json::Value,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Source {
    source: String,
    count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    phase: Option<String>,
    batch_from: Option<u64>,
    batch_to: Option<u64>,
    count: u64,
    total_ns: i64,
    mean_ns: f64,
    min_ns: i64,
    p50_ns: i64,
    p95_ns: i64,
    p99_ns: i64,
    max_ns: i64,
    prefill_tokens: u64,
    decode_tokens: u64,
    without_tokens: u64,
    prefill_tokens_per_s: f64,
    decode_tokens_per_s: f64,
    unexplained_ns: i64,
    coverage: f64,
    device: Device,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Device {
    slices: u64,
    span_ns: i64,
    busy_ns: i64,
    idle_ns: i64,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Gap {
    after: Option<String>,
    before: Option<String>,
    count: u64,
    total_ns: i64,
    max_ns: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribution {
    by_launch: u64,
    by_flow: u64,
    by_annotation: u64,
    by_time: u64,
    outside: u64,
    outside_ns: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Op {
    op: String,
    count: u64,
    total_ns: i64,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
    count: u64,
    total_ns: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Slow {
    step: Step,
    median: Step,
    excess_ns: i64,
    host: Vec<Difference>,
    device: Vec<Difference>,
    gap: Option<Gap>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Difference {
    what: String,
    name: Option<String>,
    here_ns: i64,
    median_ns: i64,
    count: u64,
    median_count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    number: u64,
    name: String,
    source: String,
    phase: Option<String>,
    batch: Option<u64>,
    prefill_tokens: Option<u64>,
    decode_tokens: Option<u64>,
    context_tokens: Option<u64>,
    start_ns: i64,
    duration_ns: i64,
    unexplained_ns: i64,
    device: Device,
}

#[test]
fn json_has_every_field_and_no_other() {
    let run = scene().run("steps --json t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.version, object.file.as_str(), object.count, object.wall_ns), (1, "t.json", 4, 190_000));
    assert_eq!(object.sources, [Source { source: "ferrum-trace".to_owned(), count: 4 }]);
    assert_eq!((object.tracks, object.nested, object.steps.len(), object.notes.len()), (1, 0, 0, 0));
    assert_eq!(object.losses["count"].as_u64(), Some(0));
    assert_eq!((object.all.count, object.all.unexplained_ns, object.all.phase.is_none()), (4, 20_000, true));
    let decode = &object.groups[1];
    assert_eq!((decode.phase.as_deref(), decode.batch_from, decode.batch_to), (Some("decode"), Some(4), Some(4)));
    assert_eq!((decode.count, decode.total_ns, decode.mean_ns), (3, 90_000, 30_000.0));
    let percentiles = [decode.min_ns, decode.p50_ns, decode.p95_ns, decode.p99_ns, decode.max_ns];
    assert_eq!(percentiles, [20_000, 20_000, 50_000, 50_000, 50_000]);
    assert_eq!((decode.prefill_tokens, decode.decode_tokens, decode.without_tokens), (0, 12, 0));
    assert_eq!((decode.prefill_tokens_per_s, decode.decode_tokens_per_s.round()), (0.0, 133_333.0));
    assert_eq!((decode.coverage * 1000.0).round(), 889.0);
    assert_eq!(decode.device, Device { slices: 0, span_ns: 0, busy_ns: 0, idle_ns: 0 });
    let gap = Gap { after: Some("up".to_owned()), before: None, count: 1, total_ns: 10_000, max_ns: 10_000 };
    assert_eq!((&object.gaps[0], object.idle_gaps.len(), object.attribution.is_none()), (&gap, 0, true));
    assert_eq!((object.device_ops.len(), object.device_other.len(), object.host_ops[0].op.as_str()), (0, 0, "gemm"));
    assert_eq!(object.host_other, [Name { name: "log".to_owned(), count: 1, total_ns: 5_000 }]);
    let [Slow { step, median, excess_ns, host, device, gap }] = &object.slowest[..] else { panic!("{object:?}") };
    assert_eq!((step.number, median.number, *excess_ns, device.len()), (3, 4, 30_000, 0));
    assert_eq!((step.start_ns, step.duration_ns, step.unexplained_ns), (120_000, 50_000, 10_000));
    assert_eq!(
        (step.name.as_str(), step.source.as_str(), step.phase.as_deref()),
        ("decode", "ferrum-trace", Some("decode"))
    );
    assert_eq!((step.batch, step.prefill_tokens, step.context_tokens), (Some(4), Some(0), None));
    let sample = Difference {
        what: "name".to_owned(),
        name: Some("sample".to_owned()),
        here_ns: 25_000,
        median_ns: 0,
        count: 1,
        median_count: 0,
    };
    assert_eq!((&host[0], gap.as_ref().map(|gap| gap.total_ns)), (&sample, Some(8_000)));
    assert_eq!(host.iter().map(|difference| difference.here_ns - difference.median_ns).sum::<i64>(), 30_000);
}
