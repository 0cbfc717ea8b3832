//! Facts that the recorder has stored in a trace.

use ferrum_trace_model::vocab::about::StopReason;
use ferrum_trace_model::{Recording, Recordings, Trigger};
use serde::Serialize;
use std::collections::BTreeMap;

/// The losses of all recordings of a trace, and each recording.
#[derive(Serialize)]
pub(crate) struct RecorderObject<'a> {
    dropped: u64,
    overwritten_chunks: u64,
    count: u64,
    recordings: Vec<RecordingObject<'a>>,
}

/// One recording.
#[derive(Serialize)]
pub(crate) struct RecordingObject<'a> {
    process: Option<&'a str>,
    rank: Option<u32>,
    part: Option<u64>,
    recorded: Option<u64>,
    dropped: u64,
    dropped_by_thread: BTreeMap<&'a str, u64>,
    stop_reason: Option<&'static str>,
    limit_bytes: Option<u64>,
    ring_bytes: Option<u64>,
    overwritten_chunks: u64,
    unfinished: u64,
    unfinished_by_thread: BTreeMap<&'a str, &'a str>,
    lost_texts: u64,
    damaged_places: u64,
    missing_events_max: u64,
    dumps_refused: BTreeMap<&'static str, u64>,
    trigger: Option<TriggerObject<'a>>,
}

/// The trigger that caused a dump.
#[derive(Serialize)]
pub(crate) struct TriggerObject<'a> {
    reason: &'a str,
    what: &'a str,
    dump: Option<u64>,
    time_ns: Option<i64>,
}

impl<'a> RecorderObject<'a> {
    /// Returns `None` if the trace has no facts from a recorder.
    pub(crate) fn of(recordings: &'a Recordings) -> Option<Self> {
        let new = |recording: &'a Recording| {
            let mut object = RecordingObject::from(recording);
            if let Some(trigger) = &mut object.trigger {
                trigger.time_ns = recordings.trigger_event(recording).map(|event| event.time);
            }
            object
        };
        (recordings.n > 0).then(|| Self {
            dropped: recordings.dropped,
            overwritten_chunks: recordings.overwritten_chunks,
            count: recordings.n,
            recordings: recordings.first.iter().map(new).collect(),
        })
    }
}

impl<'a> From<&'a Recording> for RecordingObject<'a> {
    fn from(recording: &'a Recording) -> Self {
        let threads = recording.dropped_by_thread.iter();
        let refused = recording.dumps_refused.counts();
        let unfinished = recording.unfinished_by_thread.iter();
        Self {
            process: recording.process.as_deref().or(recording.pid.as_deref()),
            rank: recording.rank,
            part: recording.part,
            recorded: recording.recorded,
            dropped: recording.dropped,
            dropped_by_thread: threads.map(|(thread, dropped)| (thread.as_str(), *dropped)).collect(),
            stop_reason: recording.stop_reason.map(StopReason::as_str),
            limit_bytes: recording.limit_bytes,
            ring_bytes: recording.ring_bytes,
            overwritten_chunks: recording.overwritten_chunks,
            unfinished: recording.unfinished,
            unfinished_by_thread: unfinished.map(|(thread, stack)| (thread.as_str(), stack.as_str())).collect(),
            lost_texts: recording.lost_texts,
            damaged_places: recording.damaged_places,
            missing_events_max: recording.missing_events_max,
            dumps_refused: refused.map(|(reason, n)| (reason.as_str(), n)).collect(),
            trigger: recording.trigger.as_ref().map(|trigger| TriggerObject::new(trigger, None)),
        }
    }
}

impl<'a> TriggerObject<'a> {
    /// Returns the trigger that caused this trace, if it is a dump.
    pub(crate) fn of(recordings: &'a Recordings) -> Option<Self> {
        let (event, trigger) = recordings.dump_trigger()?;
        Some(Self::new(trigger, event.map(|event| event.time)))
    }

    fn new(trigger: &'a Trigger, time_ns: Option<i64>) -> Self {
        Self { reason: &trigger.reason, what: &trigger.what, dump: trigger.dump, time_ns }
    }
}
