use crate::maker::Maker;
use crate::scene::Scene;
use serde_json::{Value, json};

/// A limit that is too small for the recording.
const LIMIT: (&str, &str) = ("FERRUM_TRACE_LIMIT", "1MiB");
const LIMIT_BYTES: u64 = 1 << 20;
/// Number of spans on each of two threads.
const SPANS: u32 = 30_000;

/// Records more than fits, and lets the process end normally.
fn record_too_much(scene: &Scene, trace: &str) {
    let mut maker = Maker::start_with(scene, trace, &[LIMIT]);
    maker.record(SPANS);
    maker.exit();
}

fn object(scene: &Scene, line: &str) -> Value {
    let run = scene.run(line);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{line}: {error}: {run:#?}"))
}

/// Returns the number of lost events from `summary --json`: at least those of a whole thread.
#[track_caller]
fn n_lost(scene: &Scene, trace: &str) -> u64 {
    let summary = object(scene, &format!("summary --json {trace}"));
    let dropped = summary["recorder"]["dropped"].as_u64().unwrap_or_else(|| panic!("{trace}: {summary}"));
    assert!(dropped > u64::from(SPANS), "{dropped}");
    dropped
}

fn with_commas(n: u64) -> String {
    assert!((1000..1_000_000).contains(&n));
    format!("{},{:03}", n / 1000, n % 1000)
}

#[test]
fn every_command_reports_losses_of_the_recorder_in_every_format() {
    let scene = Scene::new();
    for trace in ["t.json", "t.json.gz", "t.json.zst", "t.pftrace", "t.spool"] {
        record_too_much(&scene, trace);
        let lost = n_lost(&scene, trace);
        let words = format!("{} events", with_commas(lost));
        let why = "the limit of 1,048,576 bytes was reached (FERRUM_TRACE_LIMIT)";
        for command in ["summary", "steps", "requests", "check", "layers --layer-from tid"] {
            let run = scene.run(&format!("{command} {trace}"));
            let note = format!("the recorder lost {words}: {why} (by thread: ");
            assert!(run.stderr.contains(&note), "{command} {trace}: {run:#?}");
            assert!(!run.stdout.contains("losses    none"), "{command} {trace}: {run:#?}");
            let report = object(&scene, &format!("{} --json {trace}", command));
            assert_eq!(report["recorder"]["dropped"], lost, "{command} {trace}");
            assert!(report["notes"].to_string().contains(&words), "{command} {trace}: {report}");
            let recording = &report["recorder"]["recordings"][0];
            assert_eq!((&recording["stop_reason"], &recording["limit_bytes"]), (&json!("limit"), &json!(LIMIT_BYTES)));
            let by_thread = recording["dropped_by_thread"].as_object().unwrap();
            assert_eq!(by_thread.values().filter_map(Value::as_u64).sum::<u64>(), lost, "{recording}");
        }
        for command in ["summary", "steps", "requests"] {
            let run = scene.run(&format!("{command} {trace}"));
            let line = format!("losses    {words} lost by the recorder: {why}\n");
            assert!(run.stdout.contains(&line), "{command} {trace}: {run:#?}");
        }
    }
}

#[test]
fn converted_traces_keep_the_losses() {
    let scene = Scene::new();
    record_too_much(&scene, "t.json");
    let lost = n_lost(&scene, "t.json");
    let note = format!("the recorder lost {} events", with_commas(lost));
    for (command, output) in [
        ("convert t.json -o c.json", "c.json"),
        ("convert t.json --to chrome-array -o a.json", "a.json"),
        ("convert t.json --as-is --to chrome -o i.json", "i.json"),
        ("convert t.json -o c.pftrace", "c.pftrace"),
        ("convert c.pftrace -o back.json.gz", "back.json.gz"),
        ("repair t.json -o r.json", "r.json"),
        ("convert t.json --to speedscope -o s.json", ""),
        ("convert t.json --to folded -o f.txt", ""),
        ("convert t.json --to csv -o c.csv", ""),
        ("convert t.json --to svg -o c.svg", ""),
        ("convert t.json --to torch -o torch.json", ""),
    ] {
        let run = scene.run(command).expect_code(0);
        assert!(run.stderr.contains(&note), "{command}: {run:#?}");
        let report = object(&scene, &format!("{command} --force --json"));
        assert_eq!(report["recorder"]["dropped"], lost, "{command}");
        if !output.is_empty() {
            assert_eq!(n_lost(&scene, output), lost, "{command}");
        }
    }
    let profile: Value = serde_json::from_slice(&scene.read("s.json")).unwrap();
    assert_eq!(profile["name"], format!("{lost} events lost"));
    assert!(String::from_utf8(scene.read("c.svg")).unwrap().contains(&format!("{lost} events lost")));
}

#[test]
fn a_merged_trace_has_the_losses_of_each_process() {
    let scene = Scene::new();
    record_too_much(&scene, "a.json");
    record_too_much(&scene, "b.pftrace");
    let mut whole = Maker::start(&scene, "c.json");
    whole.record(10);
    whole.exit();
    let lost = [n_lost(&scene, "a.json"), n_lost(&scene, "b.pftrace")];
    for output in ["all.json", "all.pftrace"] {
        let command = format!("merge a.json b.pftrace c.json -o {output}");
        let run = scene.run(&command).expect_code(0);
        for (input, lost) in ["a.json", "b.pftrace"].iter().zip(lost) {
            let note = format!("{input}: the recorder lost {} events", with_commas(lost));
            assert!(run.stderr.contains(&note), "{run:#?}");
        }
        let report = object(&scene, &format!("{command} --force --json"));
        let inputs = report["inputs"].as_array().unwrap();
        let all: u64 = inputs.iter().filter_map(|input| input["recorder"]["dropped"].as_u64()).sum();
        assert_eq!(all, lost.iter().sum::<u64>());
        assert_eq!(n_lost(&scene, output), all, "{output}");
        let recorder = &object(&scene, &format!("summary --json {output}"))["recorder"];
        let recordings = recorder["recordings"].as_array().unwrap();
        let mut found: Vec<u64> = recordings.iter().filter_map(|it| it["dropped"].as_u64()).collect();
        found.sort_unstable();
        let mut expected = vec![0, lost[0], lost[1]];
        expected.sort_unstable();
        assert_eq!(found, expected, "{output}: {recorder}");
        let run = scene.run(&format!("summary {output}"));
        assert!(run.stdout.contains(&format!("losses    {} events lost", with_commas(all))), "{run:#?}");
        assert_eq!(run.stderr.matches(": process ").count(), 2, "a note for each process that lost events: {run:#?}");
    }
}

#[test]
fn recover_reports_losses_by_thread_and_overwritten_chunks() {
    let scene = Scene::new();
    let mut maker = Maker::start_with(&scene, "t.json", &[LIMIT]);
    maker.record(SPANS);
    maker.kill();
    let report = object(&scene, "recover --json --keep t.json.spool");
    let (dropped, by_thread) = (report["dropped"].as_u64().unwrap(), &report["recorder"]["dropped_by_thread"]);
    assert!(dropped > u64::from(SPANS));
    assert_eq!(by_thread.as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(), dropped);
    let run = scene.run("recover --force t.json.spool").expect_code(0);
    assert!(run.stderr.contains("(by thread: "), "{run:#?}");
    assert_eq!(n_lost(&scene, "t.json"), dropped);

    let mut maker = Maker::start_with(&scene, "ring.json", &[("FERRUM_TRACE_RING", "256KiB")]);
    maker.record(SPANS);
    maker.kill();
    let run = scene.run("recover ring.json.spool").expect_code(0);
    assert!(run.stderr.contains(" older chunks of the ring overwritten\n"), "{run:#?}");
    assert!(!run.stderr.contains("none lost"), "{run:#?}");
    let run = scene.run("summary ring.json").expect_code(0);
    assert!(run.stdout.contains(" older chunks of the ring overwritten\n"), "{run:#?}");
    let summary = object(&scene, "summary --json ring.json");
    assert!(summary["recorder"]["overwritten_chunks"].as_u64().unwrap() > 0, "{summary}");
}

#[test]
fn recordings_without_losses_and_other_traces_have_none() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "t.json");
    maker.record(10);
    maker.exit();
    scene.write("other.json", r#"[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]"#);
    for (trace, dropped) in [("t.json", json!(0)), ("other.json", Value::Null)] {
        let run = scene.run(&format!("summary {trace}")).expect_code(0);
        assert!(run.stdout.contains("losses    none\n"), "{run:#?}");
        assert_eq!(run.stderr, "");
        assert_eq!(object(&scene, &format!("summary --json {trace}"))["recorder"]["dropped"], dropped);
    }
}
