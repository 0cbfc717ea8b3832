use crate::maker::{Maker, killed};
use crate::scene::Scene;

#[test]
fn the_spool_of_a_killed_process_is_converted_to_its_trace() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 1000);
    assert_eq!(scene.names(), ["trace.json.spool"]);
    scene.run("recover trace.json.spool").expect(
        0,
        "",
        "trace.json.spool: 2,000 events of 2 threads recovered to trace.json; none lost\n",
    );
    assert_eq!(scene.names(), ["trace.json"]);
    assert_eq!(scene.n_events("trace.json"), 2000);
}

#[test]
fn the_name_of_the_trace_selects_the_format() {
    let forms: [(&str, &[u8]); 6] = [
        ("trace.json.gz", &[0x1f, 0x8b]),
        ("trace.json.zst", &[0x28, 0xb5, 0x2f, 0xfd]),
        ("trace.pftrace", &[0x0a]),
        ("TRACE.JSON.GZ", &[0x1f, 0x8b]),
        ("T.PFTRACE", &[0x0a]),
        ("trace.json", b"["),
    ];
    for (name, first_bytes) in forms {
        let scene = Scene::new();
        killed(&scene, name, 10);
        assert_eq!(scene.names(), [format!("{name}.spool")]);
        scene.run(&format!("recover {name}")).expect_code(0);
        assert_eq!(scene.names(), [name]);
        assert!(std::fs::read(scene.path(name)).unwrap().starts_with(first_bytes), "{name}");
        let run = scene.run(&format!("summary --json {name}")).expect_code(0);
        let summary: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(summary["slices"], 20, "{name}: {}", run.stdout);
    }
}

#[test]
fn the_name_of_the_output_selects_the_format() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 10);
    scene.run("recover -o other.pftrace trace.json.spool").expect_code(0);
    assert!(std::fs::read(scene.path("other.pftrace")).unwrap().starts_with(&[0x0a]));
}

#[test]
fn a_missing_trace_is_recovered_from_the_spool_next_to_it() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 10);
    scene.run("recover trace.json").expect(
        0,
        "",
        "trace.json: missing, but its spool exists: recovering trace.json.spool\n\
         trace.json.spool: 20 events of 2 threads recovered to trace.json; none lost\n",
    );
    assert_eq!(scene.names(), ["trace.json"]);
}

#[test]
fn dropped_events_are_reported_with_their_reason() {
    let scene = Scene::new();
    let mut maker = Maker::start_with(&scene, "trace.json", &[("FERRUM_TRACE_LIMIT", "1MiB")]);
    maker.record(100_000);
    maker.kill();
    let run = scene.run("recover trace.json.spool").expect_code(0);
    let n_events = scene.n_events("trace.json");
    let expected = format!(
        "trace.json.spool: {} events of 2 threads recovered to trace.json; {} events lost: \
         the limit was reached (FERRUM_TRACE_LIMIT)",
        grouped(n_events),
        grouped(200_000 - n_events),
    );
    let (line, by_thread) = run.stderr.split_once(" (by thread: ").unwrap();
    assert_eq!(line, expected);
    assert!(by_thread.starts_with("decode loop ") && by_thread.contains(": 100,000, prefill loop "), "{by_thread}");
}

/// Formats a number as `12,345`.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let (first, rest) = digits.split_at(digits.len() - 3);
    format!("{first},{rest}")
}

#[test]
fn folders_and_globs_stand_for_the_spools_in_them() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.path("runs/1")).unwrap();
    std::fs::create_dir_all(scene.path("runs/2")).unwrap();
    for trace in ["runs/1/a.json", "runs/1/b.json", "runs/2/a.json"] {
        killed(&scene, trace, 1);
    }
    scene.write("runs/1/notes.txt", "no spool");
    scene.run("recover --keep runs/1").expect(
        0,
        "",
        "runs/1/a.json.spool: 2 events of 2 threads recovered to runs/1/a.json; none lost\n\
         runs/1/b.json.spool: 2 events of 2 threads recovered to runs/1/b.json; none lost\n",
    );
    scene.run("recover --force runs/*/*.spool").expect(
        0,
        "",
        "runs/1/a.json.spool: 2 events of 2 threads recovered to runs/1/a.json; none lost\n\
         runs/1/b.json.spool: 2 events of 2 threads recovered to runs/1/b.json; none lost\n\
         runs/2/a.json.spool: 2 events of 2 threads recovered to runs/2/a.json; none lost\n",
    );
    assert_eq!(scene.n_events("runs/2/a.json"), 2);
}

#[test]
fn one_bad_file_does_not_stop_the_recovery_of_others() {
    let scene = Scene::new();
    killed(&scene, "a.json", 1);
    killed(&scene, "c.json", 1);
    scene.run("recover a.json.spool b.json c.json.spool").expect(
        2,
        "",
        "a.json.spool: 2 events of 2 threads recovered to a.json; none lost\n\
         error: b.json: no such file, and no `b.json.spool` either\n\
         c.json.spool: 2 events of 2 threads recovered to c.json; none lost\n",
    );
    assert_eq!(scene.names(), ["a.json", "c.json"]);
}

#[test]
fn a_finished_spool_is_converted_and_kept() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "run.spool");
    maker.record(5);
    maker.exit();
    assert_eq!(scene.names(), ["run.spool"]);
    let run = scene.run("recover --json run.spool").expect_code(0);
    assert!(run.stdout.contains("\"finished\":true"), "{}", run.stdout);
    assert_eq!(run.stderr, "run.spool: 10 events of 2 threads recovered to run.json; none lost\n");
    assert_eq!(scene.n_events("run.json"), 10);
    assert_eq!(scene.names(), ["run.json", "run.spool"]);
}

#[test]
fn the_second_file_of_the_recorder_is_removed_with_the_spool() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "trace.json");
    maker.record(5);
    maker.flush();
    maker.record(5);
    maker.kill();
    assert_eq!(scene.names(), ["trace.json", "trace.json.next", "trace.json.spool"]);
    scene.run("recover --force trace.json").expect(
        0,
        "",
        "trace.json.spool: 20 events of 4 threads recovered to trace.json; none lost\n",
    );
    assert_eq!(scene.names(), ["trace.json"]);
    assert_eq!(scene.n_events("trace.json"), 20);
}

#[test]
fn a_file_that_only_has_the_name_of_a_second_file_is_kept() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 1);
    scene.write("trace.json.next", "to do: sleep");
    scene.run("recover trace.json.spool").expect_code(0);
    assert_eq!(scene.names(), ["trace.json", "trace.json.next"]);
}

/// Writes the spool of a killed process with damage in the middle of its first chunk of events. Returns its bytes.
fn damaged_spool(scene: &Scene) -> Vec<u8> {
    const CHUNK_BYTES: usize = 32 * 1024;
    killed(scene, "trace.json", 3000);
    let mut spool = scene.read("trace.json.spool");
    let events = spool.chunks(CHUNK_BYTES).position(|chunk| chunk.starts_with(b"FTEVENTS")).unwrap();
    spool[events * CHUNK_BYTES + CHUNK_BYTES / 2..][..64].fill(0xff);
    scene.write("trace.json.spool", &spool);
    spool
}

#[test]
fn a_spool_that_was_not_read_completely_is_kept() {
    let scene = Scene::new();
    let spool = damaged_spool(&scene);
    let run = scene.run("recover trace.json.spool").expect_code(1);
    let words =
        "recovered to trace.json; the spool is kept, because not all of it could be read; 1 damaged place skipped, ";
    assert!(run.stderr.lines().next().unwrap().contains(words), "{run:?}");
    assert_eq!(scene.names(), ["trace.json", "trace.json.spool"]);
    assert_eq!(scene.read("trace.json.spool"), spool);
}

#[test]
fn a_command_that_recovers_on_its_own_keeps_a_spool_that_was_not_read_completely() {
    let scene = Scene::new();
    let spool = damaged_spool(&scene);
    for command in ["summary", "check", "steps"] {
        let run = scene.run(&format!("{command} trace.json"));
        assert!(run.stderr.contains("the spool is kept, because not all of it could be read"), "{command}: {run:?}");
        assert_eq!(scene.read("trace.json.spool"), spool, "{command}");
        std::fs::remove_file(scene.path("trace.json")).unwrap();
    }
}

#[test]
fn a_chunk_whose_length_was_lost_is_damage() {
    let scene = Scene::new();
    killed(&scene, "trace.json", 3000);
    let mut spool = scene.read("trace.json.spool");
    let events = spool.chunks(32 * 1024).position(|chunk| chunk.starts_with(b"FTEVENTS")).unwrap();
    spool[events * 32 * 1024 + 8..][..8].fill(0);
    scene.write("trace.json.spool", &spool);
    let run = scene.run("recover trace.json.spool").expect_code(1);
    assert!(run.stderr.contains("expected a length of 64 to 32768, found 0; chunk skipped"), "{run:?}");
    assert_eq!(scene.names(), ["trace.json", "trace.json.spool"]);
}

#[test]
fn unfinished_files_of_a_killed_recorder_are_removed_by_the_next_command_for_the_same_trace() {
    let scene = Scene::new();
    scene.write("other.json", r#"[{"name":"a","ph":"X","ts":1,"dur":1,"pid":1,"tid":1}]"#);
    let leftovers = ["trace.json.next", "trace.json.spool.copy", "trace.dump-001.json.next"];
    for name in leftovers {
        scene.write(name, "[");
    }
    scene.write("trace.dump-001.json.bak", "[");
    scene.run("convert --to chrome -o trace.json other.json").expect_code(0);
    assert_eq!(scene.names(), ["other.json", "trace.dump-001.json.bak", "trace.json"]);

    killed(&scene, "trace.json", 1);
    for name in leftovers {
        scene.write(name, "[");
    }
    scene.run("recover --force trace.json.spool").expect_code(0);
    assert_eq!(scene.names(), ["other.json", "trace.dump-001.json.bak", "trace.json"]);
}
