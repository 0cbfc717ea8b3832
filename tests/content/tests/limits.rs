//! The limit: recording stops cleanly, and all events that do not fit are counted, in the file and in one line.

use content::child;
use content::child::{Child, Outcome};
use ferrum_trace_testkit::strict_trace::{Event, Phase, Trace};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tempfile::{TempDir, tempdir};

const MIB: u64 = 1 << 20;

/// The result of a scene that pushes more than `limit` allows.
struct Limited {
    folder: TempDir,
    outcome: Outcome,
    trace: Trace,
}

fn limited(child: Child, limit: &str) -> Limited {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = child.out(&path).env("FERRUM_TRACE_LIMIT", limit).run();
    let trace = Trace::read(path);
    Limited { folder, outcome, trace }
}

impl Limited {
    fn path(&self) -> PathBuf {
        self.folder.path().join("trace.json")
    }

    /// The events of the program in the file: without the recorder's instant about the loss and the synthetic ends of
    /// async events.
    fn recorded(&self) -> u64 {
        let is_own = |event: &&Event| event.cat != "ferrum_trace" && !event.args.has("unclosed");
        self.trace.recorded().filter(is_own).count() as u64
    }

    fn dropped(&self) -> u64 {
        self.trace.about().number("dropped")
    }

    /// Panics unless every event is either recorded or counted as dropped, and none is both.
    #[track_caller]
    fn assert_adds_up(&self) {
        let (recorded, dropped) = (self.recorded(), self.dropped());
        assert_eq!(self.trace.about().number("recorded"), recorded, "the metadata has the same number");
        assert!(dropped > 0, "the limit was not reached");
        let pushed = self.outcome.reported("pushed");
        assert_eq!(recorded + dropped, pushed, "{recorded} recorded and {dropped} dropped of {pushed}");
        let line = self.outcome.one_line();
        let path = self.path();
        let expected =
            format!("{}: {dropped} events lost (the limit was reached), {recorded} recorded", path.display());
        assert_eq!(line, expected);
    }
}

#[test]
fn the_limit_of_the_environment_stops_recording_and_counts_the_rest() {
    let limited = limited(child!("spans on threads").number(1).number(500_000), "4MiB");
    limited.assert_adds_up();
    // 16 bytes per span, minus the chunks' headers.
    assert!((250_000..=4 * MIB / 16).contains(&limited.recorded()), "{}", limited.recorded());
}

#[test]
fn an_instant_in_the_file_states_the_loss_and_its_reason() {
    let limited = limited(child!("spans on threads").number(1).number(500_000), "4MiB");
    let loss = limited.trace.recorded().find(|event| event.cat == "ferrum_trace").expect("there is an instant");
    assert_eq!(loss.phase, Phase::Instant('p'));
    let dropped = limited.dropped();
    assert_eq!(loss.name, format!("{dropped} events lost: the limit of {} bytes was reached", 4 * MIB));
}

#[test]
fn dropped_events_are_counted_by_thread() {
    // More than fit into 4 MiB, so that no thread is done before the limit is reached.
    const SPANS: u64 = 300_000;
    let limited = limited(child!("spans on threads").number(4).number(SPANS), "4MiB");
    limited.assert_adds_up();
    let names = limited.trace.thread_names();
    let mut recorded: BTreeMap<String, u64> = BTreeMap::new();
    for slice in limited.trace.slices() {
        let thread = format!("{} {}", names[&slice.track()], slice.tid);
        *recorded.entry(thread).or_default() += 1;
    }
    let dropped = limited.trace.about().value("dropped_by_thread");
    let dropped = dropped.as_object().unwrap();
    assert_eq!(dropped.len(), 4, "{dropped:?}");
    for (thread, dropped) in dropped {
        assert!(thread.starts_with("pusher "), "{thread}");
        let recorded = recorded.get(thread).copied().unwrap_or(0);
        assert_eq!(recorded + dropped.as_u64().unwrap(), SPANS, "{thread}");
    }
}

#[test]
fn the_limit_of_the_builder_stops_recording_and_counts_the_rest() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = child!("spans under a builder's limit").arg(&path).number(2 * MIB).number(300_000).run();
    let trace = Trace::read(path);
    let recorded = trace.slices().count() as u64;
    assert_eq!((outcome.reported("recorded"), trace.about().number("recorded")), (recorded, recorded));
    assert_eq!(outcome.reported("dropped"), trace.about().number("dropped"));
    assert!(outcome.reported("dropped") > 0);
    assert_eq!(recorded + outcome.reported("dropped"), outcome.reported("pushed"));
    assert_eq!(outcome.reported("bytes"), 2 * MIB);
    assert_eq!(outcome.reported("threads"), 1);
    // The statistics report the loss, so there is no line.
    outcome.expect_quiet();
}

#[test]
fn the_limit_is_at_least_one_mebibyte() {
    let limited = limited(child!("spans on threads").number(1).number(100_000), "1");
    limited.assert_adds_up();
    assert!(limited.recorded() > 50_000, "{}", limited.recorded());
}

#[test]
fn a_recording_below_its_limit_loses_nothing_and_prints_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let child = child!("spans on threads").number(2).number(100_000).out(&path).env("FERRUM_TRACE_LIMIT", "16MiB");
    child.run().expect_quiet();
    let trace = Trace::read(path);
    assert_eq!((trace.slices().count(), trace.about().number("dropped")), (200_000, 0));
    assert!(!trace.about().has("dropped_by_thread"));
}

#[test]
fn an_event_with_texts_is_lost_and_counted_once() {
    limited(child!("texts beyond the limit").number(5000), "1MiB").assert_adds_up();
}

#[test]
fn an_event_with_a_dynamic_name_is_lost_and_counted_once() {
    limited(child!("dynamic names beyond the limit").number(50_000), "1MiB").assert_adds_up();
}

#[test]
fn events_of_all_kinds_are_lost_and_counted_once() {
    limited(child!("all kinds beyond the limit").number(5000), "1MiB").assert_adds_up();
}

#[test]
fn events_whose_names_could_not_be_defined_are_counted() {
    limited(child!("definitions beyond the limit"), "1MiB").assert_adds_up();
}

#[test]
fn pushes_beyond_the_limit_are_counted() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let outcome = child!("pushes beyond the limit").number(50_000).out(&path).env("FERRUM_TRACE_LIMIT", "1MiB").run();
    assert!(outcome.status.success(), "{outcome:?}");
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "one line per file: {lines:?}");
    for path in [path.clone(), folder.path().join("trace.json.own.json")] {
        let trace = Trace::read(&path);
        let about = trace.about();
        let (recorded, dropped) = (trace.slices().count() as u64, about.number("dropped"));
        assert_eq!((recorded + dropped, about.number("recorded")), (outcome.reported("pushed"), recorded));
        let line = format!("{}: {dropped} events lost (the limit was reached), {recorded} recorded", path.display());
        assert_eq!(lines.iter().filter(|found| found.ends_with(&line)).count(), 1, "{lines:?}");
    }
}
