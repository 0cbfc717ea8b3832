//! Marks that can be compared across ranks: collectives and steps, in any number, sorted on disk.

use super::collective::{Collective, collective_of, waits_for_all};
use crate::kineto::{ANNOTATION, GPU_ANNOTATION, STEP_PREFIX};
use crate::steps::{Mark as StepMark, StepSource};
use ferrum_trace_format::chrome::read::Event;
use ferrum_trace_format::spill_sort::SpillSort;
use ferrum_trace_model::vocab::step;
use hashbrown::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// Memory budget of the sorter.
const BUDGET_BYTES: usize = 16 << 20;
/// Maximum number of different collectives; others are left out of the tables.
const KEYS_MAX: usize = 4096;
/// Stands for marks that the trace does not number.
const NO_NUMBER: u64 = u64::MAX;
/// Bytes of a member in the file of groups: key, number, participant, file, begin, end.
const MEMBER_BYTES: usize = 8 + 8 + 4 + 4 + 8 + 8;

/// Kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum MarkKind {
    /// A collective.
    Collective {
        /// True if marks last until the rank is done.
        is_whole: bool,
    },
    /// A step of the engine.
    Step(StepSource),
}

/// Key of marks that are compared with each other across ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MarkKey {
    /// Their kind.
    pub kind: MarkKind,
    /// Their name.
    pub name: String,
    /// Name of the process group; empty if the trace does not have it.
    pub group: String,
}

impl MarkKey {
    /// Returns true if no rank ends one before all have begun it.
    pub(super) fn waits_for_all(&self) -> bool {
        self.kind == (MarkKind::Collective { is_whole: true }) && waits_for_all(&self.name)
    }
}

/// Marks of all inputs.
#[derive(Debug)]
pub(super) struct Marks {
    keys: Vec<MarkKey>,
    places: HashMap<MarkKey, u32>,
    sort: SpillSort,
    /// The first error of the sorter.
    failure: Option<io::Error>,
    /// Number of marks with keys beyond the first [`KEYS_MAX`].
    n_beyond: u64,
}

/// Process that a mark belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    /// Index of the input.
    pub file: u32,
    /// Index of the process in it.
    pub process: u32,
}

impl Owner {
    fn packed(self) -> u64 {
        u64::from(self.file) << 32 | u64::from(self.process)
    }

    fn unpacked(packed: u64) -> Self {
        Self { file: (packed >> 32) as u32, process: packed as u32 }
    }
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            places: HashMap::new(),
            sort: SpillSort::new(BUDGET_BYTES),
            failure: None,
            n_beyond: 0,
        }
    }
}

impl Marks {
    /// Adds a complete event if it is a mark.
    pub(super) fn look(&mut self, event: &Event<'_>, owner: Owner) {
        if let (Some(begin), Some(end)) = (event.start.nanos(), event.end())
            && let Some(mark) = mark_of(event)
        {
            self.add(mark, owner, begin, end);
        }
    }

    /// Adds a mark with its begin and end.
    pub(super) fn add(&mut self, mark: Mark, owner: Owner, begin: i64, end: i64) {
        if end < begin {
            return;
        }
        let Mark { key, number } = mark;
        let Some(place) = self.place(key) else {
            self.n_beyond += 1;
            return;
        };
        let sort_key = [u64::from(place), owner.packed(), sortable(begin), sortable(end)];
        let pushed = self.sort.push(sort_key, &number.unwrap_or(NO_NUMBER).to_le_bytes());
        self.failure = self.failure.take().or(pushed.err());
    }

    fn place(&mut self, key: MarkKey) -> Option<u32> {
        if let Some(&place) = self.places.get(&key) {
            return Some(place);
        }
        let place = u32::try_from(self.keys.len()).ok().filter(|_| self.keys.len() < KEYS_MAX)?;
        self.keys.push(key.clone());
        self.places.insert(key, place);
        Some(place)
    }

    /// Groups marks that belong together. `participant_of` returns the rank of a process, `new_places` has the index of
    /// each input in the merged trace.
    pub(super) fn group(self, participant_of: impl Fn(Owner) -> u32, new_places: &[u32]) -> io::Result<Groups> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let by_rank = sort_by_rank(self.sort, &self.keys, participant_of, new_places)?;
        let mut grouped = SpillSort::new(BUDGET_BYTES);
        let mut counts: HashMap<u32, HashMap<u32, u64>> = HashMap::new();
        let mut numbered = HashSet::new();
        let mut sorted = by_rank.finish()?;
        while let Some(([whose, ..], record)) = sorted.next()? {
            let Some((number, member)) = record.split_first_chunk() else { continue };
            let (place, participant, number) = ((whose >> 32) as u32, whose as u32, u64::from_le_bytes(*number));
            let of_participant = counts.entry(place).or_default().entry(participant).or_default();
            let nth = if number == NO_NUMBER { *of_participant } else { number };
            *of_participant += 1;
            if number != NO_NUMBER {
                numbered.insert(place);
            }
            grouped.push([u64::from(place), nth, u64::from(participant), 0], member)?;
        }
        let places = 0..self.keys.len() as u32;
        let is_numbered: Vec<bool> = places.clone().map(|place| numbered.contains(&place)).collect();
        let are_equal = |place: u32| counts.get(&place).is_some_and(are_equal);
        let is_sure = places.map(|place| is_numbered[place as usize] || are_equal(place)).collect();
        let file = write_groups(grouped)?;
        Ok(Groups { keys: self.keys, is_sure, is_numbered, n_beyond: self.n_beyond, file })
    }
}

/// Sorts the marks that count by key, then by rank, then in the order of the merged trace, in which they are numbered.
/// A record is the number of the mark, and its member in the file of groups.
fn sort_by_rank(
    marks: SpillSort,
    keys: &[MarkKey],
    participant_of: impl Fn(Owner) -> u32,
    new_places: &[u32],
) -> io::Result<SpillSort> {
    let kept = kept_kinds(keys);
    let mut by_rank = SpillSort::new(BUDGET_BYTES);
    let mut sorted = marks.finish()?;
    let mut run = Run::default();
    let mut member = Vec::new();
    while let Some(([key, owner, begin, end], number)) = sorted.next()? {
        let (place, owner) = (key as u32, Owner::unpacked(owner));
        let kind = keys[place as usize].kind;
        if !kept.contains(&kind) || !run.is_outermost((place, owner), kind, unsortable(begin), unsortable(end)) {
            continue;
        }
        let new_owner = Owner { file: new_places[owner.file as usize], ..owner };
        member.clear();
        member.extend_from_slice(number);
        member.extend_from_slice(&new_owner.file.to_le_bytes());
        member.extend_from_slice(&unsortable(begin).to_le_bytes());
        member.extend_from_slice(&unsortable(end).to_le_bytes());
        let whose = key << 32 | u64::from(participant_of(owner));
        by_rank.push([whose, new_owner.packed(), begin, end], &member)?;
    }
    Ok(by_rank)
}

/// Filters nested marks of steps: a mark inside another one of the same process is part of it.
#[derive(Default)]
struct Run {
    of: Option<(u32, Owner)>,
    end: i64,
}

impl Run {
    fn is_outermost(&mut self, of: (u32, Owner), kind: MarkKind, begin: i64, end: i64) -> bool {
        if self.of != Some(of) {
            *self = Self { of: Some(of), end: i64::MIN };
        }
        let is_inside = matches!(kind, MarkKind::Step(_)) && end <= self.end && begin < self.end;
        self.end = self.end.max(end);
        !is_inside
    }
}

fn are_equal(counts: &HashMap<u32, u64>) -> bool {
    let mut counts = counts.values();
    let first = counts.next();
    counts.all(|count| Some(count) == first)
}

/// Returns the kinds that count. Calls of collectives count only if no mark shows a complete one; steps of the profiler
/// only if there are no others.
fn kept_kinds(keys: &[MarkKey]) -> HashSet<MarkKind> {
    let all: HashSet<MarkKind> = keys.iter().map(|key| key.kind).collect();
    let has_whole = all.contains(&MarkKind::Collective { is_whole: true });
    let best_step = all.iter().filter(|kind| matches!(kind, MarkKind::Step(_))).min().copied();
    let is_kept = |kind: &MarkKind| match kind {
        MarkKind::Collective { is_whole } => *is_whole || !has_whole,
        MarkKind::Step(_) => Some(*kind) == best_step,
    };
    all.into_iter().filter(is_kept).collect()
}

/// Mark that an event represents.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    key: MarkKey,
    /// Its sequence number among those of its key, if the trace has it.
    number: Option<u64>,
}

/// Returns the mark of an event that belongs to a collective or a step.
pub(super) fn mark_of(event: &Event<'_>) -> Option<Mark> {
    if let Some(Collective { name, group, number, is_whole }) = collective_of(event) {
        let kind = MarkKind::Collective { is_whole };
        return Some(Mark { key: MarkKey { kind, name: name.into_owned(), group: group.into_owned() }, number });
    }
    let (source, number) = step_of(event)?;
    let key = MarkKey { kind: MarkKind::Step(source), name: source.name().to_owned(), group: String::new() };
    Some(Mark { key, number })
}

/// Returns the source and the number of a step, if the event marks one.
fn step_of(event: &Event<'_>) -> Option<(StepSource, Option<u64>)> {
    let category = event.category.and_then(|category| category.plain()).unwrap_or_default();
    if category == step::CATEGORY.as_bytes() {
        return Some((StepSource::Ferrum, None));
    }
    if category == GPU_ANNOTATION.as_bytes() {
        return None;
    }
    let name = event.name?.decode();
    if let Some(mark) = StepMark::of_name(&name) {
        return Some((mark.source, name.strip_prefix(STEP_PREFIX).and_then(|number| number.parse().ok())));
    }
    let mark = StepMark::of_annotation(&name).filter(|_| category == ANNOTATION.as_bytes())?;
    Some((mark.source, None))
}

/// Returns a number that sorts like the time.
fn sortable(time: i64) -> u64 {
    time as u64 ^ 1 << 63
}

fn unsortable(number: u64) -> i64 {
    (number ^ 1 << 63) as i64
}

/// One rank in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// The rank.
    pub participant: u32,
    /// Index of its input.
    pub file: u32,
    /// Its begin, by the clock of its file.
    pub begin: i64,
    /// Its end.
    pub end: i64,
}

/// The same collective or step on several ranks.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// Index of its key.
    pub key: u32,
    /// Its number among those of its key.
    pub number: u64,
    /// Members, one per rank.
    pub members: &'a [Member],
}

/// All groups, in a temporary file.
#[derive(Debug)]
pub(super) struct Groups {
    /// Keys of the groups.
    pub keys: Vec<MarkKey>,
    /// True, by key, if it is certain which marks belong together. Otherwise some ranks have more of them than others,
    /// and the n-th is compared with the n-th.
    pub is_sure: Vec<bool>,
    /// True, by key, if the traces number the marks.
    pub is_numbered: Vec<bool>,
    /// Number of marks that were left out, since there were too many different keys.
    pub n_beyond: u64,
    file: File,
}

/// Writes the members in the order of their groups.
fn write_groups(grouped: SpillSort) -> io::Result<File> {
    let mut out = BufWriter::new(tempfile::tempfile()?);
    let mut sorted = grouped.finish()?;
    let mut last = None;
    while let Some(([key, number, participant, _], record)) = sorted.next()? {
        // A rank that shows a mark twice, in two of its processes, counts once.
        if last == Some((key, number, participant)) {
            continue;
        }
        last = Some((key, number, participant));
        out.write_all(&key.to_le_bytes())?;
        out.write_all(&number.to_le_bytes())?;
        out.write_all(&(participant as u32).to_le_bytes())?;
        out.write_all(record)?;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

impl Groups {
    /// Visits all groups of more than one rank, in the order of their keys and numbers.
    pub(super) fn for_each(&self, mut look: impl FnMut(&Group<'_>) -> io::Result<()>) -> io::Result<()> {
        let mut file = &self.file;
        file.rewind()?;
        let mut input = BufReader::new(file);
        let mut members = Vec::new();
        let mut of = None;
        let mut bytes = [0; MEMBER_BYTES];
        loop {
            let next = if read_whole(&mut input, &mut bytes)? { Some(parse(&bytes)) } else { None };
            let next_of = next.map(|(key, number, _)| (key, number));
            if next_of != of {
                if let (Some((key, number)), true) = (of, members.len() > 1) {
                    look(&Group { key, number, members: &members })?;
                }
                members.clear();
                of = next_of;
            }
            match next {
                Some((.., member)) => members.push(member),
                None => return Ok(()),
            }
        }
    }
}

fn read_whole(input: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(cause) => Err(cause),
    }
}

fn parse(bytes: &[u8; MEMBER_BYTES]) -> (u32, u64, Member) {
    let long = |at: usize| bytes[at..].first_chunk().map_or(0, |long| u64::from_le_bytes(*long));
    let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
    let member = Member { participant: word(16), file: word(20), begin: long(24) as i64, end: long(32) as i64 };
    (long(0) as u32, long(8), member)
}
