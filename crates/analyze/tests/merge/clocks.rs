//! Tests that clocks with a known offset are aligned within the stated error.

use crate::world::{Host, Random, Work, Writer, traces};
use crate::{Made, input, merge_aligned, merged, nanos, with};
use ferrum_trace_analyze::merge::{Align, AlignedBy};
use proptest::prelude::*;

const SECOND: i64 = 1_000_000_000;
const MICRO: i64 = 1_000;

fn work(writer: Writer) -> Work {
    Work { writer, n_steps: 300, step_ns: 10_000 * MICRO, network_ns: 50 * MICRO, seed: 7 }
}

fn host(offset_ns: i64, drift_ppb: i64, n_ranks: u32) -> Host {
    Host { offset_ns, drift_ppb, n_ranks }
}

/// Largest error of the events of each input, relative to the clock of the first host.
fn errors(made: &Made, hosts: &[Host]) -> Vec<i64> {
    let mut errors = vec![0_i64; made.merged.inputs.len()];
    let pids: Vec<u64> = made.merged.inputs.iter().map(|input| u64::from(input.processes[0].pid)).collect();
    let mut zero = None;
    for event in made.events().iter().filter(|event| event["ph"] == "X") {
        let place = pids.iter().position(|pid| event["pid"] == *pid).unwrap();
        for (time, key) in
            [(nanos(&event["ts"]), "true_begin"), (nanos(&event["ts"]) + nanos(&event["dur"]), "true_end")]
        {
            let truth = hosts[0].clock(event["args"][key].as_i64().unwrap());
            // Events of the first input come first, and are exact by definition.
            let zero = *zero.get_or_insert(truth - time);
            errors[place] = errors[place].max((time + zero - truth).abs());
        }
    }
    errors
}

#[track_caller]
fn assert_within_bounds(made: &Made, hosts: &[Host], bound_max: u64) {
    made.assert_clean();
    let found = errors(made, hosts);
    for (input, error) in made.merged.inputs.iter().zip(&found) {
        let bound = input.alignment.error_ns.unwrap_or_else(|| panic!("{}: no bound", input.name));
        // Each of the two times is rounded to a nanosecond, by its host and by the merge.
        assert!(*error as u64 <= bound + 4, "{}: off by {error}, the bound is {bound}", input.name);
        assert!(bound <= bound_max, "{}: the bound is {bound}", input.name);
    }
}

#[test]
fn ranks_of_one_host_share_its_monotonic_clock_exactly() {
    let hosts = [host(0, 20_000, 4)];
    let made = merged(&traces(&hosts, &work(Writer::Ferrum)));
    let by: Vec<AlignedBy> = made.merged.inputs.iter().map(|input| input.alignment.by).collect();
    assert_eq!(by, [AlignedBy::Reference, AlignedBy::Monotonic, AlignedBy::Monotonic, AlignedBy::Monotonic]);
    assert_within_bounds(&made, &hosts, 0);
}

#[test]
fn clocks_that_are_hours_apart_are_aligned_by_order() {
    let hosts = [host(0, 30_000, 2), host(7_200 * SECOND, -50_000, 2), host(-3 * SECOND, 50_000, 2), host(0, 0, 2)];
    for writer in [Writer::Ferrum, Writer::Torch] {
        let made = merged(&traces(&hosts, &work(writer)));
        // The collectives take 50 to 100 µs after the last rank has arrived.
        assert_within_bounds(&made, &hosts, 250 * MICRO as u64);
        let of = |place: usize| made.merged.inputs[place].alignment;
        let by: Vec<AlignedBy> = (2..8).map(|place| of(place).by).collect();
        assert_eq!(by, [AlignedBy::Order; 6], "{writer:?}");
        // The second clock runs 80 ppm slow relative to the first, so its seconds are longer.
        assert!((of(2).drift_ppb - 80_000).abs() < 20_000, "{}", of(2).drift_ppb);
        assert!((of(4).drift_ppb + 20_000).abs() < 20_000, "{}", of(4).drift_ppb);
    }
}

#[test]
fn no_collective_ends_before_all_ranks_have_begun_it() {
    let hosts = [host(0, 0, 1), host(5 * SECOND, 40_000, 1), host(-900 * SECOND, -40_000, 1)];
    let made = merged(&traces(&hosts, &work(Writer::Ferrum)));
    let spans: Vec<(i64, i64)> = made
        .named("all_reduce")
        .map(|event| (nanos(&event["ts"]), nanos(&event["ts"]) + nanos(&event["dur"])))
        .collect();
    let (ranks, n) = (3, 300);
    assert_eq!(spans.len(), ranks * n);
    for nth in 0..n {
        let of_ranks = (0..ranks).map(|rank| spans[rank * n + nth]);
        let last_begin = of_ranks.clone().map(|(begin, _)| begin).max().unwrap();
        assert!(of_ranks.clone().all(|(_, end)| end >= last_begin), "collective {nth}");
    }
}

#[test]
fn traces_of_one_host_keep_its_wall_clock_if_order_allows_it() {
    let hosts = [host(0, 0, 2)];
    let made = merged(&traces(&hosts, &work(Writer::Torch)));
    let alignment = made.merged.inputs[1].alignment;
    assert_eq!((alignment.by, alignment.drift_ppb), (AlignedBy::HostWall, 0));
    assert_within_bounds(&made, &hosts, 1_000 * MICRO as u64);
    assert_eq!(made.merged.error_ns(), alignment.error_ns, "the largest error");
    assert!(errors(&made, &hosts)[1] <= 2, "the wall clock is correct, and is kept");
}

#[test]
fn without_common_events_the_error_is_unknown() {
    let trace = |unix: Option<i64>, ts: i64| {
        let base = unix.map_or(String::new(), |unix| format!("\"baseTimeNanoseconds\":{unix},"));
        format!("{{{base}\"traceEvents\":[{{\"ph\":\"X\",\"name\":\"a\",\"ts\":{ts},\"dur\":1,\"pid\":1,\"tid\":1}}]}}")
    };
    let aligned = |one: Option<i64>, other: Option<i64>, align| {
        let inputs = [input("a.json", &trace(one, 10)), input("b.json", &trace(other, 500))];
        let made = merge_aligned(&inputs, align).unwrap();
        let times: Vec<i64> = made.named("a").map(|event| nanos(&event["ts"])).collect();
        let alignment = made.merged.inputs[1].alignment;
        let stored = made.named("ferrum_trace_merge").nth(1).unwrap()["args"].clone();
        assert_eq!(stored["error_ns"], "unknown");
        assert_eq!(stored["aligned_by"], alignment.by.name());
        assert_eq!((alignment.error_ns, made.merged.error_ns()), (None, None));
        let first = if align == Align::Nothing { 10_000 } else { 0 };
        assert_eq!(times[0].min(times[1]), first, "{align:?}: from the first of all, unless times stay as they are");
        (alignment.by, times[1] - times[0])
    };
    let unix = 1_800_000_000 * SECOND;
    assert_eq!(aligned(Some(unix), Some(unix + SECOND), Align::Auto), (AlignedBy::Wall, SECOND + 490_000));
    assert_eq!(aligned(Some(unix), Some(unix + SECOND), Align::Wall), (AlignedBy::Wall, SECOND + 490_000));
    assert_eq!(aligned(Some(unix), Some(unix + SECOND), Align::Start), (AlignedBy::Start, 0));
    assert_eq!(aligned(Some(unix), None, Align::Auto), (AlignedBy::Start, 0));
    assert_eq!(aligned(None, None, Align::Nothing), (AlignedBy::Nothing, 490_000));
}

#[test]
fn contradictory_facts_are_not_used_and_are_reported() {
    // The second rank ends its first collective long before the first begins it, and its second long after.
    let trace = |rank: u32, times: [(i64, i64); 2]| {
        let event = |(ts, dur): (i64, i64)| {
            format!(
                "{{\"ph\":\"X\",\"name\":\"barrier\",\"cat\":\"comm\",\"ts\":{ts},\"dur\":{dur},\"pid\":1,\"tid\":1}}"
            )
        };
        let [one, other] = times.map(event);
        input(&format!("rank{rank}.json"), &format!("[{one},{other}]"))
    };
    let made = merged(&[trace(0, [(1_000, 10), (2_000, 10)]), trace(1, [(1_000, 10), (2_500, 10)])]);
    let alignment = made.merged.inputs[1].alignment;
    assert_eq!((alignment.error_ns, alignment.is_contradictory), (None, true));
    assert_eq!(made.named("ferrum_trace_merge").nth(1).unwrap()["args"]["contradictory"], true);
}

#[test]
fn collectives_with_different_counts_are_not_used() {
    let mut inputs = traces(&[host(0, 0, 1), host(SECOND, 0, 1)], &work(Writer::Ferrum));
    let all = traces(&[host(0, 0, 1), host(SECOND, 0, 1)], &Work { n_steps: 299, ..work(Writer::Ferrum) });
    inputs[1] = all[1].clone();
    let made = merged(&inputs);
    assert_eq!(made.merged.inputs[1].alignment.by, AlignedBy::Wall);
    assert!(!made.merged.collectives.rows[0].is_sure);
}

#[test]
fn collectives_that_cannot_be_matched_are_not_used() {
    let hosts = [host(0, 0, 1), host(SECOND, 0, 1)];
    let changed = |writer: Writer, from: &str, to: &str| {
        let inputs: Vec<_> = traces(&hosts, &work(writer)).into_iter().map(|trace| with(&trace, from, to)).collect();
        merged(&inputs).merged.inputs[1].alignment.by
    };
    assert_eq!(changed(Writer::Ferrum, "\"rank\":", "\"rank\":"), AlignedBy::Order);
    assert_eq!(
        changed(Writer::Ferrum, "\"rank\":", "\"overwritten_chunks\":0,\"dropped\":0,\"rank\":"),
        AlignedBy::Order
    );
    // A ring or one part of several may begin anywhere, and dropped events are unknown.
    for lack in ["\"overwritten_chunks\":7", "\"part\":2", "\"dropped\":1"] {
        assert_eq!(changed(Writer::Ferrum, "\"rank\":", &format!("{lack},\"rank\":")), AlignedBy::Wall, "{lack}");
    }
    assert_eq!(changed(Writer::Torch, "\"rank\":", "\"pg_count\":1,\"rank\":"), AlignedBy::Order);
    assert_eq!(changed(Writer::Torch, "\"rank\":", "\"pg_count\":3,\"rank\":"), AlignedBy::Wall);
}

#[test]
fn our_recordings_and_torchs_are_aligned_by_the_wall_clock_of_their_host() {
    let hosts = [host(5 * SECOND, 0, 1)];
    let ours = traces(&hosts, &work(Writer::Ferrum)).remove(0);
    let torch = with(&traces(&hosts, &work(Writer::Torch)).remove(0), "\"rank\":0", "\"rank\":1");
    let made = merged(&[torch, ours]);
    assert_eq!(made.merged.inputs[1].alignment.by, AlignedBy::HostWall);
    assert_eq!(made.merged.inputs[1].alignment.error_ns, None, "the wall clock may have been set in between");
    assert!(errors(&made, &hosts).iter().all(|&error| error <= 2));
}

#[test]
fn a_merged_trace_can_be_merged_again() {
    let hosts = [host(0, 0, 2), host(60 * SECOND, 10_000, 2)];
    let inputs = traces(&hosts, &work(Writer::Ferrum));
    let once = merged(&inputs);
    let some = merged(&inputs[..3]);
    let again = merged(&[input("some.json", std::str::from_utf8(&some.bytes).unwrap()), inputs[3].clone()]);
    let names = |made: &Made| -> Vec<String> {
        made.merged.inputs.iter().flat_map(|input| &input.processes).map(|process| process.name.clone()).collect()
    };
    assert_eq!(names(&again), names(&once));
    assert_eq!(again.merged.collectives.rows[0].n, once.merged.collectives.rows[0].n);
    let bound = again.merged.inputs[1].alignment.error_ns.unwrap();
    assert!(bound < 250 * MICRO as u64, "{bound}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_error_holds_for_arbitrary_clocks(
        seed: u64,
        clocks in prop::collection::vec((-10_000 * SECOND..10_000 * SECOND, -50_000_i64..50_000, 1_u32..3), 2..4),
        n_steps in 20_u32..200,
        step_ns in 1_000_000_i64..100_000_000,
        network_ns in 1_000_i64..1_000_000,
        is_torch: bool,
    ) {
        let hosts: Vec<Host> = clocks.iter().map(|&(offset, drift, n_ranks)| host(offset, drift, n_ranks)).collect();
        let writer = if is_torch { Writer::Torch } else { Writer::Ferrum };
        let work = Work { writer, n_steps, step_ns, network_ns, seed: Random::new(seed).below(i64::MAX) as u64 };
        let made = merged(&traces(&hosts, &work));
        let found = errors(&made, &hosts);
        for (input, error) in made.merged.inputs.iter().zip(found) {
            let bound = input.alignment.error_ns;
            prop_assert!(bound.is_some_and(|bound| error as u64 <= bound + 4), "off by {}, bound {:?}", error, bound);
            // Half a step and the network delay: no rank waits longer than that.
            prop_assert!(bound.is_some_and(|bound| bound < (step_ns + 4 * network_ns) as u64), "{:?}", bound);
        }
    }
}
