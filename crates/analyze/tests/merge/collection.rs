//! Merges four real ranks, if the collection of real traces is present.

use crate::{Made, input, merged, nanos};
use ferrum_trace_analyze::merge::AlignedBy;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn ranks() -> Option<Vec<String>> {
    let named = std::env::var_os("FERRUM_TRACE_CORPUS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"));
    let read = |rank| fs::read_to_string(folder.join(format!("torch-cpu/ddp-gloo4/rank{rank}.json"))).ok();
    (0..4).map(read).collect()
}

/// Begin and end on each rank, by name and number.
fn collectives(made: &Made) -> BTreeMap<(String, usize), Vec<(i64, i64)>> {
    let mut collectives: BTreeMap<(String, usize), Vec<(i64, i64)>> = BTreeMap::new();
    for input in &made.merged.inputs {
        let of_rank = made.events().iter().filter(|event| event["pid"] == input.processes[0].pid);
        let is_collective = |name: &str| name.starts_with("gloo:") && !name.contains("broadcast");
        let mut spans: Vec<(i64, i64, String)> = of_rank
            .filter(|event| event["name"].as_str().is_some_and(is_collective))
            .map(|event| {
                (
                    nanos(&event["ts"]),
                    nanos(&event["ts"]) + nanos(&event["dur"]),
                    event["name"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        spans.sort();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (begin, end, name) in spans {
            let nth = counts.entry(name.clone()).or_default();
            collectives.entry((name, *nth)).or_default().push((begin, end));
            *nth += 1;
        }
    }
    collectives
}

#[test]
fn four_ranks_of_torch_are_aligned_by_the_clock_of_their_host() {
    let Some(ranks) = ranks() else {
        println!("the collection of real traces is not there");
        return;
    };
    // Not in their order.
    let inputs: Vec<_> = [2, 0, 3, 1].map(|rank: usize| input(&format!("{rank}.json"), &ranks[rank])).to_vec();
    let made = merged(&inputs);
    made.assert_clean();
    let found: Vec<(Option<u32>, AlignedBy)> =
        made.merged.inputs.iter().map(|input| (input.rank, input.alignment.by)).collect();
    let expected = [AlignedBy::Reference, AlignedBy::HostWall, AlignedBy::HostWall, AlignedBy::HostWall];
    assert_eq!(found, (0..4).map(Some).zip(expected).collect::<Vec<_>>());
    let bound = made.merged.inputs.iter().map(|input| input.alignment.error_ns.unwrap()).max().unwrap();
    assert!(bound < 10_000_000, "{bound}");
    let collectives = collectives(&made);
    assert_eq!(collectives.len(), 8 + 4 + 4);
    for ((name, nth), spans) in &collectives {
        assert_eq!(spans.len(), 4);
        let last_begin = spans.iter().map(|&(begin, _)| begin).max().unwrap();
        let first_end = spans.iter().map(|&(_, end)| end).min().unwrap();
        assert!(first_end >= last_begin, "{name} {nth} ends before all have begun it");
    }
    let skew = &made.merged.collectives;
    assert_eq!(skew.rows.iter().map(|row| row.n).sum::<u64>(), 22, "with the broadcasts");
    assert!(skew.rows.iter().all(|row| row.is_sure && row.n_ranks == 4 && row.max_ns < 1_000_000_000));
}
