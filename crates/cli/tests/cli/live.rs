use crate::maker::Maker;
use crate::scene::Scene;

#[test]
fn a_snapshot_is_taken_while_the_process_records() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "trace.json");
    maker.record(10);
    let pid = maker.pid();
    scene.run("recover trace.json.spool").expect(
        0,
        "",
        &format!(
            "trace.json.spool: 20 events of 2 threads recovered to trace.json; none lost; \
             process {pid} still records: this is a snapshot, and the spool is kept\n"
        ),
    );
    assert_eq!(scene.names(), ["trace.json", "trace.json.spool"]);
    assert_eq!(scene.n_events("trace.json"), 20);
    maker.record(10);
    maker.exit();
    assert_eq!(scene.names(), ["trace.json"]);
    assert_eq!(scene.n_events("trace.json"), 40, "the process has written its own over the snapshot");
}

#[test]
fn a_snapshot_can_be_written_elsewhere_and_repeated() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "trace.json");
    for n_events in [20, 40] {
        maker.record(10);
        scene.run("recover --force -o snapshot.json trace.json").expect_code(0);
        assert_eq!(scene.n_events("snapshot.json"), n_events);
    }
    maker.kill();
    assert_eq!(scene.names(), ["snapshot.json", "trace.json.spool"]);
}

#[test]
fn the_trace_of_a_live_process_is_never_replaced() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "trace.json");
    maker.record(10);
    maker.flush();
    let flushed = scene.read("trace.json");
    for line in ["recover trace.json.spool", "recover --force trace.json", "recover -f -o ./trace.json trace.json"] {
        scene.run(line).expect(
            2,
            "",
            "error: trace.json: its process still records and updates the trace itself\n\n\
             hint: use `-o PATH` to write a snapshot elsewhere\n",
        );
        assert_eq!(scene.names(), ["trace.json", "trace.json.next", "trace.json.spool"]);
    }
    assert_eq!(scene.read("trace.json"), flushed);
    maker.record(10);
    maker.exit();
    assert_eq!(scene.names(), ["trace.json"]);
    assert_eq!(scene.n_events("trace.json"), 40);
}

#[test]
fn the_files_of_a_live_process_are_kept() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "trace.json");
    maker.record(10);
    maker.flush();
    scene.run("recover -o snapshot.json trace.json.spool").expect_code(0);
    assert_eq!(scene.names(), ["snapshot.json", "trace.json", "trace.json.next", "trace.json.spool"]);
    maker.kill();
}

#[test]
fn json_marks_a_snapshot_as_live() {
    let scene = Scene::new();
    let mut maker = Maker::start(&scene, "trace.json");
    maker.record(1);
    let run = scene.run("recover --json trace.json.spool").expect_code(0);
    assert!(run.stdout.contains("\"live\":true"), "{}", run.stdout);
    maker.kill();
}
