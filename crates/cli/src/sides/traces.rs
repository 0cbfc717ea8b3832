//! Groups traces to runs: the ranks and parts of one run belong together.

use ferrum_trace_analyze::runs::{MeasuredTrace, Profile, Run, Stacks};
use std::collections::HashMap;
use std::path::PathBuf;

/// A measured trace with the facts that decide which run it belongs to.
#[derive(Debug)]
pub(super) struct OneTrace {
    pub(super) measured: MeasuredTrace,
    /// The folder of its file.
    pub(super) folder: PathBuf,
    /// Its rank, if it has exactly one.
    pub(super) rank: Option<u32>,
    /// Identity of its recording, if it is one of the files of a rotating recording.
    pub(super) recording: Option<String>,
}

/// Identity of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RunKey {
    /// A trace of its own.
    Trace(usize),
    /// All ranks in a folder. If a rank occurs again, the next run begins.
    Ranks(PathBuf, usize),
    /// All files of a rotating recording.
    Recording(String),
}

/// Joins the traces of each run. Returns the runs in the order of their first traces.
pub(super) fn join(traces: Vec<OneTrace>) -> (Vec<Run>, Profile, Stacks) {
    let (mut profile, mut stacks) = (Profile::default(), Stacks::default());
    let mut runs: Vec<Run> = Vec::new();
    let mut places: HashMap<RunKey, usize> = HashMap::new();
    let mut occurrences: HashMap<(PathBuf, u32), usize> = HashMap::new();
    for (number, trace) in traces.into_iter().enumerate() {
        profile.add(&trace.measured.profile);
        trace.measured.stacks.iter().for_each(|more| stacks.add(more));
        let key = match (trace.recording, trace.rank) {
            (Some(recording), _) => RunKey::Recording(recording),
            (None, Some(rank)) => {
                let occurrence = occurrences.entry((trace.folder.clone(), rank)).or_default();
                *occurrence += 1;
                RunKey::Ranks(trace.folder, *occurrence)
            }
            (None, None) => RunKey::Trace(number),
        };
        match places.get(&key).and_then(|&place| runs.get_mut(place)) {
            Some(run) => run.join(trace.measured.run),
            None => {
                places.insert(key, runs.len());
                runs.push(trace.measured.run);
            }
        }
    }
    (runs, profile, stacks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(folder: &str, rank: Option<u32>, recording: Option<&str>) -> OneTrace {
        let run = Run { names: vec!["t".to_owned()], ranks: rank.into_iter().collect(), ..Run::default() };
        let measured = MeasuredTrace { run, ..MeasuredTrace::default() };
        OneTrace { measured, folder: folder.into(), rank, recording: recording.map(str::to_owned) }
    }

    /// Returns the number of traces of each run.
    fn sizes(traces: Vec<OneTrace>) -> Vec<usize> {
        join(traces).0.iter().map(|run| run.names.len()).collect()
    }

    #[test]
    fn traces_without_a_rank_are_runs() {
        assert_eq!(sizes(vec![trace("a", None, None), trace("a", None, None)]), [1, 1]);
    }

    #[test]
    fn ranks_in_a_folder_are_one_run() {
        let ranks = |folder: &str| [0, 1].map(|rank| trace(folder, Some(rank), None));
        assert_eq!(sizes(ranks("a").into_iter().chain(ranks("b")).collect()), [2, 2]);
    }

    #[test]
    fn a_repeated_rank_begins_another_run() {
        let ranks = [0, 0, 1, 1, 0].map(|rank| trace("a", Some(rank), None));
        assert_eq!(sizes(ranks.into_iter().collect()), [2, 2, 1]);
    }

    #[test]
    fn the_files_of_a_rotating_recording_are_one_run() {
        let parts = ["p1", "p1", "p2"].map(|recording| trace("a", Some(0), Some(recording)));
        assert_eq!(sizes(parts.into_iter().collect()), [2, 1]);
    }
}
