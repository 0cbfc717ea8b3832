//! Names created at run time, and names of threads, tracks and processes: very many, very long, and strange.

use content::child;
use content::child::Outcome;
use content::texts::{KEPT_WHOLE, spelled, strange};
use ferrum_trace_testkit::strict_trace::{Event, Trace};
use std::collections::BTreeMap;

/// Limit for the growth of the host's memory, whatever is recorded.
const MEMORY_KIB: u64 = 64 * 1024;

/// Growth of the scene's peak memory by recording.
fn memory_kib(with: &Outcome, without: &Outcome) -> u64 {
    with.reported("peak_kib").saturating_sub(without.reported("peak_kib"))
}

#[test]
fn a_hundred_thousand_names_are_recorded_in_bounded_memory() {
    const NAMES: u64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let with = child!("distinct names").number(NAMES).out(&path).run().expect_quiet();
    let without = child!("distinct names").number(NAMES).run().expect_quiet();

    let trace = Trace::read(path);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for slice in trace.slices() {
        assert_eq!(slice.cat, "names");
        *counts.entry(&slice.name).or_default() += 1;
    }
    assert_eq!(counts.len() as u64, NAMES);
    for n in 0..NAMES {
        let is_used_again = !(100..NAMES - 100).contains(&n);
        assert_eq!(counts.get(&*format!("name number {n}")), Some(&(1 + u64::from(is_used_again))), "name {n}");
    }
    assert_eq!(with.reported("recorded"), NAMES + 200);
    let grown = memory_kib(&with, &without);
    assert!(grown < MEMORY_KIB, "{grown} KiB");
}

/// Records more names of 8 KiB than are kept in memory; returns the growth of peak memory in KiB.
fn memory_of_long_names(letter: &str) -> u64 {
    const NAMES: u64 = 2500;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let with = child!("long names").number(NAMES).arg(letter).out(&path).run().expect_quiet();
    let without = child!("long names").number(NAMES).arg(letter).run().expect_quiet();
    assert_eq!(with.reported("recorded"), NAMES);
    memory_kib(&with, &without)
}

#[test]
fn thousands_of_long_names_take_bounded_memory() {
    let grown = memory_of_long_names("n");
    assert!(grown < MEMORY_KIB, "{grown} KiB");
}

#[test]
fn thousands_of_long_names_that_must_be_escaped_take_bounded_memory() {
    let grown = memory_of_long_names("\u{1}");
    assert!(grown < MEMORY_KIB, "{grown} KiB");
}

#[test]
fn long_names_are_all_recorded() {
    const NAMES: u64 = 300;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    child!("long names").number(NAMES).arg("\u{1}").out(&path).run().expect_quiet();
    let trace = Trace::read(path);
    assert_eq!(trace.slices().count() as u64, NAMES);
    for (n, slice) in trace.slices().enumerate() {
        assert!(slice.name == format!("{n:08}{}", "\u{1}".repeat(8184)), "name {n}");
    }
}

#[test]
fn constants_as_names_are_cut_like_any_other_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    child!("long constants").out(&path).run().expect_quiet();
    let trace = Trace::read(path);
    let (ten, fifty) = (spelled(&"0123456789".repeat(1000)), spelled(&"0123456789".repeat(5000)));
    let expected = [
        ("ten thousand", ten.as_str()),
        ("ten thousand with an argument", ten.as_str()),
        ("fifty thousand", fifty.as_str()),
        ("laps", fifty.as_str()),
        ("laps", "laps"),
        ("instant", fifty.as_str()),
    ];
    let found: Vec<(&str, &str)> = trace.recorded().map(|event| (event.cat.as_str(), event.name.as_str())).collect();
    let lengths = |names: &[(&str, &str)]| -> Vec<(String, usize)> {
        names.iter().map(|(category, name)| (category.to_string(), name.len())).collect()
    };
    assert_eq!(lengths(&found), lengths(&expected));
    assert!(found == expected);
}

#[test]
fn threads_and_tracks_may_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    child!("strange threads and tracks").out(&path).run().expect_quiet();
    let trace = Trace::read(path);
    let names = trace.thread_names();
    let name_of = |event: &Event| names[&event.track()].clone();

    let tracks: Vec<String> = trace.all("on a track").into_iter().map(name_of).collect();
    let expected: Vec<String> = strange().iter().map(|text| spelled(text)).collect();
    assert!(tracks == expected, "tracks");
    let sorts = trace.sort_indexes();
    let places: Vec<i64> = trace.all("on a track").iter().map(|event| sorts[&event.track()]).collect();
    assert_eq!(places, (0..strange().len() as i64).collect::<Vec<_>>());

    let without_name = |name: &str| name.starts_with("thread ") && name[7..].parse::<u32>().is_ok();
    for (event, text) in trace.all("on a thread").into_iter().zip(strange()) {
        let (name, expected) = (name_of(event), spelled(&text.replace('\0', "")));
        assert!(name == expected || (expected.is_empty() && without_name(&name)), "thread of {:?}", event.args);
    }
    // Names that are too long to keep have a separate test.
    let renamed = trace.all("on a renamed thread").into_iter().zip(strange());
    for (event, text) in renamed.filter(|(_, text)| text.len() <= KEPT_WHOLE) {
        assert!(name_of(event) == spelled(&text), "renamed thread of {:?}", event.args);
    }
    assert_eq!(trace.process_name(), "a \"process\" ␀ 🦀");
}

#[test]
fn names_of_processes_and_threads_are_cut_like_any_other_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    child!("long names of processes and threads").out(&path).run().expect_quiet();
    let trace = Trace::read(path);
    let expected = spelled(&"0123456789".repeat(5000));
    assert!(trace.process_name() == expected, "{:?}", trace.process_name());
    let thread = trace.track_name(trace.one("here"));
    assert!(thread == expected, "{thread:?}");
}
