//! Ranks of processes in merged traces.

use ferrum_trace_model::vocab::about::RANK_LABEL;
use ferrum_trace_model::{ProcessId, Trace, TrackId};

/// Rank of each process, as its label or its name states it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranks {
    of_process: Vec<Option<u32>>,
}

impl Ranks {
    /// Finds the ranks of a trace.
    pub(crate) fn of(trace: &Trace) -> Self {
        let text = |id: Option<_>| id.map_or("", |id| trace.strings.get(id));
        let rank = |(_, process): (ProcessId, &ferrum_trace_model::Process)| {
            stated(text(process.labels)).or_else(|| stated(text(process.name)))
        };
        Self { of_process: trace.tracks.processes().map(rank).collect() }
    }

    /// Returns the rank of a process.
    pub(crate) fn of_process(&self, process: ProcessId) -> Option<u32> {
        self.of_process.get(process.index()).copied().flatten()
    }

    /// Returns the rank of the process of a track.
    pub(crate) fn of_track(&self, trace: &Trace, track: TrackId) -> Option<u32> {
        self.of_process(trace.tracks.get(track).process)
    }

    /// Returns all ranks, sorted.
    pub(crate) fn all(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.of_process.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Returns the number after the word `rank` in a label.
fn stated(label: &str) -> Option<u32> {
    label.match_indices(RANK_LABEL).find_map(|(at, word)| {
        let is_word = !label[..at].ends_with(|letter: char| letter.is_alphanumeric());
        let digits = label[at + word.len()..].split(|letter: char| !letter.is_ascii_digit()).next()?;
        digits.parse().ok().filter(|_| is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_a_number_after_the_word() {
        assert_eq!(stated("rank 3"), Some(3));
        assert_eq!(stated("python, rank 12 (host a)"), Some(12));
        assert_eq!(stated("frank 3"), None);
        assert_eq!(stated("rank three"), None);
    }
}
