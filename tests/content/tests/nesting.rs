//! Slices of one track nest or are disjoint to the nanosecond, whatever a program does with its guards; of slices with
//! the same begin the outer one comes first in the file; and every ended slice is there once.
//!
//! The child runs random programs, see `src/program.rs`.

use content::child;
use content::program::{Expected, Guard, Op, Program, TRACKS, Timing, census};
use ferrum_trace_testkit::strict_trace::{Event, Trace, is_pushed};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};
use std::collections::BTreeMap;
use tempfile::tempdir;

/// The trace of a program.
struct Recorded {
    trace: Trace,
    own: Trace,
    /// The base of explicit times, in nanoseconds since the start of the trace.
    base: i64,
}

fn play(program: &Program, clock: &str) -> Recorded {
    let folder = tempdir().unwrap();
    let (path, own) = (folder.path().join("trace.json"), folder.path().join("own.json"));
    let child = child!("program").arg(&own).out(&path).env("FERRUM_TRACE_CLOCK", clock);
    let outcome = child.input(program.to_string()).run().expect_quiet();
    let read = |path| Trace::parse(&std::fs::read(path).unwrap()).unwrap();
    let (trace, own) = (read(path), read(own));
    let start = trace.about_if_any().map_or(0, |about| about.number("start_monotonic_ns"));
    Recorded { base: outcome.reported("base") as i64 - start as i64, trace, own }
}

fn ensure(holds: bool, complaint: impl FnOnce() -> String) -> Result<(), TestCaseError> {
    if holds { Ok(()) } else { Err(TestCaseError::fail(complaint())) }
}

impl Recorded {
    /// Checks everything that must hold for the trace of a program.
    fn check(&self, program: &Program) -> Result<(), TestCaseError> {
        self.trace.check_tracks().map_err(TestCaseError::fail)?;
        self.own.check_tracks().map_err(TestCaseError::fail)?;
        let expected = program.expected();
        let is_own = |slice: &&Expected| matches!(slice.place, Timing::Pushed { own: true, .. });
        let (of_own, of_process): (Vec<&Expected>, Vec<&Expected>) = expected.iter().partition(is_own);
        all_there_once(&self.trace, &of_process)?;
        all_there_once(&self.own, &of_own)?;
        let n_instants = self.trace.all("instant").len();
        ensure(n_instants == program.n_instants(), || format!("{n_instants} instants"))?;
        if let Some(about) = self.trace.about_if_any() {
            let counts = (about.number("recorded"), about.number("dropped"));
            let n_events = (of_process.len() + n_instants) as u64;
            ensure(counts == (n_events, 0), || format!("{counts:?} recorded and dropped, {n_events} expected"))?;
        }
        self.threads_in_order(&of_process)?;
        self.explicit_times(&of_process)?;
        pushed_rows(&self.trace, &of_process)?;
        pushed_rows(&self.own, &of_own)
    }

    /// Checks that the times of each thread are in the order of its operations, and that its slices are on its track.
    fn threads_in_order(&self, expected: &[&Expected]) -> Result<(), TestCaseError> {
        let found = by_name_and_id(&self.trace);
        let names = self.trace.thread_names();
        let mut times: BTreeMap<usize, Vec<(usize, u64)>> = BTreeMap::new();
        for slice in expected {
            let Timing::Thread { opened, closed } = slice.place else { continue };
            // Shared names of marks do not identify them.
            let Some([event]) = found.get(&(slice.name.clone(), slice.id)).map(Vec::as_slice) else { continue };
            let row = &names[&event.track()];
            let thread = Program::thread_name(slice.thread);
            let is_its_row = *row == thread || row.starts_with(&format!("{thread} ("));
            ensure(is_its_row, || format!("{event:?} of `{thread}` is on `{row}`"))?;
            let times = times.entry(slice.thread).or_default();
            // The first lap begins one nanosecond late, so that it is inside.
            if !slice.name.starts_with("mark ") {
                times.push((opened, event.start));
            }
            times.push((closed, event.end));
        }
        for times in times.values_mut() {
            times.sort_unstable();
            let is_sorted = times.is_sorted_by_key(|&(_, time)| time);
            ensure(is_sorted, || format!("times (operation, nanoseconds) run backwards: {times:?}"))?;
        }
        Ok(())
    }

    /// Checks that slices with explicit times have exactly these, on their track.
    fn explicit_times(&self, expected: &[&Expected]) -> Result<(), TestCaseError> {
        let found = by_name_and_id(&self.trace);
        let names = self.trace.thread_names();
        for slice in expected {
            let Timing::Track { track, begin, duration } = slice.place else { continue };
            let event = found[&(slice.name.clone(), slice.id)][0];
            let start = (self.base + begin) as u64;
            ensure((event.start, event.end) == (start, start + duration), || {
                format!("expected {start} and {duration} more, found {event:?}")
            })?;
            let (row, track) = (&names[&event.track()], TRACKS[track]);
            let is_its_row = *row == track || row.starts_with(&format!("{track} ("));
            ensure(is_its_row, || format!("{event:?} of `{track}` is on `{row}`"))?;
        }
        Ok(())
    }
}

type ByName<'a> = BTreeMap<(String, Option<u64>), Vec<&'a Event>>;

fn by_name_and_id(trace: &Trace) -> ByName<'_> {
    let mut found = ByName::new();
    for event in trace.slices() {
        found.entry((event.name.clone(), id_of(event))).or_default().push(event);
    }
    found
}

fn id_of(event: &Event) -> Option<u64> {
    event.args.has("id").then(|| event.args.number("id"))
}

/// Checks that every ended slice is there once, with its arguments, and no other.
fn all_there_once(trace: &Trace, expected: &[&Expected]) -> Result<(), TestCaseError> {
    let wanted = census(expected.iter().map(|slice| (slice.name.as_str(), slice.id)));
    let found = census(trace.slices().map(|event| (event.name.as_str(), id_of(event))));
    ensure(wanted == found, || format!("expected {wanted:?}, found {found:?}"))?;
    for event in trace.all("span with text") {
        let text = format!("a text that is copied, of {}", event.args.number("id"));
        ensure(event.args.text("text") == text, || format!("{event:?}"))?;
    }
    for event in trace.all("span with many") {
        let rest: Vec<&str> = event.args.0[1..].iter().map(|(_, value)| value.as_str()).collect();
        ensure(rest == ["true", "-1", "0.5", "\"e\"", "\"f\""], || format!("{event:?}"))?;
    }
    Ok(())
}

/// Checks that pushed slices have their duration and their row, also if they overlap with others.
fn pushed_rows(trace: &Trace, expected: &[&Expected]) -> Result<(), TestCaseError> {
    let found = by_name_and_id(trace);
    for slice in expected {
        let Timing::Pushed { tid, duration, .. } = slice.place else { continue };
        let event = found[&(slice.name.clone(), slice.id)][0];
        ensure(event.end - event.start == duration, || format!("expected {duration}, found {event:?}"))?;
        ensure(is_pushed(event.pid), || format!("{event:?}"))?;
        ensure(event.tid == tid, || format!("expected row {tid}, found {event:?}"))?;
    }
    Ok(())
}

fn guards() -> impl Strategy<Value = Guard> {
    prop_oneof![
        3 => Just(Guard::Span),
        1 => Just(Guard::SpanWithText),
        1 => Just(Guard::SpanWithMany),
        2 => Just(Guard::Dynamic),
        3 => Just(Guard::Laps),
    ]
}

/// Durations that are often equal, zero or different by one, and sometimes long.
fn durations() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..20u64, 2 => (0..20u64).prop_map(|n| n * 1000), 1 => 0..5_000_000u64]
}

fn ops() -> impl Strategy<Value = Op> {
    let begins = prop_oneof![4 => 0..20i64, 2 => (0..20i64).prop_map(|n| n * 1000), 1 => -500_000..500_000i64];
    prop_oneof![
        8 => guards().prop_map(Op::Open),
        4 => any::<u8>().prop_map(|slot| Op::Drop(slot.into())),
        4 => Just(Op::Drop(usize::MAX)),
        1 => any::<u8>().prop_map(|slot| Op::Forget(slot.into())),
        6 => (any::<u8>(), prop::option::weighted(0.7, 0..4usize)).prop_map(|(slot, name)| Op::Mark(slot.into(), name)),
        1 => Just(Op::Instant),
        3 => (0..2usize, begins, durations(), any::<bool>())
            .prop_map(|(track, begin, duration, named)| Op::CompleteAt(track, begin, duration, named)),
        3 => (any::<bool>(), 0..3u32, durations()).prop_map(|(own, tid, duration)| Op::Push(own, tid, duration)),
        1 => Just(Op::Flush),
        2 => (0..2000u32).prop_map(Op::Work),
    ]
}

fn programs() -> impl Strategy<Value = Program> {
    let threads = prop::collection::vec(prop::collection::vec(ops(), 0..150), 1..4);
    threads.prop_map(|threads| Program { threads })
}

fn config() -> Config {
    Config { cases: 64, failure_persistence: None, max_shrink_iters: 400, ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn slices_of_any_program_nest_and_are_all_there_once(program in programs()) {
        play(&program, "auto").check(&program)?;
    }

    #[test]
    fn slices_of_any_program_nest_and_are_all_there_once_by_the_monotonic_clock(program in programs()) {
        let played = play(&program, "monotonic");
        played.check(&program)?;
        if let Some(about) = played.trace.about_if_any() {
            prop_assert_eq!(about.text("clock"), "monotonic");
        }
    }

    #[test]
    fn the_outer_one_of_slices_with_the_same_begin_is_written_first(program in programs()) {
        for clock in ["auto", "monotonic"] {
            let played = play(&program, clock);
            for trace in [&played.trace, &played.own] {
                trace.check_order().map_err(TestCaseError::fail)?;
            }
        }
    }
}

fn one_thread(ops: &[Op]) -> Program {
    Program { threads: vec![ops.to_vec()] }
}

#[test]
fn a_span_that_crosses_a_mark_overlaps_no_lap() {
    let program = one_thread(&[
        Op::Open(Guard::Laps),
        Op::Work(1000),
        Op::Open(Guard::Span),
        Op::Work(1000),
        Op::Mark(0, Some(0)),
        Op::Work(1000),
        // The span ends in the second lap.
        Op::Drop(1),
        Op::Work(1000),
        Op::Mark(0, Some(1)),
        Op::Drop(0),
    ]);
    play(&program, "auto").check(&program).unwrap();
}

#[test]
fn guards_dropped_in_the_order_of_their_begin_are_all_recorded() {
    let mut ops = vec![Op::Open(Guard::Span); 100];
    ops.extend([Op::Drop(0); 100]);
    ops.extend([Op::Open(Guard::Laps), Op::Mark(0, Some(2)), Op::Drop(0)]);
    let program = one_thread(&ops);
    play(&program, "auto").check(&program).unwrap();
}

#[test]
fn forgotten_guards_do_not_affect_the_others() {
    let ops =
        [Op::Open(Guard::Span), Op::Open(Guard::Dynamic), Op::Open(Guard::Laps), Op::Forget(1), Op::Mark(0, None)];
    let program = one_thread(&ops.repeat(50));
    play(&program, "auto").check(&program).unwrap();
}

#[test]
fn slices_that_begin_within_one_nanosecond_are_written_outer_first() {
    let folder = tempdir().unwrap();
    for clock in ["auto", "monotonic"] {
        let path = folder.path().join(format!("{clock}.json"));
        child!("tight nesting").number(20_000).out(&path).env("FERRUM_TRACE_CLOCK", clock).run().expect_quiet();
        let trace = Trace::read(path);
        assert_eq!(trace.slices().count(), 6 * 20_000);
        trace.check_order().unwrap();
    }
}
