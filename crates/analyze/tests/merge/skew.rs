//! Tests of the skew of ranks: the last rank, and the waiting time of the others.

use crate::{input, merged};
use ferrum_trace_analyze::merge::{Input, NotRanks, Skew};

/// A rank that shares its clock with the others: name, category, begin and end in microseconds.
fn rank(rank: u32, spans: &[(&str, &str, i64, i64)]) -> Input {
    let mut json = "[".to_owned();
    for (name, category, begin, end) in spans {
        let dur = end - begin;
        json += &format!(
            r#"{{"ph":"X","name":"{name}","cat":"{category}","ts":{begin},"dur":{dur},"pid":{rank},"tid":1}},"#
        );
    }
    json += &format!(
        r#"{{"ph":"M","name":"ferrum_trace","pid":{rank},"tid":1,"args":{{"rank":{rank},"boot_id":"b","start_monotonic_ns":0}}}}]"#
    );
    input("trace", &json)
}

fn last(skew: &Skew, row: usize) -> Vec<(&str, u64)> {
    let label = |&(rank, n): &(u32, u64)| (skew.ranks[rank as usize].label.as_str(), n);
    skew.rows[row].last.iter().map(label).collect()
}

#[test]
fn the_last_rank_makes_the_others_wait() {
    let made = merged(&[
        rank(1, &[("all_reduce", "comm", 100, 200), ("all_reduce", "comm", 300, 400), ("barrier", "comm", 500, 510)]),
        rank(2, &[("all_reduce", "comm", 150, 200), ("all_reduce", "comm", 390, 400), ("barrier", "comm", 500, 510)]),
        rank(3, &[("all_reduce", "comm", 120, 200), ("all_reduce", "comm", 310, 400), ("barrier", "comm", 509, 510)]),
    ]);
    let skew = &made.merged.collectives;
    let row = &skew.rows[0];
    assert_eq!((row.name.as_str(), row.n, row.n_ranks, row.is_sure), ("all_reduce", 2, 3, true));
    assert_eq!((row.p50_ns, row.p99_ns, row.max_ns), (50_000, 90_000, 90_000));
    assert_eq!(row.waited_ns, (50 + 30 + 90 + 80) * 1_000);
    assert_eq!(row.worst, (1, 290_000), "the second one, on the clock of the merged trace");
    assert_eq!(last(skew, 0), [("rank 2", 2)]);
    assert_eq!(last(skew, 1), [("rank 3", 1)]);
    let of: Vec<(u64, i64, i64)> =
        skew.ranks.iter().map(|rank| (rank.n_last, rank.waited_ns, rank.caused_ns)).collect();
    assert_eq!(of, [(0, 149_000, 0), (2, 9_000, 250_000), (1, 110_000, 18_000)]);
    assert!(made.merged.steps.is_empty());
}

#[test]
fn steps_are_compared_by_their_ends() {
    let made = merged(&[
        rank(0, &[("decode", "step", 0, 100), ("prefill", "step", 110, 200)]),
        rank(1, &[("decode", "step", 0, 130), ("prefill", "step", 140, 210)]),
    ]);
    let skew = &made.merged.steps;
    assert_eq!((skew.rows[0].n, skew.rows[0].max_ns, skew.rows[0].waited_ns), (2, 30_000, 40_000));
    assert_eq!(last(skew, 0), [("rank 1", 2)]);
}

#[test]
fn steps_of_torch_are_compared_by_their_numbers() {
    let trace = |rank: u32, steps: &[(u32, i64)]| {
        let event = |(number, end): &(u32, i64)| {
            let begin = end - 50;
            format!(
                r#"{{"ph":"X","name":"ProfilerStep#{number}","cat":"user_annotation","ts":{begin},"dur":50,"pid":{rank},"tid":1}}"#
            )
        };
        let events: Vec<String> = steps.iter().map(event).collect();
        let fields =
            format!(r#""distributedInfo":{{"rank":{rank}}},"host_name":"h","baseTimeNanoseconds":1800000000000000000"#);
        input("t", &format!("{{{fields},\"traceEvents\":[{}]}}", events.join(",")))
    };
    // The second begins one step later, and continues for one more.
    let made = merged(&[trace(0, &[(4, 100), (5, 200), (6, 300)]), trace(1, &[(5, 230), (6, 310), (7, 400)])]);
    let row = &made.merged.steps.rows[0];
    assert_eq!((row.n, row.max_ns, row.is_sure, row.worst.0), (2, 30_000, true, 5));
}

#[test]
fn begins_and_ends_are_compared_as_well() {
    let trace = |rank: u32, begin: i64| {
        let edge = |phase: &str, name: &str, ts: i64| {
            format!(r#"{{"ph":"{phase}","name":"{name}","cat":"comm","ts":{ts},"pid":{rank},"tid":1}},"#)
        };
        // Slices that are not collectives around it and in it, and an end without a begin before.
        let json = [
            edge("E", "x", 0),
            edge("B", "send", 1),
            edge("B", "all_reduce", begin),
            edge("B", "recv", begin + 1),
            edge("E", "recv", begin + 2),
            edge("E", "all_reduce", 100),
            edge("E", "send", 101),
        ];
        let about = format!(
            r#"{{"ph":"M","name":"ferrum_trace","pid":{rank},"args":{{"rank":{rank},"boot_id":"b","start_monotonic_ns":0}}}}"#
        );
        input("t", &format!("[{}{about}]", json.concat()))
    };
    let made = merged(&[trace(0, 10), trace(1, 27)]);
    let rows: Vec<(&str, u64, i64)> =
        made.merged.collectives.rows.iter().map(|row| (row.name.as_str(), row.n, row.max_ns)).collect();
    assert_eq!(rows, [("all_reduce", 1, 17_000)]);
}

#[test]
fn process_groups_are_compared_separately() {
    let trace = |rank: u32, group: &str, at: i64| {
        let event = format!(
            r#"{{"ph":"X","name":"all_reduce","cat":"comm","ts":{at},"dur":50,"pid":{rank},"tid":1,"args":{{"group":"{group}"}}}}"#
        );
        let about = format!(
            r#"{{"ph":"M","name":"ferrum_trace","pid":{rank},"args":{{"rank":{rank},"boot_id":"b","start_monotonic_ns":0}}}}"#
        );
        input("t", &format!("[{event},{about}]"))
    };
    let made = merged(&[trace(0, "x", 10), trace(1, "x", 15), trace(2, "y", 900), trace(3, "y", 907)]);
    let rows: Vec<(&str, i64)> =
        made.merged.collectives.rows.iter().map(|row| (row.group.as_str(), row.max_ns)).collect();
    assert_eq!(rows, [("y", 7_000), ("x", 5_000)]);
}

/// A recording with one step: its rank if it states one, its host, and its begin on the clock of that host.
fn recording(rank: Option<u32>, (boot_id, host): (&str, &str), start_ns: i64) -> Input {
    let rank = rank.map_or(String::new(), |rank| format!(r#""rank":{rank},"#));
    input(
        "t.json",
        &format!(
            r#"[{{"ph":"X","name":"decode","cat":"step","ts":0,"dur":1000,"pid":7,"tid":7}},{{"ph":"M","name":"ferrum_trace",
            "pid":7,"args":{{{rank}"boot_id":"{boot_id}","host":"{host}","start_monotonic_ns":{start_ns}}}}}]"#
        ),
    )
}

/// Returns the reason why two recordings are not compared; checks that nothing is compared then.
fn reason(one: Input, other: Input) -> Option<NotRanks> {
    let made = merged(&[one, other]).merged;
    assert_eq!(made.not_ranks.is_some(), made.steps.is_empty() && made.collectives.is_empty());
    made.not_ranks
}

#[test]
fn consecutive_runs_are_not_compared() {
    let host = ("b", "h");
    for ranks in [[None, None], [Some(0), Some(1)]] {
        let found = reason(recording(ranks[0], host, 0), recording(ranks[1], host, 131_400_000_000));
        assert_eq!(found, Some(NotRanks::Apart { gap_ns: 131_399_000_000, files: [0, 1] }));
    }
}

#[test]
fn two_traces_of_one_rank_are_not_compared() {
    let found = reason(recording(Some(3), ("b", "h"), 0), recording(Some(3), ("b", "h"), 500));
    assert_eq!(found, Some(NotRanks::SameRank { rank: 3, files: [0, 1] }));
}

#[test]
fn recordings_before_and_after_a_restart_are_not_compared() {
    let found = reason(recording(Some(0), ("b", "h"), 0), recording(Some(1), ("c", "h"), 0));
    assert_eq!(found, Some(NotRanks::HostRestarted { host: "h".to_owned(), files: [0, 1] }));
}

#[test]
fn traces_without_rank_and_clock_are_not_compared() {
    let step = r#"[{"ph":"X","name":"decode","cat":"step","ts":0,"dur":1000,"pid":7,"tid":7}]"#;
    let found = reason(input("a", step), input("b", step));
    assert_eq!(found, Some(NotRanks::Unknown { files: [0, 1] }));
}

#[test]
fn ranks_and_processes_that_run_at_the_same_time_are_compared() {
    assert_eq!(reason(recording(Some(0), ("b", "h"), 0), recording(Some(1), ("b", "h"), 500_000)), None);
    assert_eq!(reason(recording(None, ("b", "h"), 0), recording(None, ("b", "h"), 500_000)), None);
    assert_eq!(reason(recording(Some(0), ("b", "h"), 0), recording(Some(1), ("c", "i"), 9_000_000_000)), None);
}
