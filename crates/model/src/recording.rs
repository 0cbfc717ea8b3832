//! Facts about a recording, as its recorder stated them in the trace.

use crate::vocab::about::{DumpRefusal, StopReason};

/// Maximum number of recordings, threads and triggers of one trace that are kept in detail; all are counted.
const DETAILS_MAX: usize = 1000;

/// Facts about one recording. A trace has one of these for each process that recorded it and, if the recording rotated
/// and its files were merged, for each file. Facts that the trace does not state are `None`, zero or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The process in this trace, as text. A merge may have given it another number than it had.
    pub process: Option<String>,
    /// The process when it recorded, as text.
    pub pid: Option<String>,
    /// The rank of the process.
    pub rank: Option<u32>,
    /// The name of the host.
    pub host: Option<String>,
    /// The boot of the host, which identifies its monotonic clock.
    pub boot_id: Option<String>,
    /// Time zero of the trace on the monotonic clock of the host.
    pub start_monotonic_ns: Option<i64>,
    /// Time zero of the trace, in nanoseconds since 1970.
    pub start_unix_ns: Option<i64>,
    /// The number of the file, if the recording rotates: from 1 on.
    pub part: Option<u64>,
    /// Number of recorded events.
    pub recorded: Option<u64>,
    /// Number of lost events.
    pub dropped: u64,
    /// Number of lost events of each thread. Losses that belong to no thread are only in `dropped`.
    pub dropped_by_thread: Vec<(String, u64)>,
    /// Number of open spans. Each is a slice with the argument `unclosed`.
    pub unfinished: u64,
    /// The open spans of each thread, outermost first: `decode > layer > gemm`.
    pub unfinished_by_thread: Vec<(String, String)>,
    /// Number of argument texts that are missing.
    pub lost_texts: u64,
    /// Number of damaged places in the spool that the trace was made from.
    pub damaged_places: u64,
    /// Upper bound for the number of events that are missing because of this damage.
    pub missing_events_max: u64,
    /// The reason, if recording stopped before its program did.
    pub stop_reason: Option<StopReason>,
    /// The size limit of the recording in bytes, if it was reached.
    pub limit_bytes: Option<u64>,
    /// Size of the ring of a flight recorder in bytes.
    pub ring_bytes: Option<u64>,
    /// Number of overwritten chunks of the ring.
    pub overwritten_chunks: u64,
    /// The trigger that caused the dump, if the trace is a dump of a flight recorder.
    pub trigger: Option<Trigger>,
    /// Number of refused dumps of a flight recorder, by reason.
    pub dumps_refused: RefusedDumps,
}

/// The reason for a dump of a flight recorder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// The trigger, such as `ttft>300ms`, or the reason that the program gave.
    pub reason: String,
    /// A description of the event, such as `request 2 waited 312.0ms for its first token > 300ms`; may be empty.
    pub what: String,
    /// The number of the dump.
    pub dump: Option<u64>,
}

/// A trigger that fired, as an event of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerEvent {
    /// Time in nanoseconds.
    pub time: i64,
    /// The process, as text.
    pub pid: Option<String>,
    /// The trigger and the dump it caused.
    pub trigger: Trigger,
}

/// Counts of refused dumps, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusedDumps([u64; DumpRefusal::ALL.len()]);

impl RefusedDumps {
    /// Returns the number of dumps refused for `reason`.
    pub fn get(&self, reason: DumpRefusal) -> u64 {
        self.0[reason as usize]
    }

    /// Adds `n` refusals for `reason`.
    pub fn add(&mut self, reason: DumpRefusal, n: u64) {
        let count = &mut self.0[reason as usize];
        *count = count.saturating_add(n);
    }

    /// Returns the number of refused dumps.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |total, n| total.saturating_add(*n))
    }

    /// Returns the reasons that occurred, with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (DumpRefusal, u64)> + '_ {
        DumpRefusal::ALL.iter().map(|&reason| (reason, self.get(reason))).filter(|(_, n)| *n > 0)
    }
}

impl std::ops::AddAssign for RefusedDumps {
    fn add_assign(&mut self, other: Self) {
        other.counts().for_each(|(reason, n)| self.add(reason, n));
    }
}

impl std::fmt::Display for RefusedDumps {
    /// Writes, for example, `9 too soon after another dump, 2 while another dump was under way`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, (reason, n)) in self.counts().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{n} {}", reason.describe())?;
        }
        Ok(())
    }
}

impl Recording {
    /// Returns true if the recording is known to be incomplete: events were lost or overwritten.
    pub fn has_losses(&self) -> bool {
        self.dropped > 0
            || self.overwritten_chunks > 0
            || self.lost_texts > 0
            || self.damaged_places > 0
            || self.stop_reason.is_some()
    }

    /// Adds the counts of a later part of the same recording.
    pub fn add_part(&mut self, later: &Self) {
        self.dropped = self.dropped.saturating_add(later.dropped);
        self.overwritten_chunks = self.overwritten_chunks.saturating_add(later.overwritten_chunks);
        self.recorded = self.recorded.zip(later.recorded).map(|(first, second)| first.saturating_add(second));
        self.stop_reason = self.stop_reason.or(later.stop_reason);
        self.limit_bytes = self.limit_bytes.or(later.limit_bytes);
        self.dumps_refused += later.dumps_refused;
        self.lost_texts = self.lost_texts.saturating_add(later.lost_texts);
        self.damaged_places = self.damaged_places.saturating_add(later.damaged_places);
        self.missing_events_max = self.missing_events_max.saturating_add(later.missing_events_max);
        // Spans that are open at the end of a part are open at the beginning of the next one too.
        self.unfinished = later.unfinished;
        self.unfinished_by_thread.clone_from(&later.unfinished_by_thread);
        for (thread, dropped) in &later.dropped_by_thread {
            self.add_dropped_by_thread(thread, *dropped);
        }
    }

    /// Adds lost events of a thread, without adding them to [`dropped`](Self::dropped).
    fn add_dropped_by_thread(&mut self, thread: &str, dropped: u64) {
        if let Some((_, sum)) = self.dropped_by_thread.iter_mut().find(|(known, _)| known == thread) {
            *sum = sum.saturating_add(dropped);
        } else if self.dropped_by_thread.len() < DETAILS_MAX {
            self.dropped_by_thread.push((thread.to_owned(), dropped));
        }
    }
}

/// Facts about all recordings that a trace is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recordings {
    /// The first thousand recordings, in the order of the file.
    pub first: Vec<Recording>,
    /// Number of recordings; zero if the trace states nothing about its recorder.
    pub n: u64,
    /// Number of events lost in all recordings.
    pub dropped: u64,
    /// Number of chunks overwritten in all recordings.
    pub overwritten_chunks: u64,
    /// The first thousand triggers that fired.
    pub triggers: Vec<TriggerEvent>,
}

impl Recordings {
    /// Adds a recording.
    pub fn push(&mut self, recording: Recording) {
        self.n += 1;
        self.dropped = self.dropped.saturating_add(recording.dropped);
        self.overwritten_chunks = self.overwritten_chunks.saturating_add(recording.overwritten_chunks);
        if self.first.len() < DETAILS_MAX {
            self.first.push(recording);
        }
    }

    /// Adds a trigger that fired.
    pub fn push_trigger(&mut self, event: TriggerEvent) {
        if self.triggers.len() < DETAILS_MAX {
            self.triggers.push(event);
        }
    }

    /// Adds the recordings of a later part of the file, or of another file.
    pub fn append(&mut self, later: Self) {
        let n_not_kept = later.n - later.first.len() as u64;
        let kept = |of: fn(&Recording) -> u64| later.first.iter().map(of).fold(0, u64::saturating_add);
        let dropped_elsewhere = later.dropped.saturating_sub(kept(|it| it.dropped));
        let overwritten_elsewhere = later.overwritten_chunks.saturating_sub(kept(|it| it.overwritten_chunks));
        self.n += n_not_kept;
        self.dropped = self.dropped.saturating_add(dropped_elsewhere);
        self.overwritten_chunks = self.overwritten_chunks.saturating_add(overwritten_elsewhere);
        later.first.into_iter().for_each(|recording| self.push(recording));
        later.triggers.into_iter().for_each(|event| self.push_trigger(event));
    }

    /// Returns the trigger of the first dump among the recordings, with its event if the trace has it.
    pub fn dump_trigger(&self) -> Option<(Option<&TriggerEvent>, &Trigger)> {
        let (recording, trigger) = self.first.iter().find_map(|it| Some((it, it.trigger.as_ref()?)))?;
        Some((self.trigger_event(recording), trigger))
    }

    /// Returns the event of the trigger that caused a dump, if the recording is one and the trace has the event.
    pub fn trigger_event(&self, recording: &Recording) -> Option<&TriggerEvent> {
        let trigger = recording.trigger.as_ref()?;
        let is_it = |event: &&TriggerEvent| {
            let is_elsewhere = |process: &String| event.pid.as_ref().is_some_and(|pid| pid != process);
            event.trigger.dump == trigger.dump && !recording.process.as_ref().is_some_and(is_elsewhere)
        };
        self.triggers.iter().rev().find(is_it)
    }
}

impl From<Recording> for Recordings {
    fn from(recording: Recording) -> Self {
        let mut recordings = Self::default();
        recordings.push(recording);
        recordings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(dropped: u64) -> Recording {
        Recording { dropped, ..Recording::default() }
    }

    #[test]
    fn sums_include_recordings_that_are_not_kept() {
        let mut many = Recordings::default();
        (0..1500).for_each(|_| many.push(lost(2)));
        assert_eq!((many.n, many.first.len(), many.dropped), (1500, 1000, 3000));
        let mut all = Recordings::from(lost(1));
        all.append(many);
        assert_eq!((all.n, all.first.len(), all.dropped), (1501, 1000, 3001));
    }

    #[test]
    fn parts_of_a_recording_add_up_by_thread() {
        let part = |n| Recording { dropped: n, dropped_by_thread: vec![("main 1".to_owned(), n)], ..lost(n) };
        let mut all = part(3);
        all.add_part(&part(4));
        assert_eq!((all.dropped, &all.dropped_by_thread[..]), (7, &[("main 1".to_owned(), 7)][..]));
    }

    #[test]
    fn refused_dumps_are_listed_by_reason() {
        let mut refused = RefusedDumps::default();
        refused.add(DumpRefusal::UnderWay, 2);
        refused.add(DumpRefusal::TooSoon, 9);
        assert_eq!(refused.total(), 11);
        assert_eq!(refused.to_string(), "9 too soon after another dump, 2 while another dump was under way");
    }

    #[test]
    fn the_trigger_of_a_dump_is_the_one_with_its_number() {
        let event = |time, dump| TriggerEvent {
            time,
            pid: None,
            trigger: Trigger { reason: "panic".to_owned(), what: String::new(), dump: Some(dump) },
        };
        let trigger = Some(event(0, 2).trigger);
        let mut recordings = Recordings::from(Recording { trigger, ..Recording::default() });
        assert!(recordings.dump_trigger().unwrap().0.is_none());
        recordings.push_trigger(event(5, 1));
        recordings.push_trigger(event(9, 2));
        assert_eq!(recordings.dump_trigger().unwrap().0.unwrap().time, 9);
    }
}
