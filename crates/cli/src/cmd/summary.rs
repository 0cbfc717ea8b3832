//! `summary`: where the time went.

use super::Unread;
use crate::args::{By, SummaryArgs};
use crate::interrupt;
use crate::out::json::SummaryObject;
use crate::out::overview;
use crate::out::printer::Printer;
use crate::out::table::{self, Column, Table};
use crate::out::units::{count, number, percent, time, time_in_column};
use crate::out::words::Words;
use crate::source::{Facts, Passes, Source};
use crate::trouble::Trouble;
use crate::verdict::Verdict;
use anstyle::Style;
use ferrum_trace_analyze::{
    AsyncCount, Device, FlowCount, Key, Nesting, Row, Summary, count_asyncs, count_flows, devices, summarize,
};
use ferrum_trace_format::chrome::read::{LoadOptions, Loaded, load};
use ferrum_trace_model::vocab::device_track::{PREFIX, SEPARATOR};
use ferrum_trace_model::{ProcessId, Trace};
use std::collections::HashSet;

const REST: Style = Style::new().dimmed();

pub fn run(args: &SummaryArgs) -> Verdict {
    interrupt::install("nothing was written");
    let words = Words { verbose: args.verbose };
    let mut is_first = true;
    let mut printer = Printer::new(words, args.json);
    super::each_trace(super::expand(&args.inputs), Passes::One, Unread::Ends, &mut printer, |source, printer| {
        let summed = Summed::of(source, args)?;
        if args.json {
            return Ok(printer.object(&SummaryObject::new(source, &summed, args)));
        }
        let gap = if std::mem::take(&mut is_first) { "" } else { "\n" };
        let verdict = printer.text(&format!("{gap}{}", text(source, &summed, &args.by)));
        words.losses(&source.words, &summed.loaded.losses, &summed.notes);
        Ok(verdict)
    })
}

/// All that is said of a trace.
pub struct Summed {
    pub loaded: Loaded,
    pub facts: Facts,
    pub notes: Vec<String>,
    pub summary: Summary,
    pub n_partial_overlaps: usize,
    /// Tracks and processes that have something on them.
    pub n_tracks: usize,
    pub n_processes: usize,
    pub devices: Vec<Device>,
    pub asyncs: AsyncCount,
    pub flows: FlowCount,
}

impl Summed {
    pub fn of(source: &Source, args: &SummaryArgs) -> Result<Self, Trouble> {
        let opened = source.open().map_err(|error| source.trouble(&error))?;
        let loaded = load(opened, &LoadOptions::default()).map_err(|error| source.trouble(&error))?;
        let (trace, facts) = (&loaded.trace, source.facts());
        let nesting = Nesting::of(trace);
        let selected = args.selection.selection().apply(trace);
        let (n_tracks, n_processes) = count_used_tracks(trace);
        Ok(Self {
            notes: facts.notes(),
            facts,
            summary: summarize(trace, &nesting, &selected, &args.options()),
            n_partial_overlaps: nesting.tracks.iter().map(|track| track.n_partial_overlaps).sum(),
            n_tracks,
            n_processes,
            devices: devices(trace),
            asyncs: count_asyncs(trace),
            flows: count_flows(trace),
            loaded,
        })
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
pub fn text(source: &Source, summed: &Summed, by: &[By]) -> String {
    let mut text = overview::text(source, summed);
    if summed.summary.rows.is_empty() {
        text.push_str(match summed.loaded.trace.slices.len() {
            0 => "\nno slices\n",
            _ => "\nno slice is what the flags ask for\n",
        });
        return text;
    }
    text.push('\n');
    text.push_str(&table(summed, by).render(table::width()));
    let rest = summed.summary.rest;
    if rest.n_rows > 0 {
        let (rows, slices) = (number(rest.n_rows as u64), count(rest.count, "slice"));
        let (total, self_time) = (time(rest.total), time(rest.self_time));
        text.push_str(&format!("{REST}… {rows} more: {slices}, total {total}, self {self_time}{REST:#}\n"));
    }
    text
}

fn table(summed: &Summed, by: &[By]) -> Table {
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
    for row in &summed.summary.rows {
        let mut cells: Vec<String> = by.iter().map(|&by| summed.label(&row.key, by)).collect();
        cells.extend(figures(&summed.summary, row));
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
