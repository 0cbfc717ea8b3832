use crate::maker::{killed, spool_of_killed_process};
use crate::scene::{Run, Scene};
use ferrum_trace_testkit::trace_file::TraceFile;
use std::process::Stdio;

fn n_events(json: &str) -> usize {
    TraceFile::parse(json.as_bytes()).unwrap().recorded().count()
}

#[test]
fn a_dash_for_the_output_is_standard_output_and_keeps_the_spool() {
    let scene = spool_of_killed_process(10);
    let run = scene.run("recover -o - trace.json.spool").expect_code(0);
    assert_eq!(n_events(&run.stdout), 20);
    assert_eq!(run.stderr, "trace.json.spool: 20 events of 2 threads recovered to standard output; none lost\n");
    assert_eq!(scene.names(), ["trace.json.spool"]);
}

#[test]
fn a_dash_for_the_input_is_standard_input() {
    let scene = spool_of_killed_process(10);
    let spool = scene.read("trace.json.spool");
    let run = scene.run_with_stdin("recover -", &spool).expect_code(0);
    assert_eq!(n_events(&run.stdout), 20);
    assert_eq!(run.stderr, "standard input: 20 events of 2 threads recovered to standard output; none lost\n");
    scene.run_with_stdin("recover -o trace.json -", &spool).expect(
        0,
        "",
        "standard input: 20 events of 2 threads recovered to trace.json; none lost\n",
    );
    assert_eq!(scene.n_events("trace.json"), 20);
}

#[test]
fn a_named_pipe_is_read_like_standard_input() {
    let scene = spool_of_killed_process(10);
    let spool = scene.read("trace.json.spool");
    let run = scene.run_with_stdin("recover -o trace.json /dev/stdin", &spool).expect_code(0);
    assert_eq!(run.stderr, "/dev/stdin: 20 events of 2 threads recovered to trace.json; none lost\n");
    assert_eq!(scene.n_events("trace.json"), 20);
}

#[test]
fn nothing_or_something_else_on_standard_input_is_refused() {
    let scene = Scene::new();
    scene.run_with_stdin("recover -", b"").expect(
        2,
        "",
        "error: standard input: expected a spool, found an empty file\n\n\
         hint: its process ended before it began to record\n",
    );
    scene.run_with_stdin("recover -", b"[{\"name\":\"a\"}]").expect(
        2,
        "",
        "error: standard input: byte 0: expected a spool, which begins with `FERRUMSP`, found `[{\\\"name\\\"`\n\n\
         hint: this looks like a finished trace, which needs no recovery\n",
    );
    assert_eq!(scene.names(), [""; 0]);
}

#[test]
fn an_endless_stream_that_is_not_a_spool_is_refused() {
    let scene = Scene::new();
    scene.run("recover -o x.json /dev/zero").expect(
        2,
        "",
        "error: /dev/zero: byte 0: expected a spool, which begins with `FERRUMSP`, found nothing, or zeros\n",
    );
}

/// Returns a pipe whose reader is closed.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_closed_pipe_is_success() {
    let scene = spool_of_killed_process(1000);
    let run = |line: &str| Run::of(scene.command(line).stdout(closed_pipe()).stderr(Stdio::piped()).output().unwrap());
    run("recover -o - trace.json.spool").expect(0, "", "");
    run("recover -h").expect(0, "", "");
    run("completions bash").expect(0, "", "");
    run("man").expect(0, "", "");
    assert_eq!(scene.names(), ["trace.json.spool"]);
}

#[test]
fn files_are_recovered_after_the_reader_of_the_json_has_closed_the_pipe() {
    let scene = spool_of_killed_process(1);
    killed(&scene, "second.json", 1);
    let output = scene.command("recover --json .").stdout(closed_pipe()).stderr(Stdio::piped()).output().unwrap();
    Run::of(output).expect_code(0);
    assert_eq!(scene.names(), ["second.json", "trace.json"]);
}

#[test]
fn a_closed_standard_error_is_not_an_error() {
    let scene = spool_of_killed_process(1);
    let output = scene.command("recover trace.json.spool missing.spool").stderr(closed_pipe()).output().unwrap();
    Run::of(output).expect_code(2);
    assert_eq!(scene.n_events("trace.json"), 2);
}

#[test]
fn a_full_standard_output_is_an_error() {
    let scene = spool_of_killed_process(1);
    let full = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let run = |line: &str| Run::of(scene.command(line).stdout(full()).stderr(Stdio::piped()).output().unwrap());
    let words = "error: standard output: cannot write: No space left on device (os error 28)\n";
    let hint = "\nhint: use `-o PATH` to write elsewhere; the input is unchanged\n";
    run("recover -o - trace.json.spool").expect(2, "", &format!("{words}{hint}"));
    run("man").expect(2, "", words);
    let json = run("recover --json trace.json.spool").expect_code(2);
    assert!(json.stderr.ends_with(words), "{}", json.stderr);
    assert_eq!(scene.names(), ["trace.json"], "it was recovered all the same");
}

#[test]
fn colors_are_for_terminals_only() {
    let scene = Scene::new();
    let run = scene.run("recover missing.json").expect_code(2);
    assert!(!run.stderr.contains('\u{1b}'), "{:?}", run.stderr);
    let forced = |vars: &[(&str, &str)]| {
        Run::of(scene.command("recover missing.json").envs(vars.iter().copied()).output().unwrap()).stderr
    };
    assert!(forced(&[("CLICOLOR_FORCE", "1")]).contains("\u{1b}["), "colors exist");
    assert!(!forced(&[("CLICOLOR", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}
