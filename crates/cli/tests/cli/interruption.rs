use crate::maker::killed;
use crate::scene::{Run, Scene};
use std::io::Write;
use std::process::{Command, Stdio};

/// Sends a signal to the command while it writes a trace.
///
/// The signal may come too late, so the result must be complete either way: the spool and no trace, or the trace.
fn interrupt(signal: &str) {
    let scene = Scene::new();
    killed(&scene, "trace.json", 200_000);
    let spool = scene.read("trace.json.spool");
    let mut command = scene.command("recover trace.json.spool");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while scene.names().len() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    Command::new("kill").args(["-s", signal, &pid]).stderr(Stdio::null()).status().unwrap();
    let run = Run::of(child.wait_with_output().unwrap());
    match run.code {
        Some(130) => {
            run.expect(130, "", "\ninterrupted: no partial trace is left behind, and the spool is unchanged\n");
            assert_eq!(scene.names(), ["trace.json.spool"]);
            assert_eq!(scene.read("trace.json.spool"), spool);
        }
        _ => {
            run.expect_code(0);
            assert_eq!(scene.names(), ["trace.json"]);
            assert!(scene.n_events("trace.json") > 0);
        }
    }
}

#[test]
fn control_c_leaves_no_partial_trace() {
    interrupt("INT");
}

#[test]
fn sigterm_and_sighup_leave_no_partial_trace() {
    interrupt("TERM");
    interrupt("HUP");
}

#[test]
fn control_c_leaves_no_partial_conversion() {
    let scene = Scene::new();
    let event = r#"{"ph":"X","name":"a","cat":"c","ts":1,"dur":2,"pid":1,"tid":1},"#;
    scene.write("t.json", format!("[{}", event.repeat(100_000)));
    let mut command = scene.command("convert --to chrome -o out.json.gz t.json");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while scene.names().len() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    Command::new("kill").args(["-s", "INT", &pid]).stderr(Stdio::null()).status().unwrap();
    let run = Run::of(child.wait_with_output().unwrap());
    match run.code {
        Some(130) => {
            run.expect(130, "", "\ninterrupted: no partial file is left behind\n");
            assert_eq!(scene.names(), ["t.json"]);
        }
        _ => {
            run.expect_code(0);
            assert_eq!(scene.names(), ["out.json.gz", "t.json"]);
        }
    }
}

/// Kills the command while its unfinished file exists; tries again if it was faster.
fn kill_while_writing(scene: &Scene, line: &str, output: &str) {
    for _ in 0..100 {
        let n_before = scene.names().len();
        let mut command = scene.command(line);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while scene.names().len() == n_before && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if scene.names().iter().any(|name| name.ends_with(".tmp")) {
            return;
        }
        std::fs::remove_file(scene.path(output)).unwrap();
    }
    panic!("the command was never killed while it was writing");
}

#[test]
fn the_unfinished_file_of_a_killed_recovery_is_removed_by_the_next_one() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 200_000);
    kill_while_writing(&scene, "recover --keep trace.json.spool", "trace.json");
    // These names are not those of unfinished files.
    scene.write("trace.json.backup.tmp", "[");
    scene.write("other.json.1-AbC123.tmp", "[");
    scene.run("recover trace.json.spool").expect_code(0);
    assert_eq!(scene.names(), ["other.json.1-AbC123.tmp", "trace.json", "trace.json.backup.tmp"]);
}

#[test]
fn the_unfinished_file_of_a_killed_conversion_or_repair_is_removed_by_the_next_one() {
    let scene = Scene::new();
    let event = r#"{"ph":"X","name":"a","cat":"c","ts":1,"dur":2,"pid":1,"tid":1},"#;
    scene.write("t.json", format!("[{}", event.repeat(50_000)));
    for line in ["convert --to chrome -o out.json t.json", "repair -o out.json t.json", "merge -o out.json t.json"] {
        kill_while_writing(&scene, line, "out.json");
        scene.run(line).expect_code(0);
        assert_eq!(scene.names(), ["out.json", "t.json"], "{line}");
        std::fs::remove_file(scene.path("out.json")).unwrap();
    }
}

#[test]
fn control_c_ends_the_command_while_it_reads_a_pipe() {
    let scene = Scene::new();
    let events = r#"{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1},"#.repeat(20_000);
    for line in ["-", "check -", "layers -", "repair -o out.json -", "convert -o out.csv -"] {
        let mut command = scene.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // More bytes than the pipe buffer: the command is reading once all are written.
        stdin.write_all(format!("[{events}").as_bytes()).unwrap();
        let pid = child.id().to_string();
        Command::new("kill").args(["-s", "INT", &pid]).status().unwrap();
        let run = Run::of(child.wait_with_output().unwrap()).expect_code(130);
        assert!(run.stdout.is_empty() && run.stderr.starts_with("\ninterrupted: "), "{line}: {run:?}");
        drop(stdin);
    }
    assert_eq!(scene.names(), [""; 0], "no half file");
}
