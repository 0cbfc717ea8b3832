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

#[test]
fn steps_are_grouped_by_phase_and_batch_and_explained() {
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
    let run = Run::of(Scene::with("t.json", TRACE).command("steps t.json").env("COLUMNS", "130").output().unwrap());
    run.expect(0, expected, "");
}

#[test]
fn steps_are_selected_by_phase_and_filter_and_listed_with_each() {
    let scene = Scene::with("t.json", TRACE);
    let run = scene.run("steps --phase decode --slowest 0 --each --filter time=..150us t.json").expect_code(0);
    assert!(run.stdout.starts_with("t.json: 2 steps on 1 track in 70.00 µs"), "{}", run.stdout);
    let rows: Vec<Vec<&str>> = run.stdout.lines().rev().take(2).map(|line| line.split_whitespace().collect()).collect();
    let expected =
        ["2", "decode", "120.0", "µs", "4", "0", "4", "-", "50.00", "µs", "10.00", "µs", "80.0", "0", "ns", "-"];
    assert_eq!(rows[0], expected);
    assert_eq!(rows[1][..2], ["1", "decode"]);
    let words = "t.json: no steps of phase `mixed`: the file has 1 prefill step, 3 decode steps\n";
    scene.run("steps --phase mixed t.json").expect(1, "", words);
    let words = "t.json: no steps of phase `mixed` or `prefill`: --filter and --within leave 1 decode step\n";
    scene.run("steps --phase mixed,prefill --filter time=110us..150us t.json").expect(1, "", words);
    let words = "t.json: no steps that --filter and --within leave: the file has 1 prefill step, 3 decode steps\n";
    scene.run("steps --filter name=x t.json").expect(1, "", words);
    scene.run("steps --phase other t.json").expect_code(2);
}

#[test]
fn the_contents_of_a_trace_without_steps_are_reported() {
    let scene = Scene::new();
    scene.write("t.json", r#"[{"ph":"X","name":"decode","cat":"op","ts":1,"dur":2,"pid":1,"tid":1},{"ph":"b","id":1,"cat":"task","name":"t","ts":1,"pid":1,"tid":1}]"#);
    scene.write("empty.json", "[]");
    let run = scene.run("steps t.json").expect_code(1);
    assert!(
        run.stderr.starts_with("t.json: no steps: looked for slices of category `step`, marks of vLLM "),
        "{run:?}"
    );
    let has = "; the file has 1 slice (1 `op`) and 1 async event (1 `task`)\n";
    assert!(run.stderr.ends_with(has) && run.stderr.lines().count() == 1, "{run:?}");
    assert_eq!(run.stdout, "");
    let run = scene.run("steps empty.json").expect_code(1);
    assert!(run.stderr.ends_with("; the file has no slices and no async events\n"), "{run:?}");
    let run = scene.run("steps --json t.json").expect_code(1);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.count, object.groups.len()), (0, 0));
    assert_eq!(run.stderr, format!("t.json: {}\n", object.notes[0]));
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
        "tokens    0 of prompts, 2 generated; 0 and 50,000 per second of wall time, 0 and 83,333 per second of device time",
        "who works  batch  steps      mean      host    device  both   neither",
        "decode         2      1  40.00 µs  10.00 µs  24.00 µs  0 ns  6.000 µs",
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
    let Attribution { by_launch, by_operation, by_flow, by_annotation, by_time, outside, outside_ns } = attribution;
    assert_eq!((by_launch, by_operation, by_flow, by_annotation, by_time), (2, 0, 0, 0, 0));
    assert_eq!((outside, outside_ns), (1, 1000));
    let ops: Vec<_> = object.device_ops.iter().map(|op| (op.op.as_str(), op.count, op.total_ns)).collect();
    assert_eq!(ops, [("gemm", 1, 20_000), ("other", 1, 4_000)]);
    assert_eq!(object.steps[0].device, Device { slices: 2, span_ns: 28_000, busy_ns: 24_000, idle_ns: 4_000 });
    assert_eq!((object.steps[0].source.as_str(), object.steps[0].decode_tokens), ("vLLM", Some(2)));
    let step = &object.steps[0];
    assert_eq!((step.duration_ns, step.mark_ns, step.result_ns), (40_000, 10_000, 40_000));
    assert_eq!([step.host_ns, step.device_ns, step.both_ns, step.neither_ns], [10_000, 24_000, 0, 6_000]);
    assert_eq!((step.incomplete, step.unanswered_launches), (false, 0));
    let all = &object.all;
    assert_eq!([all.host_ns, all.device_ns, all.both_ns, all.neither_ns], [10_000, 24_000, 0, 6_000]);
    assert_eq!((all.decode_tokens_per_s, all.prefill_tokens_per_device_s), (Some(50_000.0), Some(0.0)));
    assert_eq!(all.decode_tokens_per_device_s.map(f64::round), Some(83_333.0));
    let run = scene.run("steps --each --slowest 0 vllm.json").expect_code(0);
    let cells: Vec<&str> =
        run.stdout.lines().last().unwrap().split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
    assert_eq!(cells[cells.len() - 5..], ["10.00 µs", "24.00 µs", "0 ns", "6.000 µs", "85.7"]);
}

/// Steps of 2 µs on the host, whose kernels run 10 µs later while the host continues.
fn pipelined(n_steps: u32, n_with_kernels: u32) -> String {
    let mut events = Vec::new();
    for n in 0..n_steps {
        let (start, name) = (n * 10, "execute_context_0(0)_generation_4(4)");
        events.push(format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"{name}","pid":9,"tid":9,"ts":{start},"dur":2}}"#
        ));
        let launch = start + 1;
        events.push(format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":9,"tid":9,"ts":{launch},"dur":1,"args":{{"correlation":{n}}}}}"#
        ));
        let kernel = start + 10;
        events.extend((n < n_with_kernels).then(|| {
            format!(r#"{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{kernel},"dur":10,"args":{{"correlation":{n}}}}}"#)
        }));
    }
    format!("[{}]", events.join(","))
}

#[test]
fn steps_that_overlap_are_not_counted_twice() {
    let scene = Scene::new();
    scene.write("t.json", pipelined(10, 10));
    let run = scene.run("steps --json --each t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    // The first result comes after 20 µs, the others every 10 µs.
    assert_eq!((object.wall_ns, object.all.total_ns, object.all.result_ns), (110_000, 200_000, 110_000));
    assert_eq!(object.all.decode_tokens_per_s.map(f64::round), Some(363_636.0));
    assert!(object.steps.iter().all(|step| step.duration_ns == 20_000 && step.neither_ns == 8_000));
}

#[test]
fn work_on_devices_that_is_not_in_the_file_gives_no_rate() {
    let scene = Scene::new();
    scene.write("cut.json", pipelined(10, 8));
    scene.write("none.json", pipelined(3, 0));
    let run = scene.run("steps cut.json").expect_code(0);
    let words = "work on devices for 2 of 10 steps is not in the file (2 launches without a kernel): their durations are too \
                 short, and they are in no rate";
    assert_eq!(run.stderr, format!("cut.json: {words}\n"));
    // 32 tokens in 90 µs.
    let tokens = "40 generated; 0 and 355,556 per second of wall time, 0 and 400,000 per second of device time, of the 8 steps that \
                  are complete\n";
    assert!(run.stdout.contains(tokens), "{}", run.stdout);
    let object: Object = serde_json::from_str(&scene.run("steps --json --each cut.json").stdout).unwrap();
    assert_eq!((object.all.incomplete, object.all.result_ns, object.notes[0].as_str()), (2, 90_000, words));
    let last = &object.steps[9];
    assert_eq!((last.incomplete, last.unanswered_launches, last.result_ns), (true, 1, 0));
    let run = scene.run("steps none.json").expect_code(0);
    assert!(run.stdout.contains("12 generated; no rate, since work on devices is not in the file\n"), "{}", run.stdout);
    let row: Vec<&str> =
        run.stdout.lines().find(|line| line.starts_with("decode")).unwrap().split_whitespace().collect();
    assert_eq!(row[row.len() - 4..row.len() - 2], ["-", "-"], "{}", run.stdout);
    let words = "work on devices for the steps is not in the file (3 launches without a kernel): durations are too short, and there \
                 is no rate";
    assert_eq!(run.stderr, format!("none.json: {words}\n"));
    let object: Object = serde_json::from_str(&scene.run("steps --json none.json").stdout).unwrap();
    assert_eq!((object.all.decode_tokens_per_s, object.groups[0].prefill_tokens_per_s), (None, None));
    let marks = pipelined(3, 0).replace("cuda_runtime", "python_function");
    scene.write("named.json", format!(r#"{{"deviceProperties":[{{"id":0}}],"traceEvents":{marks}}}"#));
    let run = scene.run("steps named.json").expect_code(0);
    let words = "work on devices for the steps is not in the file: durations are too short, and there is no rate";
    assert_eq!(run.stderr, format!("named.json: {words}\n"));
}

#[test]
fn steps_on_several_tracks_get_a_note() {
    let scene = Scene::new();
    let step = |tid: u32| {
        format!(
            r#"{{"ph":"X","name":"decode","cat":"step","ts":1,"dur":5,"pid":1,"tid":{tid},"args":{{"decode_tokens":1}}}}"#
        )
    };
    scene.write("t.json", format!("[{},{}]", step(1), step(2)));
    let run = scene.run("steps t.json").expect_code(0);
    assert!(run.stdout.starts_with("t.json: 2 steps on 2 tracks"), "{}", run.stdout);
    let note = "t.json: steps are on 2 tracks, and tokens are counted on each; select one with `--filter track=ID`\n";
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
    unfinished: u64,
    wall_ns: i64,
    all: Group,
    by: Vec<String>,
    groups: Vec<Group>,
    gaps: Vec<Gap>,
    idle_gaps: Vec<Gap>,
    attribution: Option<Attribution>,
    device_ops: Vec<Op>,
    device_other: Vec<Name>,
    host_ops: Vec<Op>,
    host_other: Vec<Name>,
    layers: Vec<serde_json::Value>,
    slowest: Vec<Slow>,
    steps: Vec<Step>,
    losses: serde_json::Value,
    recorder: Option<serde_json::Value>,
    trigger: Option<serde_json::Value>,
    instants: Vec<serde_json::Value>,
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
    incomplete: u64,
    result_ns: i64,
    prefill_tokens_per_s: Option<f64>,
    decode_tokens_per_s: Option<f64>,
    prefill_tokens_per_device_s: Option<f64>,
    decode_tokens_per_device_s: Option<f64>,
    host_ns: i64,
    device_ns: i64,
    both_ns: i64,
    neither_ns: i64,
    mark_ns: i64,
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
    by_operation: u64,
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
    host_ns: i64,
    device_ns: i64,
    both_ns: i64,
    neither_ns: i64,
    mark_ns: i64,
    unexplained_ns: i64,
    incomplete: bool,
    unanswered_launches: u32,
    result_ns: i64,
    device: Device,
}

#[test]
fn json_has_every_field_and_no_other() {
    let run = Scene::with("t.json", TRACE).run("steps --json t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.by.join(","), object.layers.len()), ("phase,batch".to_owned(), 0));
    assert_eq!((object.version, object.file.as_str(), object.count, object.wall_ns), (1, "t.json", 4, 190_000));
    assert_eq!(object.sources, [Source { source: "ferrum-trace".to_owned(), count: 4 }]);
    assert_eq!((object.tracks, object.nested, object.steps.len(), object.notes.len()), (1, 0, 0, 0));
    assert_eq!(object.losses["count"].as_u64(), Some(0));
    assert!(object.recorder.is_none() && object.trigger.is_none() && object.instants.is_empty());
    assert_eq!((object.all.count, object.all.unexplained_ns, object.all.phase.is_none()), (4, 20_000, true));
    let decode = &object.groups[1];
    assert_eq!((decode.phase.as_deref(), decode.batch_from, decode.batch_to), (Some("decode"), Some(4), Some(4)));
    assert_eq!((decode.count, decode.total_ns, decode.mean_ns), (3, 90_000, 30_000.0));
    let percentiles = [decode.min_ns, decode.p50_ns, decode.p95_ns, decode.p99_ns, decode.max_ns];
    assert_eq!(percentiles, [20_000, 20_000, 50_000, 50_000, 50_000]);
    assert_eq!((decode.prefill_tokens, decode.decode_tokens, decode.without_tokens), (0, 12, 0));
    assert_eq!((decode.prefill_tokens_per_s, decode.decode_tokens_per_s.map(f64::round)), (Some(0.0), Some(133_333.0)));
    assert_eq!((decode.incomplete, decode.result_ns, decode.mark_ns), (0, 90_000, 90_000));
    assert_eq!([decode.host_ns, decode.device_ns, decode.both_ns, decode.neither_ns], [90_000, 0, 0, 0]);
    assert_eq!((decode.prefill_tokens_per_device_s, decode.decode_tokens_per_device_s), (None, None));
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

#[test]
fn a_step_that_had_not_ended_is_in_no_figure() {
    let scene = Scene::new();
    let step = |ts: u64, args: &str| {
        format!(
            r#"{{"ph":"X","cat":"step","name":"decode","pid":1,"tid":1,"ts":{ts},"dur":10,"args":{{"phase":"decode","batch":2{args}}}}}"#
        )
    };
    scene.write("t.json", format!("[{},{}]", step(0, ""), step(20, r#","unclosed":true"#)));
    let run = scene.run("steps --json t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.count, object.unfinished), (1, 1));
    assert_eq!(object.notes, ["1 step had not ended when the trace was written: in no figure"]);
    scene.write("open.json", format!("[{}]", step(0, r#","unclosed":true"#)));
    scene.run("steps open.json").expect_code(1);
}
