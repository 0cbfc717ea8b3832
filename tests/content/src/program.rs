//! Small programs of guards, marks and explicit times, in any order. The child runs one; the test computes the expected
//! slices.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Names that marks share, so that a call site gets the same names again and in other orders.
pub const MARKS: [&str; 4] = ["attention", "mlp", "norm", "sample"];

/// Names of the tracks that all threads share.
pub const TRACKS: [&str; 2] = ["GPU 0 / stream 7", "connection"];

/// The way a guard is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// `span!` with its id as argument.
    Span,
    /// `span!` with a text that is copied.
    SpanWithText,
    /// `span!` with more arguments than fit into the head of a record.
    SpanWithMany,
    /// `Span::dynamic`, with its id in the name.
    Dynamic,
    /// `laps!`.
    Laps,
}

/// One operation of a thread. An index of an open guard is taken modulo their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Open(Guard),
    /// Drops one of the open guards, not necessarily the last.
    Drop(usize),
    Forget(usize),
    /// Marks one of the open `laps!`, if there is any: with a shared name, or a name of its own.
    Mark(usize, Option<usize>),
    Instant,
    /// `complete_at` on a track: nanoseconds from the base to the begin, and the duration; true for a name of its own.
    CompleteAt(usize, i64, u64, bool),
    /// `push` to the process's trace or to a separate writer: row, and duration in nanoseconds.
    Push(bool, u32, u64),
    Flush,
    /// Waits for some time.
    Work(u32),
}

/// The operations of all threads, which run concurrently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub threads: Vec<Vec<Op>>,
}

impl Program {
    /// The id of an operation, which its events carry.
    pub fn id(thread: usize, at: usize) -> u64 {
        (thread * 1_000_000 + at) as u64
    }

    pub fn thread_name(thread: usize) -> String {
        format!("worker {thread}")
    }
}

/// A slice that must be in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub name: String,
    /// The argument `id`, if the slice has one.
    pub id: Option<u64>,
    pub thread: usize,
    pub place: Timing,
}

/// Track and time of a slice, as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timing {
    /// On the thread, between two of its operations.
    Thread { opened: usize, closed: usize },
    /// On a track, nanoseconds from the base.
    Track { track: usize, begin: i64, duration: u64 },
    /// On a row of the original engine's interface.
    Pushed { own: bool, tid: u32, duration: u64 },
}

/// A guard that is open at the current operation.
#[derive(Clone, Copy)]
struct Open {
    guard: Guard,
    opened: usize,
    /// End of its last lap.
    last_mark: usize,
}

impl Program {
    /// All slices that have ended at the end of the program.
    pub fn expected(&self) -> Vec<Expected> {
        let threads = self.threads.iter().enumerate();
        threads.flat_map(|(thread, ops)| expected_of_thread(thread, ops)).collect()
    }

    pub fn n_instants(&self) -> usize {
        self.threads.iter().flatten().filter(|op| **op == Op::Instant).count()
    }
}

fn expected_of_thread(thread: usize, ops: &[Op]) -> Vec<Expected> {
    let mut open: Vec<Open> = Vec::new();
    let mut found = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let id = Program::id(thread, at);
        match *op {
            Op::Open(guard) => open.push(Open { guard, opened: at, last_mark: at }),
            Op::Drop(slot) if !open.is_empty() => {
                let closed = open.remove(slot % open.len());
                found.push(closed.ended(thread, at));
            }
            Op::Forget(slot) if !open.is_empty() => {
                open.remove(slot % open.len());
            }
            Op::Mark(slot, name) => {
                let mut laps: Vec<&mut Open> = open.iter_mut().filter(|open| open.guard == Guard::Laps).collect();
                let n_laps = laps.len();
                if n_laps > 0 {
                    let lap = &mut laps[slot % n_laps];
                    let place = Timing::Thread { opened: lap.last_mark, closed: at };
                    lap.last_mark = at;
                    let name = name.map_or_else(|| mark_name(id), |name| MARKS[name % MARKS.len()].to_owned());
                    found.push(Expected { name, id: None, thread, place });
                }
            }
            Op::CompleteAt(track, begin, duration, is_named) => {
                let place = Timing::Track { track: track % TRACKS.len(), begin, duration };
                let (name, id) = if is_named { (track_slice_name(id), None) } else { ("gemm".into(), Some(id)) };
                found.push(Expected { name, id, thread, place });
            }
            Op::Push(own, tid, duration) => {
                let place = Timing::Pushed { own, tid, duration };
                found.push(Expected { name: "pushed".into(), id: Some(id), thread, place });
            }
            Op::Drop(_) | Op::Forget(_) | Op::Instant | Op::Flush | Op::Work(_) => {}
        }
    }
    found.extend(open.iter().rev().map(|open| open.ended(thread, ops.len())));
    found
}

impl Open {
    fn ended(&self, thread: usize, closed: usize) -> Expected {
        let id = Program::id(thread, self.opened);
        let (name, id) = match self.guard {
            Guard::Span => ("span".to_owned(), Some(id)),
            Guard::SpanWithText => ("span with text".to_owned(), Some(id)),
            Guard::SpanWithMany => ("span with many".to_owned(), Some(id)),
            Guard::Dynamic => (dynamic_name(id), None),
            Guard::Laps => ("laps".to_owned(), Some(id)),
        };
        Expected { name, id, thread, place: Timing::Thread { opened: self.opened, closed } }
    }
}

pub fn dynamic_name(id: u64) -> String {
    format!("dynamic {id}")
}

pub fn mark_name(id: u64) -> String {
    format!("mark {id}")
}

pub fn track_slice_name(id: u64) -> String {
    format!("named {id}")
}

/// Counts how often each name and id occurs.
pub fn census<'a>(names: impl Iterator<Item = (&'a str, Option<u64>)>) -> BTreeMap<(String, Option<u64>), usize> {
    let mut census = BTreeMap::new();
    for (name, id) in names {
        *census.entry((name.to_owned(), id)).or_default() += 1;
    }
    census
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ops in &self.threads {
            writeln!(f, "thread")?;
            for op in ops {
                writeln!(f, "{op}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(guard) => write!(f, "open {guard:?}"),
            Self::Drop(slot) => write!(f, "drop {slot}"),
            Self::Forget(slot) => write!(f, "forget {slot}"),
            Self::Mark(slot, None) => write!(f, "mark {slot} own"),
            Self::Mark(slot, Some(name)) => write!(f, "mark {slot} {name}"),
            Self::Instant => f.write_str("instant"),
            Self::CompleteAt(track, begin, duration, named) => write!(f, "complete {track} {begin} {duration} {named}"),
            Self::Push(own, tid, duration) => write!(f, "push {own} {tid} {duration}"),
            Self::Flush => f.write_str("flush"),
            Self::Work(rounds) => write!(f, "work {rounds}"),
        }
    }
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut program = Self::default();
        for line in text.lines() {
            if line == "thread" {
                program.threads.push(Vec::new());
            } else {
                program.threads.last_mut().ok_or("an operation before the first thread")?.push(line.parse()?);
            }
        }
        Ok(program)
    }
}

impl FromStr for Op {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split(' ').collect();
        Ok(match words[..] {
            ["open", guard] => Self::Open(guard.parse()?),
            ["drop", slot] => Self::Drop(parsed(slot)?),
            ["forget", slot] => Self::Forget(parsed(slot)?),
            ["mark", slot, "own"] => Self::Mark(parsed(slot)?, None),
            ["mark", slot, name] => Self::Mark(parsed(slot)?, Some(parsed(name)?)),
            ["instant"] => Self::Instant,
            ["complete", track, begin, duration, named] => {
                Self::CompleteAt(parsed(track)?, parsed(begin)?, parsed(duration)?, parsed(named)?)
            }
            ["push", own, tid, duration] => Self::Push(parsed(own)?, parsed(tid)?, parsed(duration)?),
            ["flush"] => Self::Flush,
            ["work", rounds] => Self::Work(parsed(rounds)?),
            _ => return Err(format!("unknown operation: `{line}`")),
        })
    }
}

impl FromStr for Guard {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let all = [Self::Span, Self::SpanWithText, Self::SpanWithMany, Self::Dynamic, Self::Laps];
        all.into_iter().find(|guard| format!("{guard:?}") == word).ok_or_else(|| format!("unknown guard: `{word}`"))
    }
}

fn parsed<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("cannot read `{word}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_same_after_writing_and_parsing() {
        let ops = vec![
            Op::Open(Guard::Laps),
            Op::Mark(0, None),
            Op::Mark(3, Some(1)),
            Op::Open(Guard::Dynamic),
            Op::Drop(0),
            Op::Forget(7),
            Op::Instant,
            Op::CompleteAt(1, -5, 7, true),
            Op::Push(false, 4, 900),
            Op::Flush,
            Op::Work(10),
        ];
        let program = Program { threads: vec![ops, vec![]] };
        assert_eq!(program.to_string().parse(), Ok(program));
    }

    #[test]
    fn a_forgotten_guard_is_not_expected() {
        let ops = vec![Op::Open(Guard::Span), Op::Open(Guard::Laps), Op::Forget(0), Op::Mark(9, Some(0))];
        let expected = Program { threads: vec![ops] }.expected();
        let names: Vec<&str> = expected.iter().map(|slice| slice.name.as_str()).collect();
        assert_eq!(names, ["attention", "laps"]);
    }
}
