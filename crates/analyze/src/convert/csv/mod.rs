//! CSV table with one row per slice, in time order.

mod cell;
mod context;
mod launches;
mod step_tracker;

use super::collect::{Collected, Wanted, collect};
use super::error::Error;
use super::ordered_lanes::{LaneId, Owner};
use super::record::{EventKind, NEVER, Record};
use super::summary::Summary;
use super::timeline::{TimelineSink, replay};
pub use cell::CsvTexts;
use context::{Contexts, SliceContext};
use csv::Writer;
use ferrum_trace_model::vocab::Phase;
use ferrum_trace_model::{StringId, Strings, TrackId, Tracks};
use std::borrow::Cow;
use std::io::{Read, Write};

const HEADER: [&str; 13] = [
    "start_ns",
    "duration_ns",
    "name",
    "category",
    "process",
    "pid",
    "thread",
    "tid",
    "args",
    "layer",
    "step",
    "phase",
    "parent",
];

/// Converts slices of threads.
pub(super) fn convert(input: impl Read, texts: CsvTexts, output: &mut dyn Write) -> Result<Summary, Error> {
    let Collected { items, strings, tracks, n_events, left, losses, recordings, survey, .. } =
        collect(input, Wanted::Slices)?;
    let mut sink = CsvSink {
        table: Writer::from_writer(output),
        texts,
        tracks: &tracks,
        strings: &strings,
        contexts: Contexts::new(&survey, &tracks, &strings),
        summary: Summary { n_events, left, losses, recordings, ..Summary::default() },
    };
    sink.table.write_record(HEADER).map_err(write_error)?;
    replay(items, &mut sink)?;
    sink.table.flush().map_err(Error::Write)?;
    Ok(sink.summary)
}

struct CsvSink<'a> {
    table: Writer<&'a mut dyn Write>,
    texts: CsvTexts,
    tracks: &'a Tracks,
    strings: &'a Strings,
    contexts: Contexts<'a>,
    summary: Summary,
}

impl TimelineSink for CsvSink<'_> {
    fn lane(&mut self, _lane: LaneId, _owner: Owner, _nth: u32) -> Result<(), Error> {
        Ok(())
    }

    fn begin(&mut self, _lane: LaneId, time: i64, slice: &Record<'_>) -> Result<(), Error> {
        let SliceContext { layer, step, parent } = self.contexts.begin(time, slice);
        let cell = |text| self.texts.cell(text);
        let text = |id: Option<StringId>| cell(id.map_or("", |id| self.strings.get(id)));
        let track = self.tracks.get(TrackId(slice.row));
        let process = self.tracks.get_process(track.process);
        let duration = match slice.end {
            NEVER => String::new(),
            end => end.saturating_sub(time).to_string(),
        };
        let args = joined(slice.args, slice.end_args);
        let args = String::from_utf8_lossy(&args);
        let row: [&str; HEADER.len()] = [
            &time.to_string(),
            &duration,
            &cell(slice.name),
            &cell(slice.category),
            &text(process.name),
            &text(process.pid),
            &text(track.name),
            &text(track.tid),
            &cell(&args),
            &layer.map(|layer| layer.to_string()).unwrap_or_default(),
            &step.map(|step| step.number.to_string()).unwrap_or_default(),
            step.and_then(|step| step.phase).map_or("", Phase::as_str),
            &cell(parent.as_deref().unwrap_or_default()),
        ];
        self.table.write_record(row).map_err(write_error)?;
        self.summary.n_slices += 1;
        Ok(())
    }

    fn end(&mut self, _lane: LaneId, _time: i64) -> Result<(), Error> {
        Ok(())
    }

    fn point(&mut self, _lane: Option<LaneId>, time: i64, point: &Record<'_>) -> Result<(), Error> {
        match point.kind {
            EventKind::FlowBegin => self.contexts.flow_begin(time, point),
            EventKind::FlowEnd | EventKind::FlowEndAtNext => self.contexts.flow_end(time, point),
            _ => {}
        }
        Ok(())
    }
}

/// Joins the arguments of a begin and of its end into one object.
fn joined<'a>(begin: &'a [u8], end: &'a [u8]) -> Cow<'a, [u8]> {
    let inside = |json: &'a [u8]| json.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}").map(<[u8]>::trim_ascii);
    match (inside(begin), inside(end)) {
        (_, None | Some([])) => begin.into(),
        (None | Some([]), _) => end.into(),
        (Some(begin), Some(end)) => [b"{", begin, b",", end, b"}"].concat().into(),
    }
}

fn write_error(error: csv::Error) -> Error {
    Error::Write(error.into())
}
