//! Which files are of one recording: a rotating one goes on from file to file.

use super::survey::Surveyed;
use hashbrown::{HashMap, HashSet};

/// A rotating recording. All its files have one process, and count their times from one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Recording {
    /// Which monotonic clock it has, where the system tells.
    pub boot_id: Option<String>,
    /// What that said at time zero.
    pub start_monotonic_ns: i64,
    /// The process, as text.
    pub pid: String,
}

/// One file of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    /// Of what.
    pub recording: Recording,
    /// Which one.
    pub number: u64,
}

/// By file: the place of the first that is of the same recording, which is its own if there is none before.
pub(super) fn leaders<'a>(files: &'a [Surveyed]) -> Vec<usize> {
    let mut first: HashMap<&Recording, usize> = HashMap::new();
    let mut known: HashSet<&Part> = HashSet::new();
    let leader = |(place, file): (usize, &'a Surveyed)| {
        // The same file again is another trace: it would lie upon itself.
        let part = file.part.as_ref().filter(|part| known.insert(part));
        part.map_or(place, |part| *first.entry(&part.recording).or_insert(place))
    };
    files.iter().enumerate().map(leader).collect()
}
