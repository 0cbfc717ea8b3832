//! Finds the files of one recording: a rotating recording has several parts.

use super::survey::Surveyed;
use hashbrown::{HashMap, HashSet};

/// Rotating recording. All its parts have the same process and the same time zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Recording {
    /// Id of its monotonic clock, if the system has it.
    pub boot_id: Option<String>,
    /// Value of that clock at time zero.
    pub start_monotonic_ns: i64,
    /// The process, as text.
    pub pid: String,
}

/// One part of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    /// The recording.
    pub recording: Recording,
    /// Number of the part.
    pub number: u64,
}

/// Returns, for each file, the index of the first file of the same recording.
pub(super) fn leaders<'a>(files: &'a [Surveyed]) -> Vec<usize> {
    let mut first: HashMap<&Recording, usize> = HashMap::new();
    let mut known: HashSet<&Part> = HashSet::new();
    let leader = |(place, file): (usize, &'a Surveyed)| {
        // A duplicate of a part counts as another trace: its events would overlap.
        let part = file.part.as_ref().filter(|part| known.insert(part));
        part.map_or(place, |part| *first.entry(&part.recording).or_insert(place))
    };
    files.iter().enumerate().map(leader).collect()
}
