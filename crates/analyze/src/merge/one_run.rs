//! Decides whether traces can be ranks of one run.

use super::align::{AlignedBy, Alignment};
use super::skew::Skew;
use super::survey::Surveyed;
use hashbrown::HashMap;

/// Largest plausible difference between the wall clocks of hosts.
const UNKNOWN_HOSTS_GAP_NS: i128 = 60_000_000_000;

/// The reason why traces are not compared as ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRanks {
    /// Two of them have the same rank.
    SameRank {
        /// The rank.
        rank: u32,
        /// Their indices among the inputs of the merged trace.
        files: [usize; 2],
    },
    /// One ends before the other begins.
    Apart {
        /// The time in between.
        gap_ns: i64,
        /// Their indices: the earlier one, the later one.
        files: [usize; 2],
    },
    /// Their host was restarted in between.
    HostRestarted {
        /// The host.
        host: String,
        /// Their indices.
        files: [usize; 2],
    },
    /// They state neither their rank nor the time of the recording.
    Unknown {
        /// Their indices.
        files: [usize; 2],
    },
}

impl NotRanks {
    /// Returns the short name of the reason, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SameRank { .. } => "same rank",
            Self::Apart { .. } => "no overlap in time",
            Self::HostRestarted { .. } => "host restarted",
            Self::Unknown { .. } => "no rank and no clock",
        }
    }

    /// Returns the indices of two traces that are not ranks of one run.
    pub fn files(&self) -> [usize; 2] {
        match self {
            Self::SameRank { files, .. }
            | Self::Apart { files, .. }
            | Self::HostRestarted { files, .. }
            | Self::Unknown { files } => *files,
        }
    }
}

/// A participant of a comparison: the first file of its recording, and its rank if that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Participant {
    pub leader: usize,
    pub rank: Option<u32>,
}

/// Returns a reason why the traces are not ranks of one run, if there is one.
pub(super) fn not_ranks(
    files: &[Surveyed],
    leaders: &[usize],
    participants: &[Participant],
    alignments: &[Alignment],
    compared: [&Skew; 2],
) -> Option<NotRanks> {
    let spans = spans_of_recordings(files, leaders);
    let mut rows = compared.into_iter().flat_map(|skew| &skew.rows);
    rows.find_map(|row| {
        let members = row.members.iter().filter_map(|&member| participants.get(member as usize).copied());
        let members: Vec<Participant> = members.collect();
        let mut places: Vec<usize> = members.iter().map(|member| member.leader).collect();
        places.sort_unstable();
        places.dedup();
        same_rank(&members)
            .or_else(|| host_restarted(files, &places))
            .or_else(|| apart(files, &spans, &places))
            .or_else(|| unknown(&members, alignments))
    })
}

fn same_rank(participants: &[Participant]) -> Option<NotRanks> {
    let mut of_ranks: HashMap<u32, usize> = HashMap::new();
    participants.iter().find_map(|&Participant { leader, rank }| {
        let rank = rank?;
        let first = *of_ranks.entry(rank).or_insert(leader);
        (first != leader).then_some(NotRanks::SameRank { rank, files: [first, leader] })
    })
}

fn host_restarted(files: &[Surveyed], places: &[usize]) -> Option<NotRanks> {
    let mut of_hosts: HashMap<&str, (usize, &str)> = HashMap::new();
    places.iter().find_map(|&place| {
        let anchor = &files[place].anchor;
        let (host, (boot_id, _)) = (anchor.host.as_deref()?, anchor.monotonic.as_ref()?);
        let &mut (first, known) = of_hosts.entry(host).or_insert((place, boot_id));
        let is_other = known != boot_id;
        is_other.then(|| NotRanks::HostRestarted { host: host.to_owned(), files: [first, place] })
    })
}

/// A clock that several files share.
#[derive(PartialEq, Eq, Hash)]
enum Clock<'a> {
    Monotonic(&'a str),
    /// The wall clock of a host, or of any host if the files do not state it.
    Wall(Option<&'a str>),
}

impl Clock<'_> {
    /// Returns the smallest gap that proves anything: the clocks of two hosts may differ.
    fn least_gap_ns(&self) -> i128 {
        if *self == Self::Wall(None) { UNKNOWN_HOSTS_GAP_NS } else { 1 }
    }
}

fn apart(files: &[Surveyed], spans: &[Option<Span>], places: &[usize]) -> Option<NotRanks> {
    // By clock: the first end and the last begin, each with its file.
    let mut edges: HashMap<Clock<'_>, [(i128, usize); 2]> = HashMap::new();
    for &place in places {
        let Some((begin, end)) = spans[place] else { continue };
        for (clock, zero) in clocks(&files[place]) {
            let (begin, end) = (zero + i128::from(begin), zero + i128::from(end));
            let [first_end, last_begin] = edges.entry(clock).or_insert([(end, place), (begin, place)]);
            *first_end = (*first_end).min((end, place));
            *last_begin = (*last_begin).max((begin, place));
        }
    }
    let gaps = edges.into_iter().filter_map(|(clock, [(end, one), (begin, other)])| {
        let gap = begin - end;
        (gap >= clock.least_gap_ns()).then_some((gap, [one, other]))
    });
    let (gap, files) = gaps.max()?;
    Some(NotRanks::Apart { gap_ns: i64::try_from(gap).unwrap_or(i64::MAX), files })
}

/// Returns the clocks by which files can be compared, and their values at time zero of the file.
fn clocks(file: &Surveyed) -> impl Iterator<Item = (Clock<'_>, i128)> {
    let anchor = &file.anchor;
    let monotonic = anchor.monotonic.as_ref().map(|(boot_id, zero)| (Clock::Monotonic(boot_id), i128::from(*zero)));
    let wall = anchor.unix.map(|zero| (Clock::Wall(anchor.host.as_deref()), i128::from(zero)));
    monotonic.into_iter().chain(wall)
}

/// First and last time.
type Span = (i64, i64);

/// Returns the span of all files of a recording, by its first file. They share one time zero.
fn spans_of_recordings(files: &[Surveyed], leaders: &[usize]) -> Vec<Option<Span>> {
    let mut spans: Vec<Option<Span>> = vec![None; files.len()];
    for (file, &leader) in files.iter().zip(leaders) {
        if let Some((begin, end)) = file.span {
            let span = spans[leader].get_or_insert((begin, end));
            *span = (span.0.min(begin), span.1.max(end));
        }
    }
    spans
}

fn unknown(participants: &[Participant], alignments: &[Alignment]) -> Option<NotRanks> {
    let is_unknown = |place: usize| {
        matches!(alignments.get(place).map(|alignment| alignment.by), Some(AlignedBy::Start | AlignedBy::Nothing))
    };
    let mut unranked = participants.iter().filter(|participant| participant.rank.is_none());
    let first = unranked.next()?.leader;
    let other = unranked.map(|participant| participant.leader).find(|&place| place != first && is_unknown(place))?;
    Some(NotRanks::Unknown { files: [first, other] })
}
