use crate::maker::spool_of_killed_process;
use crate::scene::{Run, Scene};

const CHUNK_BYTES: usize = 32 * 1024;

/// Returns an empty scene and a spool of several chunks.
fn scene_and_spool() -> (Scene, Vec<u8>) {
    let scene = spool_of_killed_process(3000);
    let spool = scene.read("trace.json.spool");
    std::fs::remove_file(scene.path("trace.json.spool")).unwrap();
    (scene, spool)
}

/// Recovers a damaged spool and checks that the result is consistent.
#[track_caller]
fn recover(scene: &Scene, spool: &[u8]) -> Run {
    scene.write("bad.json.spool", spool);
    let run = scene.run("recover bad.json.spool");
    match run.code {
        Some(0 | 1) => {
            let is_damaged = run.code == Some(1);
            if is_damaged {
                assert_eq!(scene.read("bad.json.spool"), spool);
                std::fs::remove_file(scene.path("bad.json.spool")).unwrap();
            }
            assert_eq!(scene.names(), ["bad.json"], "{run:#?}");
            // Damage may make slices overlap, but every event is complete.
            let trace = ferrum_trace_testkit::trace_file::TraceFile::read(&scene.path("bad.json"));
            assert!(trace.recorded().count() <= 6000 + 1);
            let is_reported =
                ["damaged place", "text missing", "texts missing"].map(|words| run.stderr.contains(words));
            assert_eq!(is_damaged, is_reported.contains(&true), "{run:#?}");
            assert_eq!(is_damaged, run.stderr.contains("the spool is kept, because"), "{run:#?}");
            std::fs::remove_file(scene.path("bad.json")).unwrap();
        }
        Some(2) => {
            assert!(run.stderr.starts_with("error: bad.json.spool: "), "{run:#?}");
            assert_eq!(scene.names(), ["bad.json.spool"], "{run:#?}");
            assert_eq!(scene.read("bad.json.spool"), spool);
        }
        code => panic!("{code:?}: {run:#?}"),
    }
    assert_eq!(run.stdout, "");
    run
}

#[test]
fn overwritten_bytes_damage_only_their_chunk() {
    let (scene, mut spool) = scene_and_spool();
    // The middle of the first chunk of events.
    let events = spool.chunks(CHUNK_BYTES).position(|chunk| chunk.starts_with(b"FTEVENTS")).unwrap();
    let at = events * CHUNK_BYTES + CHUNK_BYTES / 2;
    spool[at..at + 64].fill(0xff);
    let run = recover(&scene, &spool).expect_code(1);
    let (line, places) = run.stderr.split_once('\n').unwrap();
    let expected = " recovered to bad.json; the spool is kept, because not all of it could be read; 1 damaged place skipped, up to ";
    let (_, missing) = line.split_once(expected).unwrap_or_else(|| panic!("{line}"));
    let n_missing = missing.strip_suffix(" events missing:").unwrap().replace(',', "");
    let offset = places.trim().strip_prefix("byte ").unwrap().split(':').next().unwrap();
    let offset: usize = offset.parse().unwrap();
    assert!((at - 64..at + 64).contains(&offset), "{places}");
    assert!(places.ends_with(&format!("the rest of the chunk was skipped: up to {n_missing} events\n")), "{places}");
}

/// Recovers a spool of 40,000 spans after damage, and returns the message about it. Checks that the loss is reported by
/// the command and in the trace, with a bound that holds.
#[track_caller]
fn message_about(damage: impl Fn(&mut Vec<u8>, usize)) -> String {
    let scene = spool_of_killed_process(20_000);
    let mut spool = scene.read("trace.json.spool");
    let n_used = spool.chunks(CHUNK_BYTES).rposition(|chunk| chunk.starts_with(b"FTEVENTS")).unwrap() + 1;
    assert!(n_used > 30, "{n_used} chunks");
    damage(&mut spool, n_used);
    scene.write("trace.json.spool", &spool);
    let run = scene.run("recover --json trace.json.spool").expect_code(1);
    assert!(!run.stderr.contains("none lost"), "{run:#?}");
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let n_lost = 40_000 - report["events"].as_u64().unwrap();
    let n_missing_max = report["missing_events_max"].as_u64().unwrap();
    assert!(n_lost > 0 && n_lost <= n_missing_max, "{n_lost} of {n_missing_max}: {run:#?}");
    assert_eq!(report["recorder"]["missing_events_max"], n_missing_max);
    let run = scene.run("summary trace.json").expect_code(0);
    let losses = run.stdout.lines().find(|line| line.starts_with("losses ")).unwrap();
    assert!(losses.contains("1 damaged place in the spool, up to "), "{losses}");
    report["diagnostics"][0]["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_zeroed_region_of_chunks_is_reported_with_a_bound() {
    let message = message_about(|spool, _| spool[10 * CHUNK_BYTES..20 * CHUNK_BYTES].fill(0));
    assert_eq!(message, "expected 10 chunks, found zeros: up to 20440 events are missing");
}

#[test]
fn a_spool_that_is_cut_at_a_chunk_is_reported_with_a_bound() {
    let message = message_about(|spool, n_used| spool.truncate((n_used - 5) * CHUNK_BYTES));
    assert_eq!(message, "the file ends here, 5 chunks are missing: up to 10220 events");
}

#[test]
fn a_zeroed_page_is_reported_wherever_it_is_in_a_chunk() {
    let first = message_about(|spool, _| spool[10 * CHUNK_BYTES..][..4096].fill(0));
    assert_eq!(first, "expected a chunk, found zeros: up to 2044 events are missing");
    for page in [1, 4, 7] {
        let message = message_about(|spool, _| spool[10 * CHUNK_BYTES + page * 4096..][..4096].fill(0));
        assert!(message.contains("the rest of the chunk was skipped: up to "), "{page}: {message}");
    }
}

#[test]
fn a_spool_without_its_unused_end_has_lost_nothing() {
    let scene = spool_of_killed_process(3000);
    let mut spool = scene.read("trace.json.spool");
    let n_used = spool.chunks(CHUNK_BYTES).rposition(|chunk| !chunk.starts_with(b"FTUNUSED")).unwrap() + 1;
    spool.truncate(n_used * CHUNK_BYTES);
    scene.write("trace.json.spool", &spool);
    let run = scene.run("recover trace.json.spool").expect_code(0);
    assert!(run.stderr.ends_with("6,000 events of 2 threads recovered to trace.json; none lost\n"), "{run:#?}");
}

#[test]
fn twenty_damaged_places_are_listed_by_default_and_all_with_verbose() {
    let (scene, mut spool) = scene_and_spool();
    // Chunks without events: damage loses nothing.
    spool.resize(spool.len() + 30 * CHUNK_BYTES, 0);
    let mut n_damaged = 0;
    for chunk in spool.chunks_mut(CHUNK_BYTES).filter(|chunk| chunk.starts_with(&[0; 8])) {
        chunk[..8].fill(0xee);
        n_damaged += 1;
    }
    assert!(n_damaged > 20);
    let run = recover(&scene, &spool).expect_code(1);
    assert!(run.stderr.starts_with(&format!(
        "bad.json.spool: 6,000 events of 2 threads recovered to bad.json; the spool is kept, because not all of it could \
         be read; {n_damaged} damaged places skipped:\n  byte "
    )));
    assert_eq!(run.stderr.lines().count(), 1 + 20 + 1);
    assert!(run.stderr.ends_with(&format!("\n  … and {} more (-v shows them)\n", n_damaged - 20)), "{}", run.stderr);
    scene.write("bad.json.spool", &spool);
    let run = scene.run("recover -v bad.json.spool").expect_code(1);
    assert_eq!(run.stderr.lines().count(), 1 + n_damaged);
}

#[test]
fn a_spool_that_is_cut_anywhere_is_recovered_or_refused() {
    let (scene, spool) = scene_and_spool();
    let around = |at: usize| [at - 1, at, at + 1];
    let mut lengths: Vec<usize> = [8, 64, 72, 512, CHUNK_BYTES, 2 * CHUNK_BYTES].into_iter().flat_map(around).collect();
    // A step that is not a multiple of any size in the format.
    lengths.extend((1..spool.len()).step_by(24_989).take(40));
    lengths.extend([0, 1, spool.len()]);
    for len in lengths {
        let run = recover(&scene, &spool[..len]);
        // An incomplete header is an error; a cut within a used chunk is damage.
        assert_eq!(run.code == Some(2), len < 512, "{len}: {run:#?}");
    }
}

#[test]
fn a_spool_with_overwritten_bytes_is_recovered_or_refused() {
    let (scene, spool) = scene_and_spool();
    let mut random = Random(1);
    for _ in 0..60 {
        let mut bad = spool.clone();
        for _ in 0..1 + random.below(20) {
            let at = random.below(bad.len() - 64);
            let len = 1 + random.below(64);
            bad[at..at + len].fill_with(|| random.next() as u8);
        }
        recover(&scene, &bad);
    }
}

#[test]
fn random_bytes_are_refused_and_are_damage_after_a_header() {
    let (scene, spool) = scene_and_spool();
    let mut random = Random(2);
    for len in [8, 100, 5 * CHUNK_BYTES] {
        let mut noise = vec![0; len];
        noise.fill_with(|| random.next() as u8);
        let run = recover(&scene, &noise).expect_code(2);
        assert!(run.stderr.contains("byte 0: expected a spool, which begins with `FERRUMSP`, found `"), "{run:?}");
        // After a header, anything is damage and not an error.
        let mut headed = spool[..512].to_vec();
        headed.extend_from_slice(&noise);
        recover(&scene, &headed);
    }
}

/// A xorshift generator with a fixed seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

#[test]
fn an_empty_file_is_refused() {
    let scene = Scene::new();
    recover(&scene, b"").expect(
        2,
        "",
        "error: bad.json.spool: expected a spool, found an empty file\n\n\
         hint: its process ended before it began to record\n",
    );
}

#[test]
fn a_json_file_is_refused_as_a_finished_trace() {
    let scene = Scene::new();
    scene.write("trace.json", "  [\n{\"name\":\"a\"}]");
    scene.run("recover trace.json").expect(
        2,
        "",
        "error: trace.json: byte 0: expected a spool, which begins with `FERRUMSP`, found `  [\\n{\\\"na`\n\n\
         hint: this looks like a finished trace, which needs no recovery\n",
    );
    assert_eq!(scene.names(), ["trace.json"]);
}

#[test]
fn a_spool_of_another_version_is_refused() {
    let (scene, mut spool) = scene_and_spool();
    spool[64] = 99;
    recover(&scene, &spool).expect(
        2,
        "",
        "error: bad.json.spool: byte 64: expected version 1 to 3, found version 99\n\n\
         hint: use the version of ferrum-trace that recorded it\n",
    );
}

#[test]
fn a_folder_without_spools_is_refused() {
    let scene = Scene::new();
    scene.write("folder/trace.json", "[]");
    scene.run("recover folder").expect(2, "", "error: folder: the folder has no file that ends in `.spool`\n");
}

#[test]
fn a_missing_file_is_refused() {
    let scene = Scene::new();
    scene.write("there.json", "[]");
    scene.run("recover trace.json").expect(
        2,
        "",
        "error: trace.json: no such file, and no `trace.json.spool` either\n",
    );
    scene.run("recover trace.json.spool").expect(2, "", "error: trace.json.spool: no such file\n");
    scene.run("recover *.spool").expect(2, "", "error: *.spool: no file matches\n");
    scene.run("recover there.json.spool").expect(
        2,
        "",
        "error: there.json.spool: no such file\n\n\
         hint: there.json is there: a process that ends by itself completes it and removes the spool\n",
    );
}

#[test]
fn a_file_that_cannot_be_opened_is_refused() {
    let scene = Scene::new();
    std::os::unix::fs::symlink("loop.spool", scene.path("loop.spool")).unwrap();
    scene.run("recover loop.spool").expect(
        2,
        "",
        "error: loop.spool: cannot open: Too many levels of symbolic links (os error 40)\n",
    );
    scene.write("file", "");
    scene.run("recover file/trace.json.spool").expect(
        2,
        "",
        "error: file/trace.json.spool: cannot open: Not a directory (os error 20)\n",
    );
}

#[test]
fn a_file_without_read_permission_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let (scene, spool) = scene_and_spool();
    scene.write("secret.spool", &spool);
    std::fs::set_permissions(scene.path("secret.spool"), std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may read it anyway.
    if std::fs::File::open(scene.path("secret.spool")).is_ok() {
        scene.run("recover secret.spool").expect_code(0);
    } else {
        let words = "error: secret.spool: cannot open: Permission denied (os error 13)\n";
        scene.run("recover secret.spool").expect(2, "", words);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_opens_but_cannot_be_read_is_refused() {
    let scene = Scene::new();
    // Nothing is mapped at the start of a process's memory.
    scene.run("recover -o x.json /proc/self/mem").expect(
        2,
        "",
        "error: /proc/self/mem: cannot read the spool: Input/output error (os error 5)\n",
    );
    assert_eq!(scene.names(), [""; 0]);
}
