use crate::maker::{Maker, killed};
use crate::scene::{Run, Scene};
use std::io::Write;
use std::process::{Command, Stdio};

const EVENT: &str = r#"{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}"#;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns the number of slices in the table of a run.
fn n_slices(run: &Run) -> u64 {
    let line = run.stdout.lines().find_map(|line| line.strip_prefix("slices")).unwrap();
    line.trim().split(", ").next().unwrap().replace(',', "").parse().unwrap()
}

#[test]
fn standard_input_may_be_compressed() {
    let scene = Scene::new();
    let trace = format!("[{EVENT},{EVENT}]");
    for (bytes, kind) in [(trace.as_bytes().to_vec(), ""), (gzip(trace.as_bytes()), ", gzip")] {
        let run = scene.run_with_stdin("-", &bytes).expect_code(0);
        assert!(run.stdout.starts_with(&format!("standard input: Chrome trace JSON{kind}\n")), "{}", run.stdout);
        assert_eq!((n_slices(&run), run.stderr.as_str()), (2, ""));
    }
    scene.run_with_stdin("-", b"").expect(
        2,
        "",
        "error: standard input: byte 0: expected a trace: a list of events, or an object with a list `traceEvents`, found nothing\n",
    );
}

#[test]
fn an_unreadable_file_is_reported_and_the_others_are_processed() {
    let scene = Scene::new();
    scene.write("a.json", format!("[{EVENT}]"));
    scene.write("b.json", "<html>no trace</html>");
    scene.write("c.json", format!("[{EVENT},{EVENT}]"));
    let run = scene.run("a.json b.json missing.json c.json").expect_code(2);
    assert!(run.stdout.contains("a.json: ") && run.stdout.contains("\n\nc.json: "), "{}", run.stdout);
    assert_eq!(
        run.stderr,
        "error: b.json: byte 0: expected a trace: JSON that begins with `[` or `{`, found `<html>no trace</html>`\n\
         error: missing.json: no such file, and no `missing.json.spool` either\n"
    );
    let run = scene.run("--json a.json b.json").expect_code(2);
    let objects: Vec<serde_json::Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 2);
    assert!(objects[1]["error"].as_str().unwrap().starts_with("b.json: byte 0: expected"), "{objects:?}");
}

#[test]
fn a_folder_is_refused_and_a_glob_is_not() {
    let scene = Scene::new();
    scene.write("runs/1/t.json", format!("[{EVENT}]"));
    scene.write("runs/2/t.json", format!("[{EVENT}]"));
    let run = scene.run("runs").expect_code(2);
    assert_eq!(
        run.stderr,
        "error: runs: expected a trace, found a folder\n\nhint: name the traces in it: `runs/*.json`\n"
    );
    let run = scene.run("runs/*/*.json").expect_code(0);
    assert_eq!(run.stdout.matches("t.json: Chrome trace JSON\n").count(), 2, "{}", run.stdout);
}

#[test]
fn losses_are_reported_after_the_table() {
    let scene = Scene::new();
    let bad = format!(r#"{{"ph":"X","name":!}},{EVENT},"#);
    scene.write("t.json", format!("[{}{EVENT}]", bad.repeat(25)));
    let run = scene.run("t.json").expect_code(0);
    assert!(run.stdout.contains("\nlosses    25 places, "), "{}", run.stdout);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert!(lines[0].starts_with("t.json: 25 places could not be read, "), "{lines:?}");
    assert!(lines[1].starts_with("  byte 1: "), "{lines:?}");
    assert_eq!(lines[21..], ["  … and 5 more (-v shows them)"]);
    let run = scene.run("-v t.json").expect_code(0);
    assert_eq!(run.stderr.lines().count(), 26);
}

#[test]
fn a_missing_trace_is_recovered_from_its_spool() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 10);
    let run = scene.run("trace.json").expect_code(0);
    assert_eq!(
        run.stderr,
        "trace.json: missing, but its spool exists: recovering trace.json.spool\n\
         trace.json.spool: 20 events of 2 threads recovered to trace.json; none lost\n"
    );
    assert!(run.stdout.starts_with("trace.json: Chrome trace JSON\n"), "{}", run.stdout);
    assert_eq!((n_slices(&run), scene.names()), (20, vec!["trace.json".to_owned()]));
}

#[test]
fn a_spool_is_read_and_kept() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 10);
    let run = scene.run("trace.json.spool").expect_code(0);
    assert!(run.stdout.starts_with("trace.json.spool: ferrum-trace spool\n"), "{}", run.stdout);
    assert_eq!((n_slices(&run), run.stderr.as_str()), (20, ""));
    let run = scene.run_with_stdin("-", &scene.read("trace.json.spool")).expect_code(0);
    assert_eq!(n_slices(&run), 20);
    assert_eq!(scene.names(), ["trace.json.spool"]);
}

#[test]
fn a_trace_whose_process_still_records_is_read_from_its_spool() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "trace.json");
    maker.record(10);
    let run = scene.run("trace.json").expect_code(0);
    assert_eq!(n_slices(&run), 20);
    assert_eq!(run.stderr, "trace.json: its process still records: reading the spool as it is now\n");
    maker.flush();
    maker.record(5);
    let run = scene.run("trace.json").expect_code(0);
    assert_eq!(n_slices(&run), 30, "the trace has 20");
    assert!(run.stderr.contains("reading its spool instead"), "{}", run.stderr);
    maker.exit();
    let run = scene.run("trace.json").expect_code(0);
    assert_eq!((n_slices(&run), run.stderr.as_str()), (30, ""));
}

/// Creates a named pipe.
fn fifo(scene: &Scene, name: &str) {
    assert!(Command::new("mkfifo").arg(scene.path(name)).status().unwrap().success());
}

#[test]
fn a_named_pipe_is_read_to_its_end() {
    let scene = Scene::new();
    fifo(&scene, "pipe");
    let child = scene.command("pipe").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = std::fs::File::options().write(true).open(scene.path("pipe")).unwrap();
    for part in ["[", EVENT, ",", EVENT] {
        pipe.write_all(part.as_bytes()).unwrap();
    }
    drop(pipe);
    let run = Run::of(child.wait_with_output().unwrap()).expect_code(0);
    assert_eq!(n_slices(&run), 2);
}

#[test]
fn a_growing_file_is_read_up_to_its_initial_size() {
    let scene = Scene::new();
    scene.write("t.json", format!("[{}{EVENT}", format!("{EVENT},\n").repeat(20_000)));
    let path = scene.path("t.json");
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::File::options().append(true).open(&path).unwrap();
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                file.write_all(format!(",\n{EVENT}").as_bytes()).unwrap();
            }
        });
        let run = scene.run("t.json");
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        let run = run.expect_code(0);
        assert!(n_slices(&run) >= 20_001, "{}", run.stdout);
    });
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let scene = Scene::new();
    scene.write("t.json", format!("[{EVENT}]"));
    for line in ["t.json", "--json t.json t.json"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let run = Run::of(scene.command(line).stdout(writer).stderr(Stdio::piped()).output().unwrap());
        run.expect(0, "", "");
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let run = Run::of(scene.command("t.json").stdout(full).stderr(Stdio::piped()).output().unwrap());
    run.expect(2, "", "error: standard output: cannot write: No space left on device (os error 28)\n");
}

#[test]
fn colors_follow_the_environment() {
    let scene = Scene::new();
    scene.write("t.json", format!("[{EVENT}]"));
    let stdout = |vars: &[(&str, &str)]| {
        Run::of(scene.command("t.json").envs(vars.iter().copied()).output().unwrap()).expect_code(0).stdout
    };
    assert!(!stdout(&[]).contains('\u{1b}'));
    assert!(stdout(&[("CLICOLOR_FORCE", "1")]).contains("\u{1b}["));
    assert!(!stdout(&[("CLICOLOR", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}

#[test]
fn control_characters_in_names_are_replaced() {
    let scene = Scene::new();
    scene.write("t.json", r#"[{"ph":"X","name":"a\u001b[2Jb\nc","ts":1,"dur":2,"pid":1,"tid":1}]"#);
    let run = scene.run("t.json").expect_code(0);
    assert!(run.stdout.contains("a\u{fffd}[2Jb\u{fffd}c"), "{}", run.stdout);
}
