//! Rewrites the events of an input for the merged trace.

use super::align::TimeMap;
use super::handovers::our_flow;
use crate::check::events::{PhaseRole, flow_number, has_sub_nanoseconds};
use crate::check::texts::mend_texts;
use crate::rewrite::edit::Edits;
use crate::rewrite::json::{micros, text};
use crate::rewrite::numbering::Numbers;
use ferrum_trace_format::chrome::ARGS_STRIPPED;
use ferrum_trace_format::chrome::read::{Event, Number, RowFinder, Scalar, for_each_member};
use ferrum_trace_format::spool::record::SHARED_FLOW;
use ferrum_trace_model::vocab::about;
use ferrum_trace_model::{Strings, Tracks};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Number of low bits that numeric ids of flows keep.
const FLOW_BITS: u32 = 40;
/// Bit of the ids of other tools' flows, so that they differ from ours.
const OTHER_FLOW: u64 = 1 << 61;
/// Bit of the ids of other tools' flows that are not small numbers.
const HASHED_FLOW: u64 = 1 << 60;

/// Data for rewriting the events of a file.
#[derive(Debug)]
pub(super) struct FilePlan {
    /// Texts of the file, from the first pass.
    pub strings: Strings,
    /// Its tracks.
    pub tracks: Tracks,
    /// Numbers of the tracks in the merged file.
    pub numbers: Numbers,
    /// Mapping of its times.
    pub map: TimeMap,
    /// Time zero of the merged file.
    pub start_unix_ns: Option<i128>,
    /// Index of the first file of its recording. Ids of the first recording are kept.
    pub recording: u32,
    /// True if the recording has several parts.
    pub is_part: bool,
}

/// Rewrites the events of one file.
pub(super) struct Rewriter<'p> {
    plan: &'p FilePlan,
    rows: RowFinder,
    strings: Strings,
    tracks: Tracks,
}

impl<'p> Rewriter<'p> {
    /// Creates a rewriter for a file.
    pub(super) fn new(plan: &'p FilePlan) -> Self {
        let (strings, tracks) = (plan.strings.clone(), plan.tracks.clone());
        Self { plan, rows: RowFinder::default(), strings, tracks }
    }

    /// Returns the event in the merged file; `None` if it is left out.
    pub(super) fn rewrite(&mut self, event: &Event<'_>) -> Option<Vec<u8>> {
        let kind = PhaseRole::of(event);
        let mut edits = Edits::default();
        if kind == PhaseRole::Metadata {
            self.edit_metadata(event, &mut edits)?;
        } else {
            self.edit_times(event, &mut edits);
            self.edit_joint(event, kind, &mut edits);
        }
        self.edit_ids(event, &mut edits);
        let json = edits.apply(event.json, event.args);
        Some(mend_texts(&json).unwrap_or(json))
    }

    /// Edits metadata. Names and order of processes are left out: they are written before all else.
    fn edit_metadata(&mut self, event: &Event<'_>, edits: &mut Edits) -> Option<()> {
        let name = event.name.map(|name| name.decode()).unwrap_or_default();
        if matches!(&*name, "process_name" | "process_labels" | "process_sort_index") {
            return None;
        }
        if event.start != Number::Missing {
            edits.set("ts", "0");
        }
        if name == about::NAME {
            edits.set(ARGS_STRIPPED, "true");
            edits.set("args", self.about(event.args.unwrap_or_default()));
        }
        Some(())
    }

    /// Returns the recorder's metadata with the time zero of the merged file. A fitted clock is no longer a clock of
    /// the host, so it is removed.
    fn about(&self, args: &[u8]) -> Vec<u8> {
        let plan = self.plan;
        let mut out = b"{".to_vec();
        for_each_member(args, |key, value| {
            let spelled = match &*key.decode() {
                about::START_MONOTONIC_NS | about::BOOT_ID if !plan.map.is_exact() => return,
                about::START_MONOTONIC_NS => {
                    let start = value.decode().parse::<i128>().unwrap_or(0);
                    start.saturating_add(plan.map.zero_of_file()).to_string().into_bytes()
                }
                about::START_UNIX_NS => match plan.start_unix_ns {
                    Some(start) => start.to_string().into_bytes(),
                    None => return,
                },
                _ => match value {
                    Scalar::Text(text) => [b"\"", text.raw, b"\""].concat(),
                    Scalar::Other(spelling) => spelling.to_vec(),
                },
            };
            out.extend_from_slice(if out.len() > 1 { b",\"" } else { b"\"" });
            out.extend_from_slice(key.raw);
            out.extend_from_slice(b"\":");
            out.extend_from_slice(&spelled);
        });
        out.push(b'}');
        out
    }

    fn edit_times(&self, event: &Event<'_>, edits: &mut Edits) {
        let Some(start) = event.start.nanos() else {
            return;
        };
        let new_start = self.plan.map.apply(start);
        edits.set("ts", micros(new_start));
        let (Some(duration), Some(end)) = (event.duration.nanos(), event.end()) else {
            return;
        };
        let is_odd = matches!(event.duration, Number::Quoted(_)) || has_sub_nanoseconds(event);
        if duration >= 0 && self.plan.map.has_drift() {
            edits.set("dur", micros(self.plan.map.apply(end).saturating_sub(new_start)));
        } else if is_odd {
            edits.set("dur", micros(duration));
        }
    }

    /// Edits ids that join events, so that they do not join events of different files.
    fn edit_joint(&mut self, event: &Event<'_>, kind: PhaseRole, edits: &mut Edits) {
        if let (PhaseRole::Flow, Some(id)) = (kind, event.id) {
            let ours = our_flow(event).and_then(|id| self.our_flow(id));
            if let Some(id) = ours.or_else(|| self.other_flow(id)) {
                edits.set("id", format!("\"{id:#x}\""));
            }
            return;
        }
        if let Some(id) = event.bind_id.and_then(|id| self.other_flow(id)) {
            edits.set("bind_id", format!("\"{id:#x}\""));
        }
        // Ids of objects and samples are local to their process.
        if self.plan.recording > 0
            && let Some(id) = event.id
            && matches!(kind, PhaseRole::Async | PhaseRole::LegacyAsync)
        {
            edits.set("id", text(&format!("{}@{}", id.decode(), self.plan.recording)));
        }
    }

    /// Returns the new id of one of our flows. Such ids begin with the number of the process, unless they are shared by
    /// several. Returns `None` if it is not one of ours.
    fn our_flow(&mut self, id: u64) -> Option<u64> {
        if id & SHARED_FLOW != 0 {
            return Some(id);
        }
        if id >> 32 == 0 {
            return None;
        }
        let old = self.strings.find(&(id >> 32).to_string())?;
        let (process, _) = self.tracks.processes().find(|(_, process)| process.pid == Some(old))?;
        let new = self.plan.numbers.pid(process)?.number;
        Some(u64::from(new) << 32 | id & 0xffff_ffff)
    }

    fn other_flow(&self, id: Scalar<'_>) -> Option<u64> {
        let recording = u64::from(self.plan.recording);
        if recording == 0 {
            return None;
        }
        let small = flow_number(id).and_then(|id| u64::try_from(id).ok()).filter(|id| *id < 1 << FLOW_BITS);
        Some(match small.filter(|_| recording < 1 << 16) {
            Some(id) => OTHER_FLOW | recording << FLOW_BITS | id,
            None => {
                let mut hasher = DefaultHasher::new();
                (recording, id.decode()).hash(&mut hasher);
                HASHED_FLOW | hasher.finish() >> 4
            }
        })
    }

    fn edit_ids(&mut self, event: &Event<'_>, edits: &mut Edits) {
        let track = self.rows.track(event, &mut self.strings, &mut self.tracks);
        let process = self.tracks.get(track).process;
        set_id("pid", event.pid, self.plan.numbers.pid(process).map(|pid| pid.number), edits);
        // Metadata may name a thread without events.
        let unknown = matches!(event.tid, Some(Scalar::Text(_))).then_some(0);
        set_id("tid", event.tid, self.plan.numbers.tid(track).map(|tid| tid.number).or(unknown), edits);
    }
}

fn set_id(key: &'static str, old: Option<Scalar<'_>>, new: Option<u32>, edits: &mut Edits) {
    let Some(new) = new.map(|new| new.to_string()) else {
        return;
    };
    if old != Some(Scalar::Other(new.as_bytes())) {
        edits.set(key, new);
    }
}
