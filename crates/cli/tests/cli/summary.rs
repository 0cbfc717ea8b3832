use crate::scene::{Run, Scene};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Two threads, three names, two categories; `decode` has two nested `attn`.
const TRACE: &str = r#"[
{"ph":"M","name":"process_name","pid":7,"args":{"name":"engine"}},
{"ph":"M","name":"thread_name","pid":7,"tid":1,"args":{"name":"worker"}},
{"ph":"X","name":"decode","cat":"step","ts":0,"dur":100,"pid":7,"tid":1},
{"ph":"X","name":"attn","cat":"op","ts":10,"dur":20,"pid":7,"tid":1},
{"ph":"X","name":"attn","cat":"op","ts":40,"dur":40,"pid":7,"tid":1},
{"ph":"X","name":"load","cat":"io","ts":1000,"dur":1000,"pid":7,"tid":2},
{"ph":"B","name":"open","ts":1500,"pid":7,"tid":2},
{"ph":"i","name":"mark","ts":5,"pid":7,"tid":1}
]"#;

/// Returns the rows of the table, without its title.
fn rows(stdout: &str) -> Vec<&str> {
    let (_, table) = stdout.split_once("\n\n").unwrap();
    table.lines().skip(1).collect()
}

#[test]
fn a_file_without_a_command_is_summarized() {
    let expected = "\
t.json: Chrome trace JSON
span      2.000 ms
tracks    2 in 1 process
events    8: 4 X, 2 M, 1 B, 1 i
slices    4, 1 B without an E
instants  1: 1 mark
losses    none

name    count     total      self  % wall      mean       p50       p95       p99       max
load        1  1.000 ms  1.000 ms    50.0  1.000 ms  1.000 ms  1.000 ms  1.000 ms  1.000 ms
attn        2  60.00 µs  60.00 µs     3.0  30.00 µs  20.00 µs  40.00 µs  40.00 µs  40.00 µs
decode      1  100.0 µs  40.00 µs     2.0  100.0 µs  100.0 µs  100.0 µs  100.0 µs  100.0 µs
";
    let scene = Scene::with("t.json", TRACE);
    for line in ["t.json", "summary t.json", "--top 30 t.json"] {
        scene.run(line).expect(0, expected, "");
    }
}

#[test]
fn the_rows_beyond_top_are_summed_in_one_line() {
    let run = Scene::with("t.json", TRACE).run("--top 1 --sort total t.json").expect_code(0);
    let rows = rows(&run.stdout);
    assert!(rows[0].starts_with("load "), "{rows:?}");
    assert_eq!(rows[1..], ["… 2 more: 3 slices, total 160.0 µs, self 100.0 µs"]);
    let run = Scene::with("t.json", TRACE).run("--top 0 t.json").expect_code(0);
    assert_eq!(run.stdout.lines().count(), 12);
}

#[test]
fn rows_are_sorted_by_any_column() {
    let scene = Scene::with("t.json", TRACE);
    let first_of = |sort: &str| {
        let run = scene.run(&format!("--sort {sort} t.json")).expect_code(0);
        rows(&run.stdout)[0].split_whitespace().next().unwrap().to_owned()
    };
    let firsts = ["total", "self", "count", "mean", "max", "p99", "name"].map(first_of);
    assert_eq!(firsts, ["load", "load", "attn", "load", "load", "load", "attn"]);
}

#[test]
fn slices_are_grouped_by_any_keys() {
    let scene = Scene::with("t.json", TRACE);
    let labels = |by: &str, n_columns: usize| {
        let run = scene.run(&format!("--by {by} --sort name t.json")).expect_code(0);
        let label = |row: &str| {
            let cells = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
            cells.take(n_columns).collect::<Vec<_>>().join("|")
        };
        rows(&run.stdout).iter().map(|row| label(row)).collect::<Vec<_>>()
    };
    assert_eq!(labels("cat", 1), ["io", "op", "step"]);
    assert_eq!(labels("track", 1), ["worker (1)", "thread 2"]);
    assert_eq!(labels("process", 1), ["engine (7)"]);
    assert_eq!(labels("name,cat", 2), ["attn|op", "decode|step", "load|io"]);
}

#[test]
fn slices_are_selected_by_filter_and_within() {
    let scene = Scene::with("t.json", TRACE);
    let names = |flags: &str| {
        let run = scene.run(&format!("--sort name {flags} t.json")).expect_code(0);
        rows(&run.stdout).iter().map(|row| row.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("--filter name=*d*"), ["decode", "load"]);
    assert_eq!(names("--filter cat=op"), ["attn"]);
    assert_eq!(names("--filter cat=op --filter cat=io"), ["attn", "load"]);
    assert_eq!(names("--filter track=worker"), ["attn", "decode"]);
    assert_eq!(names("--filter process=engine --filter time=30us..1ms"), ["attn"]);
    assert_eq!(names("--within dec*"), ["attn"]);
    let run = scene.run("--filter name=nothing t.json").expect_code(1);
    assert!(run.stdout.contains("slices    4, 0 selected"), "{}", run.stdout);
    assert!(run.stdout.ends_with("\n\nno slice or async operation matches the flags\n"), "{}", run.stdout);
}

#[test]
fn filters_that_match_nothing_exit_with_1_and_suggest_others() {
    let scene = Scene::with("t.json", TRACE);
    let message = |flags: &str| scene.run(&format!("{flags} t.json")).expect_code(1).stderr;
    let nothing = "t.json: no slice or async operation matches";
    assert_eq!(
        message("--filter name=atn"),
        format!("{nothing} `--filter 'name=atn'`\n\nhint: did you mean `--filter 'name=attn'`?\n")
    );
    assert_eq!(
        message("--filter name=op"),
        format!("{nothing} `--filter 'name=op'`\n\nhint: did you mean `--filter 'cat=op'`?\n")
    );
    assert_eq!(
        message("--within Deco* --filter cat=op"),
        format!("{nothing} `--within 'Deco*'`\n\nhint: did you mean `--within 'decode'`?\n")
    );
    assert_eq!(message("--filter process=nobody"), format!("{nothing} `--filter 'process=nobody'`\n"));
    assert_eq!(
        message("--within load"),
        "t.json: `--within 'load'` names 1 slice, but no slice or async operation lies inside\n"
    );
    assert_eq!(
        message("--filter cat=op --filter track=2"),
        "t.json: of the 2 slices and async operations that match `--filter 'cat=op'`, none matches `--filter 'track=2'`\n"
    );
    assert_eq!(
        message("--filter time=3ms..4ms"),
        "t.json: no slice or async operation begins in `--filter 'time=3ms..4ms'`; the trace is 2.000 ms long\n"
    );
    let run = scene.run("--json --filter name=atn t.json").expect_code(1);
    assert!(run.stderr.contains("did you mean"), "{}", run.stderr);
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(object["selected"], 0);
}

#[test]
fn a_trace_without_slices_is_not_a_finding() {
    let scene = Scene::new();
    scene.write("t.json", "[]");
    scene.run("t.json").expect_code(0);
    scene.run("--filter name=a t.json").expect_code(1);
}

#[test]
fn invalid_flags_are_refused() {
    let scene = Scene::with("t.json", TRACE);
    for flags in ["--by color", "--sort p42", "--filter name", "--filter time=1..2", "--filter color=red", "--top many"]
    {
        let run = scene.run(&format!("summary {flags} t.json")).expect_code(2);
        assert_eq!(run.stdout, "");
        assert!(run.stderr.starts_with("error: invalid value"), "{}", run.stderr);
    }
}

#[test]
fn narrow_terminals_get_narrow_tables() {
    let long = "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl>(int)";
    let scene = Scene::new();
    scene.write("t.json", format!(r#"[{{"ph":"X","name":"{long}","ts":0,"dur":100,"pid":1,"tid":1}}]"#));
    let table = |columns: usize| {
        let run = Run::of(scene.command("t.json").env("COLUMNS", columns.to_string()).output().unwrap()).expect_code(0);
        let (_, table) = run.stdout.split_once("\n\n").unwrap();
        let fits = |line: &str| line.chars().count() <= columns || line.starts_with("hidden at this width: ");
        assert!(table.lines().all(fits), "{columns}:\n{table}");
        table.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let titles = |columns| table(columns)[0].split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let last = |columns| table(columns).last().unwrap().clone();
    assert!(table(250)[1].starts_with(long));
    assert_eq!(titles(250), "name count total self % wall mean p50 p95 p99 max");
    assert_eq!(titles(100), "name count total self % wall mean p50 p95 max");
    assert_eq!(titles(60), "name count total self % wall");
    assert_eq!(titles(42), "name total self");
    assert!(table(42)[1].starts_with("void at::na…impl>(int)  "), "{:?}", table(42));
    assert_eq!(last(100), "hidden at this width: p99; use --wide");
    assert_eq!(last(80), "hidden at this width: p50, p95, p99; use --wide");
}

#[test]
fn names_are_full_in_pipes_and_with_wide() {
    let names =
        ["gemm<128, 64, float>", "gemm<128, 64, half>"].map(|name| format!("{}::{name}(int)", "detail".repeat(40)));
    let events = names.clone().map(|name| format!(r#"{{"ph":"X","name":"{name}","ts":0,"dur":100,"pid":1,"tid":1}}"#));
    let scene = Scene::new();
    scene.write("t.json", format!("[{}]", events.join(",")));
    let assert_full = |run: Run| {
        let run = run.expect_code(0);
        for name in &names {
            assert!(run.stdout.contains(name.as_str()), "{}", run.stdout);
        }
        assert!(run.stdout.contains("  p99  "), "{}", run.stdout);
    };
    assert_full(scene.run("t.json"));
    assert_full(Run::of(scene.command("t.json --wide").env("COLUMNS", "80").output().unwrap()));
    assert_full(Run::of(scene.command("--wide t.json").env("COLUMNS", "80").output().unwrap()));
}

#[test]
fn the_share_of_wall_time_is_that_of_the_selected_range() {
    let scene = Scene::with("t.json", TRACE);
    let share = |flags: &str| {
        let run = scene.run(&format!("--json --by name,cat {flags} t.json")).expect_code(0);
        let object: Object = serde_json::from_str(&run.stdout).unwrap();
        (object.wall_ns, object.rows.iter().find(|row| row.name == "attn").unwrap().share_of_wall)
    };
    assert_eq!(share(""), (2_000_000, 0.03));
    assert_eq!(share("--filter time=..80us"), (80_000, 0.75));
    assert_eq!(share("--filter time=10us..130us"), (120_000, 0.5));
    assert_eq!(share("--filter time=0s..9s").0, 2_000_000);
    assert_eq!(share("--filter name=attn"), (2_000_000, 0.03));
}

#[test]
fn several_files_have_a_table_each() {
    let scene = Scene::with("t.json", TRACE);
    scene.write("u.json", "[]");
    let run = scene.run("t.json u.json").expect_code(0);
    let empty = "\n\nu.json: Chrome trace JSON\nspan      0 ns\ntracks    0 in 0 processes\nevents    none\nslices    0\n\
                 losses    none\n\nno slices\n";
    assert!(run.stdout.ends_with(empty), "{}", run.stdout);
}

#[test]
fn devices_flows_and_requests_are_in_the_overview() {
    let scene = Scene::new();
    scene.write(
        "t.json",
        r#"[{"ph":"X","cat":"kernel","name":"gemm","ts":0,"dur":60,"pid":0,"tid":7},
        {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","ts":40,"dur":40,"pid":0,"tid":8},
        {"ph":"X","cat":"gpu_memcpy","name":"Memcpy","ts":90,"dur":10,"pid":0,"tid":7},
        {"ph":"s","cat":"f","name":"f","id":1,"ts":1,"pid":0,"tid":7},{"ph":"f","cat":"f","name":"f","id":1,"ts":2,"pid":0,"tid":7},
        {"ph":"s","cat":"f","name":"f","id":2,"ts":1,"pid":0,"tid":7},
        {"ph":"b","cat":"r","name":"r","id":1,"ts":1,"pid":0,"tid":7},{"ph":"e","cat":"r","name":"r","id":1,"ts":2,"pid":0,"tid":7}]"#,
    );
    let run = scene.run("t.json").expect_code(0);
    let expected = "async     1\n\
                    flows     2, 1 incomplete\n\
                    device    process 0: busy 90.00 µs (90.0 %), idle 10.00 µs (10.0 %), comm 40.00 µs of which 20.00 µs \
                    overlap with compute and 20.00 µs are exposed\n";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    version: u32,
    file: String,
    kind: String,
    containers: Vec<String>,
    span_ns: i64,
    wall_ns: i64,
    processes: u64,
    tracks: u64,
    events: u64,
    phases: BTreeMap<String, u64>,
    slices: u64,
    selected: u64,
    partial_overlaps: u64,
    anomalies: BTreeMap<String, u64>,
    losses: Losses,
    recorder: Option<serde_json::Value>,
    trigger: Option<serde_json::Value>,
    instants: Vec<serde_json::Value>,
    notes: Vec<String>,
    devices: Vec<serde_json::Value>,
    asyncs: BTreeMap<String, u64>,
    flows: BTreeMap<String, u64>,
    by: Vec<String>,
    sort: String,
    rows: Vec<Row>,
    rest: BTreeMap<String, i64>,
    all: BTreeMap<String, i64>,
    async_rows: Vec<serde_json::Value>,
    async_rest: BTreeMap<String, i64>,
    async_all: BTreeMap<String, i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Losses {
    count: u64,
    bytes: u64,
    first: Vec<Loss>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Loss {
    offset: u64,
    bytes: u64,
    reason: String,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    cat: String,
    count: u64,
    total_ns: i64,
    self_ns: i64,
    share_of_wall: f64,
    mean_ns: f64,
    min_ns: i64,
    p50_ns: i64,
    p95_ns: i64,
    p99_ns: i64,
    max_ns: i64,
}

#[test]
fn json_has_every_field_and_no_other() {
    let scene = Scene::with("t.json", TRACE);
    let run = scene.run("--json --by name,cat --top 2 t.json").expect_code(0);
    let object: Object = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((object.version, object.file.as_str(), object.kind.as_str()), (1, "t.json", "Chrome trace JSON"));
    assert_eq!((object.span_ns, object.processes, object.tracks, object.events), (2_000_000, 1, 2, 8));
    assert_eq!(object.phases, BTreeMap::from([("X", 4), ("M", 2), ("B", 1), ("i", 1)].map(|(key, n)| (key.into(), n))));
    assert_eq!((object.slices, object.selected, object.partial_overlaps), (4, 4, 0));
    assert_eq!((object.anomalies["unclosed"], object.asyncs["groups"], object.flows["groups"]), (1, 0, 0));
    assert_eq!((object.losses.count, object.losses.bytes, object.losses.first.len()), (0, 0, 0));
    assert!(object.containers.is_empty() && object.notes.is_empty() && object.devices.is_empty());
    assert!(object.recorder.is_none() && object.trigger.is_none());
    let instant = serde_json::json!({"name": "mark", "cat": "", "count": 1, "first_ns": 5000, "last_ns": 5000});
    assert_eq!(object.instants, [instant]);
    assert_eq!((object.by, object.sort.as_str()), (vec!["name".to_owned(), "cat".to_owned()], "self"));
    let attn = Row {
        name: "attn".into(),
        cat: "op".into(),
        count: 2,
        total_ns: 60_000,
        self_ns: 60_000,
        share_of_wall: 0.03,
        mean_ns: 30_000.0,
        min_ns: 20_000,
        p50_ns: 20_000,
        p95_ns: 40_000,
        p99_ns: 40_000,
        max_ns: 40_000,
    };
    assert_eq!(object.rows[1], attn);
    assert_eq!((object.rest["rows"], object.rest["self_ns"], object.all["total_ns"]), (1, 40_000, 1_160_000));
    assert!(object.all.contains_key("count"));
    assert!(object.async_rows.is_empty());
    assert_eq!((object.async_rest["rows"], object.async_all["count"]), (0, 0));
}

#[test]
fn the_json_has_losses_with_their_places() {
    let scene = Scene::new();
    scene.write(
        "t.json",
        "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":0,\"dur\":1}, {\"ph\":\"X\", !!, {\"ph\":\"i\",\"ts\":1}]",
    );
    let run = scene.run("--json t.json").expect_code(0);
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let losses: Losses = serde_json::from_value(object["losses"].clone()).unwrap();
    assert_eq!((losses.count, losses.first.len()), (1, 1));
    let Loss { offset, bytes, reason } = &losses.first[0];
    assert_eq!((*offset, *bytes), (39, losses.bytes));
    assert!(!reason.is_empty());
}
