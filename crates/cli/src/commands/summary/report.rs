//! The figures that `summary` prints.

use super::args::SummaryArgs;
use super::labels;
use crate::flags::By;
use crate::input::captures::Captures;
use crate::input::source::{Source, TraceFacts};
use crate::render::units::{count, number};
use crate::render::{captures, limits, recorder};
use crate::user_error::UserError;
use ferrum_trace_analyze::{
    ASYNC_ARGS, AsyncCount, AsyncSummary, Device, FlowCount, Key, LabelSets, Nesting, Summary, Transfer, async_ops,
    count_asyncs, count_flows, devices, summarize_asyncs_labeled, summarize_labeled,
};
use ferrum_trace_format::chrome::read::Loaded;
use ferrum_trace_model::vocab::device_track::{PREFIX, SEPARATOR};
use ferrum_trace_model::{ProcessId, Trace};
use std::collections::HashSet;

/// Results for one trace.
pub(crate) struct SummaryReport {
    pub(crate) loaded: Loaded,
    pub(crate) facts: TraceFacts,
    pub(crate) notes: Vec<String>,
    pub(crate) summary: Summary,
    pub(crate) n_partial_overlaps: usize,
    /// Tracks and processes with events.
    pub(crate) n_tracks: usize,
    pub(crate) n_processes: usize,
    pub(crate) devices: Vec<Device>,
    pub(crate) asyncs: AsyncCount,
    pub(crate) async_summary: AsyncSummary,
    /// Number of async operations of the trace, selected or not.
    pub(crate) n_async_ops: usize,
    pub(crate) flows: FlowCount,
    /// The reason why a key of `--by` is missing on everything that is selected.
    pub(crate) missing: Option<String>,
    /// The result of `--capture`.
    pub(crate) transfer: Option<Transfer>,
}

impl SummaryReport {
    /// Loads a trace and summarizes it.
    pub(crate) fn of(source: &Source, args: &SummaryArgs, captures: &Captures) -> Result<Self, UserError> {
        let (mut loaded, facts) = load(source, args, captures)?;
        let transfer = captures.apply(&mut loaded.trace);
        let trace = &loaded.trace;
        // Each step needs memory for each event beside the trace, so each ends before the next one begins.
        let (devices, asyncs, flows) = (devices(trace), count_asyncs(trace), count_flows(trace));
        let (n_tracks, n_processes) = count_used_tracks(trace);
        let nesting = Nesting::of(trace);
        let (selection, options) = (args.selection.selection(), args.options());
        let selected = selection.apply(trace);
        let labels = labels::labels(trace, &nesting, &args.by);
        let (self_time, tracks) = nesting.into_parts();
        let summary = summarize_labeled(trace, self_time, &selected, &labels, &options);
        let mut ops = async_ops(trace);
        let n_async_ops = ops.len();
        selection.retain_asyncs(trace, &mut ops);
        let async_summary = summarize_asyncs_labeled(trace, &ops, &labels, &options);
        drop(ops);
        let is_empty = summary.rows.is_empty() && async_summary.rows.is_empty();
        let missing = labels::missing(&args.by, [&summary.labels, &async_summary.labels]).filter(|_| !is_empty);
        let mut notes = facts.notes();
        notes.extend(recorder::notes(&loaded.recordings));
        notes.extend(limits::notes(trace));
        notes.extend(captures::notes(transfer.as_ref()));
        notes.extend(beyond_note(&summary, options.groups_max));
        Ok(Self {
            notes,
            facts,
            summary,
            n_partial_overlaps: tracks.iter().map(|track| track.n_partial_overlaps).sum(),
            n_tracks,
            n_processes,
            devices,
            asyncs,
            async_summary,
            n_async_ops,
            flows,
            missing,
            transfer,
            loaded,
        })
    }

    /// Returns true if no slice and no async operation is selected.
    pub(crate) fn is_empty(&self) -> bool {
        self.summary.rows.is_empty() && self.async_summary.rows.is_empty()
    }

    /// Returns the name of a device: its process, and its number in that process.
    pub(crate) fn device_label(&self, device: &Device) -> String {
        let trace = &self.loaded.trace;
        let process = trace.tracks.process_label(device.process, &trace.strings);
        match device.number {
            Some(number) => format!("{process}{SEPARATOR}{PREFIX}{number}"),
            None => process,
        }
    }

    /// Returns the values of the grouping keys of a row.
    pub(crate) fn key_texts(&self, sets: &LabelSets, key: &Key, by: &[By]) -> Vec<String> {
        let trace = &self.loaded.trace;
        let text = |id| trace.strings.get(id).to_owned();
        let mut labels = sets.get(key).iter();
        let key_text = |by: &By| match by {
            By::Name => key.name.map(text).unwrap_or_default(),
            By::Cat => key.category.map(text).unwrap_or_default(),
            By::Track => key.track.map(|track| trace.tracks.label(track, &trace.strings)).unwrap_or_default(),
            By::Process => {
                key.process.map(|process| trace.tracks.process_label(process, &trace.strings)).unwrap_or_default()
            }
            by => labels.next().copied().flatten().map_or_else(|| by.none(), |label| label.text(trace)),
        };
        by.iter().map(key_text).collect()
    }
}

/// Loads a trace. The arguments of slices are read only if a flag needs them, since that takes noticeably longer.
fn load(source: &Source, args: &SummaryArgs, captures: &Captures) -> Result<(Loaded, TraceFacts), UserError> {
    let mut wanted = ASYNC_ARGS.map(str::to_owned).to_vec();
    let n_of_asyncs = wanted.len();
    wanted.extend(labels::needed_args(&args.by));
    wanted.extend(args.selection.arg_names().chain(captures.arg_names()).map(str::to_owned));
    match wanted.len() > n_of_asyncs {
        true => source.load(wanted),
        false => source.load_with_async_args(wanted),
    }
}

fn beyond_note(summary: &Summary, groups_max: usize) -> Option<String> {
    (summary.n_beyond > 0).then(|| {
        let (slices, groups_max) = (count(summary.n_beyond, "slice"), number(groups_max as u64));
        format!("more than {groups_max} rows: {slices} of later ones counted together, as part of the rest")
    })
}

/// Counts tracks and processes with events. Files declare many that have none.
fn count_used_tracks(trace: &Trace) -> (usize, usize) {
    let columns =
        [&trace.slices.track, &trace.instants.track, &trace.flows.track, &trace.asyncs.track, &trace.counters.track];
    let mut is_used = vec![false; trace.tracks.len()];
    for track in columns.into_iter().flatten() {
        is_used[track.index()] = true;
    }
    let used = trace.tracks.iter().filter(|(id, _)| is_used[id.index()]);
    let processes: HashSet<ProcessId> = used.map(|(_, track)| track.process).collect();
    (is_used.iter().filter(|&&is_used| is_used).count(), processes.len())
}
