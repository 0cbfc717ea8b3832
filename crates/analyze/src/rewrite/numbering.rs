//! Assigns numbers to processes and threads whose ids viewers do not accept.

use crate::check::ids::number;
use ferrum_trace_model::{ProcessId, StringId, Strings, TrackId, Tracks};
use hashbrown::HashSet;

/// New numbers begin after the largest in use below this one.
const ROOM: u32 = 1 << 30;

/// Numbers that are not in use.
#[derive(Debug, Default)]
pub(crate) struct FreeNumbers {
    used: HashSet<u32>,
    last: u32,
}

impl FreeNumbers {
    /// Creates the set of numbers that none of these files use.
    pub(crate) fn beside<'a>(files: impl Iterator<Item = (&'a Tracks, &'a Strings)>) -> Self {
        let mut used = HashSet::new();
        for (tracks, strings) in files {
            let plain = |id: Option<StringId>| plain_number(id, strings);
            used.extend(tracks.processes().filter_map(|(_, process)| plain(process.pid)));
            used.extend(tracks.iter().filter_map(|(_, track)| plain(track.tid)));
        }
        let last = used.iter().copied().filter(|&id| id < ROOM).max().unwrap_or(0);
        Self { used, last }
    }

    /// Takes a number, never 0.
    pub(crate) fn take(&mut self) -> u32 {
        loop {
            self.last = (self.last + 1) % (i32::MAX as u32);
            if self.last > 0 && self.used.insert(self.last) {
                return self.last;
            }
        }
    }
}

/// Returns the number of an id if viewers accept it.
fn plain_number(id: Option<StringId>, strings: &Strings) -> Option<u32> {
    number(strings.get(id?).as_bytes())
}

/// Number of a process or a thread in the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Id {
    /// The number.
    pub number: u32,
    /// True if the input has another id for it, or none.
    pub is_new: bool,
}

impl Id {
    /// A number that the input has too.
    pub(crate) fn kept(number: u32) -> Self {
        Self { number, is_new: false }
    }

    /// A number that the input does not have.
    pub(crate) fn new(number: u32) -> Self {
        Self { number, is_new: true }
    }
}

/// Source of the numbers of [`Numbers::assign`].
pub(crate) trait NumberSource {
    /// Returns the number of a process. `plain` is its number in the input, if viewers accept that.
    fn pid(&mut self, id: Option<StringId>, plain: Option<u32>) -> Id;

    /// Returns a number for a thread that cannot keep its id. `pid` is the number of its process.
    fn new_tid(&mut self, pid: u32, id: Option<StringId>) -> u32;
}

/// Numbers of the processes and threads of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// By process.
    pids: Vec<Id>,
    /// By track; `None` if nothing is shown on it and it has no id.
    tids: Vec<Option<Id>>,
}

impl Numbers {
    /// Gives a number to every process and every thread that needs one.
    pub(crate) fn assign(
        tracks: &Tracks,
        strings: &Strings,
        is_shown: impl Fn(TrackId) -> bool,
        source: &mut impl NumberSource,
    ) -> Self {
        let mut numbers = Self::default();
        for (_, process) in tracks.processes() {
            numbers.pids.push(source.pid(process.pid, plain_number(process.pid, strings)));
        }
        for (id, track) in tracks.iter() {
            let pid = numbers.pid(track.process).map(|pid| pid.number).unwrap_or_default();
            numbers.tids.push(match ThreadNumber::of(track.tid, strings, is_shown(id), pid) {
                ThreadNumber::Kept(tid) => Some(Id::kept(tid)),
                ThreadNumber::New => Some(Id::new(source.new_tid(pid, track.tid))),
                ThreadNumber::Nothing => None,
            });
        }
        numbers
    }

    /// Returns the number of a process.
    pub(crate) fn pid(&self, process: ProcessId) -> Option<Id> {
        self.pids.get(process.index()).copied()
    }

    /// Returns the number of a thread, or `None` if it needs none.
    pub(crate) fn tid(&self, track: TrackId) -> Option<Id> {
        self.tids.get(track.index()).copied().flatten()
    }
}

/// Treatment of the id of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadNumber {
    /// It is kept.
    Kept(u32),
    /// It needs a new number.
    New,
    /// It needs no number.
    Nothing,
}

impl ThreadNumber {
    /// Decides about a thread with this id. `is_shown` is true if something is shown on it, `pid` is the number of its
    /// process.
    fn of(tid: Option<StringId>, strings: &Strings, is_shown: bool, pid: u32) -> Self {
        match (tid, plain_number(tid, strings)) {
            // Viewers treat thread 0 as the idle thread.
            (Some(_), Some(0)) if is_shown && pid != 0 => Self::New,
            (Some(_), Some(number)) => Self::Kept(number),
            (Some(_), None) => Self::New,
            (None, _) if is_shown => Self::New,
            (None, _) => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (Tracks, Strings) {
        let (mut tracks, mut strings) = (Tracks::default(), Strings::default());
        for (pid, tid) in [("7", "0"), ("8", "stream 9"), ("4294967295", "2147483647")] {
            let (pid, tid) = (strings.intern(pid), strings.intern(tid));
            tracks.track(Some(pid), Some(tid));
        }
        (tracks, strings)
    }

    #[test]
    fn numbers_that_are_taken_are_unused() {
        let (tracks, strings) = file();
        let mut free = FreeNumbers::beside([(&tracks, &strings)].into_iter());
        assert_eq!([free.take(), free.take()], [9, 10]);
        free.last = i32::MAX as u32 - 2;
        assert_eq!([free.take(), free.take()], [i32::MAX as u32 - 1, 1], "numbers wrap around and skip 0");
        free.last = 6;
        assert_eq!(free.take(), 11);
    }

    #[test]
    fn threads_keep_ids_that_viewers_accept() {
        let (tracks, strings) = file();
        let of = |n: usize, is_shown, pid| {
            let (_, track) = tracks.iter().nth(n).unwrap();
            ThreadNumber::of(track.tid, &strings, is_shown, pid)
        };
        assert_eq!(
            [of(0, true, 7), of(0, true, 0), of(0, false, 7)],
            [ThreadNumber::New, ThreadNumber::Kept(0), ThreadNumber::Kept(0)]
        );
        assert_eq!([of(1, true, 8), of(2, true, 9)], [ThreadNumber::New, ThreadNumber::Kept(i32::MAX as u32)]);
        let none = |is_shown| ThreadNumber::of(None, &strings, is_shown, 7);
        assert_eq!([none(true), none(false)], [ThreadNumber::New, ThreadNumber::Nothing]);
    }
}
