//! Numbers for processes and threads in formats that need 32-bit numbers.

use ferrum_trace_model::{ProcessId, StringId, Strings, TrackId, Tracks};
use hashbrown::HashSet;

/// First number for processes and threads without a usable one. The two ranges differ, because a thread with the number
/// of its process would be its main thread.
const FIRST_GIVEN_PID: i32 = 1 << 30;
const FIRST_GIVEN_TID: i32 = 1 << 30 | 1 << 29;

/// Numbers of all processes and threads: those of the file if they are integers from 1 to 2^31 - 1, else new ones,
/// since viewers treat 0 specially and have no room for larger ones.
#[derive(Debug)]
pub(super) struct OutputNumbers {
    pids: Vec<i32>,
    tids: Vec<i32>,
    /// Larger than all numbers of processes in use.
    next_pid: i32,
    /// Larger than all numbers of threads in use.
    next_tid: i32,
}

impl OutputNumbers {
    /// Assigns the numbers of all processes and threads.
    pub(super) fn of(tracks: &Tracks, strings: &Strings) -> Self {
        let pids: Vec<_> = tracks.processes().map(|(_, process)| process.pid).collect();
        let tids: Vec<_> = tracks.iter().map(|(_, track)| track.tid).collect();
        let (pids, tids) = (numbers(&pids, FIRST_GIVEN_PID, strings), numbers(&tids, FIRST_GIVEN_TID, strings));
        let after = |numbers: &[i32], first: i32| numbers.iter().copied().fold(first - 1, i32::max).saturating_add(1);
        let (next_pid, next_tid) = (after(&pids, FIRST_GIVEN_PID), after(&tids, FIRST_GIVEN_TID));
        Self { pids, tids, next_pid, next_tid }
    }

    /// Returns the number of a process.
    pub(super) fn pid(&self, process: ProcessId) -> i32 {
        self.pids[process.index()]
    }

    /// Returns the number of a thread.
    pub(super) fn tid(&self, track: TrackId) -> i32 {
        self.tids[track.index()]
    }

    /// Returns a number for a process that the file does not have.
    pub(super) fn another_pid(&mut self) -> i32 {
        let pid = self.next_pid;
        self.next_pid = pid.saturating_add(1);
        pid
    }

    /// Returns a number for a track that the file does not have.
    pub(super) fn another_tid(&mut self) -> i32 {
        let tid = self.next_tid;
        self.next_tid = tid.saturating_add(1);
        tid
    }
}

/// Returns a number for each id. New numbers are unique across processes.
fn numbers(ids: &[Option<StringId>], first_given: i32, strings: &Strings) -> Vec<i32> {
    let known = |id: &Option<StringId>| id.and_then(|id| usable(strings.get(id)));
    let taken: HashSet<i32> = ids.iter().filter_map(known).collect();
    let mut free = (first_given..i32::MAX).filter(|number| !taken.contains(number));
    ids.iter().map(|id| known(id).or_else(|| free.next()).unwrap_or(i32::MAX)).collect()
}

/// Parses the number of an id in canonical spelling: `07` is not `7`.
pub(super) fn usable(id: &str) -> Option<i32> {
    let number: i32 = id.parse().ok()?;
    (number > 0 && number.to_string() == id).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_ids_get_unused_numbers() {
        let (mut strings, mut tracks) = (Strings::default(), Tracks::default());
        let ids = ["7", "0", "stream 7", "07", "-3", "1073741824", "99999999999"];
        for id in ids {
            let id = Some(strings.intern(id));
            tracks.track(id, id);
        }
        tracks.track(None, None);
        let mut numbering = OutputNumbers::of(&tracks, &strings);
        let pid = |n: i32| FIRST_GIVEN_PID + n;
        assert_eq!(numbering.pids, [7, pid(1), pid(2), pid(3), pid(4), FIRST_GIVEN_PID, pid(5), pid(6)]);
        let tid = |n: i32| FIRST_GIVEN_TID + n;
        assert_eq!(numbering.tids, [7, tid(0), tid(1), tid(2), tid(3), FIRST_GIVEN_PID, tid(4), tid(5)]);
        assert_eq!((numbering.another_tid(), numbering.another_tid()), (tid(6), tid(7)));
    }
}
