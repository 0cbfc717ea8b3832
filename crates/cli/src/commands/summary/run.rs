//! `summary`: where the time went.

use super::args::{By, SummaryArgs};
use super::json::SummaryObject;
use super::{asyncs, no_match, overview};
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand};
use crate::exit_status::ExitStatus;
use crate::input::source::{Passes, Source, TraceFacts};
use crate::os::interrupt;
use crate::render::limits;
use crate::render::messages::Messages;
use crate::render::printer::Printer;
use crate::render::recorder;
use crate::render::table;
use crate::render::table::{Column, Table};
use crate::render::units::{count, number, percent, time, time_in_column};
use crate::user_error::UserError;
use anstyle::Style;
use ferrum_trace_analyze::{
    ASYNC_ARGS, AsyncCount, AsyncSummary, Device, FlowCount, Key, Nesting, Row, Summary, async_ops, count_asyncs,
    count_flows, devices, summarize, summarize_asyncs,
};
use ferrum_trace_format::chrome::read::{LoadOptions, Loaded, load_async_args};
use ferrum_trace_model::vocab::device_track::{PREFIX, SEPARATOR};
use ferrum_trace_model::{ProcessId, Trace};
use std::collections::HashSet;

const REST: Style = Style::new().dimmed();

pub fn run(args: &SummaryArgs) -> ExitStatus {
    interrupt::install("nothing was written");
    let messages = Messages { verbose: args.verbose };
    let mut is_first = true;
    let mut printer = Printer::new(messages, args.json);
    each_trace(expand(&args.inputs), Passes::One, OnClosedPipe::Stop, &mut printer, |source, printer| {
        let report = SummaryReport::of(source, args)?;
        let status = if args.json {
            printer.object(&SummaryObject::new(source, &report, args))
        } else {
            let gap = if std::mem::take(&mut is_first) { "" } else { "\n" };
            let status = printer.text(&format!("{gap}{}", text(source, &report, &args.by)));
            messages.losses(&source.label, &report.loaded.losses, &report.notes);
            status
        };
        Ok(status.max(found(source, &report, args, &messages)))
    })
}

/// Says so if the flags select nothing.
fn found(source: &Source, report: &SummaryReport, args: &SummaryArgs, messages: &Messages) -> ExitStatus {
    if !report.is_empty() || args.selection.selection().is_everything() {
        return ExitStatus::Success;
    }
    messages.say(&no_match::text(source, &report.loaded.trace, &args.selection).unwrap_or_default());
    ExitStatus::Finding
}

/// All that is said of a trace.
pub struct SummaryReport {
    pub loaded: Loaded,
    pub facts: TraceFacts,
    pub notes: Vec<String>,
    pub summary: Summary,
    pub n_partial_overlaps: usize,
    /// Tracks and processes that have something on them.
    pub n_tracks: usize,
    pub n_processes: usize,
    pub devices: Vec<Device>,
    pub asyncs: AsyncCount,
    pub async_summary: AsyncSummary,
    /// Async operations of the trace, selected or not.
    pub n_async_ops: usize,
    pub flows: FlowCount,
}

impl SummaryReport {
    pub fn of(source: &Source, args: &SummaryArgs) -> Result<Self, UserError> {
        let opened = source.open().map_err(|error| source.error(&error))?;
        let load_options = LoadOptions { args: ASYNC_ARGS.map(str::to_owned).to_vec(), ..LoadOptions::default() };
        let loaded = load_async_args(opened, &load_options).map_err(|error| source.error(&error))?;
        let (trace, facts) = (&loaded.trace, source.facts());
        let nesting = Nesting::of(trace);
        let (selection, options) = (args.selection.selection(), args.options());
        let selected = selection.apply(trace);
        let mut ops = async_ops(trace);
        let n_async_ops = ops.len();
        selection.retain_asyncs(trace, &mut ops);
        let (n_tracks, n_processes) = count_used_tracks(trace);
        let summary = summarize(trace, &nesting, &selected, &options);
        let mut notes = facts.notes();
        notes.extend(recorder::notes(&loaded.recordings));
        notes.extend(limits::notes(trace));
        notes.extend(beyond_note(&summary, options.groups_max));
        Ok(Self {
            notes,
            facts,
            summary,
            n_partial_overlaps: nesting.tracks.iter().map(|track| track.n_partial_overlaps).sum(),
            n_tracks,
            n_processes,
            devices: devices(trace),
            asyncs: count_asyncs(trace),
            async_summary: summarize_asyncs(trace, &ops, &options),
            n_async_ops,
            flows: count_flows(trace),
            loaded,
        })
    }

    /// Whether no slice and no async operation is selected.
    pub fn is_empty(&self) -> bool {
        self.summary.rows.is_empty() && self.async_summary.rows.is_empty()
    }

    /// What a device is called: its process, and its number among the devices of that.
    pub fn device_label(&self, device: &Device) -> String {
        let trace = &self.loaded.trace;
        let process = trace.tracks.process_label(device.process, &trace.strings);
        match device.number {
            Some(number) => format!("{process}{SEPARATOR}{PREFIX}{number}"),
            None => process,
        }
    }

    /// What a row is called in one respect.
    pub fn label(&self, key: &Key, by: By) -> String {
        let trace = &self.loaded.trace;
        let text = |id| trace.strings.get(id).to_owned();
        let label = match by {
            By::Name => key.name.map(text),
            By::Cat => key.category.map(text),
            By::Track => key.track.map(|track| trace.tracks.label(track, &trace.strings)),
            By::Process => key.process.map(|process| trace.tracks.process_label(process, &trace.strings)),
        };
        label.unwrap_or_default()
    }
}

fn beyond_note(summary: &Summary, groups_max: usize) -> Option<String> {
    (summary.n_beyond > 0).then(|| {
        let (slices, groups_max) = (count(summary.n_beyond, "slice"), number(groups_max as u64));
        format!("more than {groups_max} rows: {slices} of later ones counted together, as part of the rest")
    })
}

/// Files name many tracks and processes on which nothing happens.
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

/// What is printed of it.
pub fn text(source: &Source, report: &SummaryReport, by: &[By]) -> String {
    let mut text = overview::text(source, report);
    match (report.summary.rows.is_empty(), report.async_summary.rows.is_empty()) {
        (true, true) if report.loaded.trace.slices.is_empty() && report.n_async_ops == 0 => {
            text.push_str("\nno slices\n")
        }
        (true, true) => text.push_str("\nno slice or async operation matches the flags\n"),
        (true, false) => {}
        (false, _) => text.push_str(&slices_text(report, by)),
    }
    if !report.async_summary.rows.is_empty() {
        text.push_str(&asyncs::text(report, by));
    }
    text
}

/// The table of slices, and what is left out of it.
fn slices_text(report: &SummaryReport, by: &[By]) -> String {
    let mut text = format!("\n{}", table(report, by).render(table::width()));
    let rest = report.summary.rest;
    if rest.n_rows > 0 {
        let (rows, slices) = (number(rest.n_rows as u64), count(rest.count, "slice"));
        let (total, self_time) = (time(rest.total), time(rest.self_time));
        text.push_str(&format!("{REST}… {rows} more: {slices}, total {total}, self {self_time}{REST:#}\n"));
    }
    text
}

fn table(report: &SummaryReport, by: &[By]) -> Table {
    let mut columns: Vec<Column> = by.iter().map(|by| Column::text(by.name())).collect();
    // When there is no room, the least important goes first.
    columns.extend([
        Column::number("count").importance(6),
        Column::number("total"),
        Column::number("self"),
        Column::number("% wall").importance(5),
        Column::number("mean").importance(3),
        Column::number("p50").importance(2),
        Column::number("p95").importance(1),
        Column::number("p99").importance(0),
        Column::number("max").importance(4),
    ]);
    let mut table = Table::new(columns);
    for row in &report.summary.rows {
        let mut cells: Vec<String> = by.iter().map(|&by| report.label(&row.key, by)).collect();
        cells.extend(figures(&report.summary, row));
        table.push(cells);
    }
    table
}

fn figures(summary: &Summary, row: &Row) -> [String; 9] {
    let durations = &row.durations;
    [
        number(row.count),
        time_in_column(row.total),
        time_in_column(row.self_time),
        percent(summary.share_of_wall(row.self_time)),
        time_in_column(row.mean().round() as i64),
        time_in_column(durations.p50),
        time_in_column(durations.p95),
        time_in_column(durations.p99),
        time_in_column(durations.max),
    ]
}
