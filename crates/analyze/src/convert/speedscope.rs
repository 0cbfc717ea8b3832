//! Writer of speedscope profiles: one per track, with begins and ends in nanoseconds since the first event.

use super::collect::{Collected, Wanted, collect};
use super::error::Error;
use super::ordered_lanes::{LaneId, Owner};
use super::record::Record;
use super::summary::{Summary, lost_text};
use super::timeline::{TimelineSink, replay};
use ferrum_trace_format::chrome::{push_decimal, push_text};
use ferrum_trace_format::spill_sort::SpillSort;
use ferrum_trace_model::{Strings, TrackId, Tracks};
use std::io::{BufWriter, Read, Write};

const HEAD: &[u8] =
    b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"ferrum-trace\",";

/// Memory budget for the extra lanes of tracks until they are written.
const FURTHER_BUDGET_BYTES: usize = 16 << 20;

/// Converts slices of threads. Tracks in which slices overlap have more than one profile.
pub(super) fn convert(input: impl Read, output: &mut dyn Write) -> Result<Summary, Error> {
    let Collected { items, strings, tracks, first, n_events, left, losses, recordings, .. } =
        collect(input, Wanted::SlicesByTrack)?;
    let mut sink = SpeedscopeSink {
        document: Document { output: BufWriter::new(output), text: Vec::new(), n_profiles: 0, n_events: 0, last: 0 },
        frames: Strings::default(),
        names: Names { tracks: &tracks, strings: &strings },
        first: first.unwrap_or(0),
        lanes: Vec::new(),
        further: SpillSort::new(FURTHER_BUDGET_BYTES),
        summary: Summary { n_events, left, losses, recordings, ..Summary::default() },
    };
    sink.document.write(HEAD)?;
    if let Some(lost) = lost_text(&sink.summary.recordings) {
        sink.document.write(format!("\"name\":\"{lost}\",").as_bytes())?;
    }
    sink.document.write(b"\"profiles\":[")?;
    replay(items, &mut sink)?;
    let SpeedscopeSink { mut document, frames, names, further, summary, .. } = sink;
    document.further_profiles(further, &names)?;
    document.frames(&frames)?;
    Ok(summary)
}

/// A begin or an end.
#[derive(Clone, Copy)]
struct Edge {
    is_begin: bool,
    frame: u32,
    at: u64,
}

impl Edge {
    fn bytes(self) -> [u8; 13] {
        let mut bytes = [u8::from(self.is_begin); 13];
        bytes[1..5].copy_from_slice(&self.frame.to_le_bytes());
        bytes[5..].copy_from_slice(&self.at.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let frame = u32::from_le_bytes(*bytes.get(1..)?.first_chunk()?);
        let at = u64::from_le_bytes(*bytes.get(5..)?.first_chunk()?);
        Some(Self { is_begin: bytes[0] == 1, frame, at })
    }
}

/// The output so far.
struct Document<'a> {
    output: BufWriter<&'a mut dyn Write>,
    text: Vec<u8>,
    n_profiles: u64,
    /// Number of events in the current profile.
    n_events: u64,
    last: u64,
}

impl Document<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.output.write_all(bytes).map_err(Error::Write)
    }

    fn write_text(&mut self) -> Result<(), Error> {
        let text = std::mem::take(&mut self.text);
        self.write(&text)?;
        self.text = text;
        self.text.clear();
        Ok(())
    }

    fn begin_profile(&mut self, name: &str) -> Result<(), Error> {
        self.text.extend_from_slice(if self.n_profiles > 0 { b",\n" } else { b"\n" });
        self.text.extend_from_slice(b"{\"type\":\"evented\",\"name\":");
        push_text(&mut self.text, name);
        self.text.extend_from_slice(b",\"unit\":\"nanoseconds\",\"startValue\":0,\"events\":[");
        (self.n_profiles, self.n_events, self.last) = (self.n_profiles + 1, 0, 0);
        self.write_text()
    }

    fn edge(&mut self, edge: Edge) -> Result<(), Error> {
        if self.n_events > 0 {
            self.text.push(b',');
        }
        let kind: &[u8] = if edge.is_begin { b"{\"type\":\"O\",\"frame\":" } else { b"{\"type\":\"C\",\"frame\":" };
        self.text.extend_from_slice(kind);
        push_decimal(&mut self.text, u64::from(edge.frame));
        self.text.extend_from_slice(b",\"at\":");
        push_decimal(&mut self.text, edge.at);
        self.text.push(b'}');
        self.n_events += 1;
        self.last = edge.at;
        self.write_text()
    }

    fn end_profile(&mut self) -> Result<(), Error> {
        self.text.extend_from_slice(b"],\"endValue\":");
        push_decimal(&mut self.text, self.last);
        self.text.push(b'}');
        self.write_text()
    }

    /// Writes the extra lanes of all tracks, one profile after the other.
    fn further_profiles(&mut self, further: SpillSort, names: &Names<'_>) -> Result<(), Error> {
        let mut sorted = further.finish().map_err(Error::Spill)?;
        let mut current = None;
        while let Some((key, bytes)) = sorted.next().map_err(Error::Spill)? {
            let Some(edge) = Edge::read(bytes) else {
                continue;
            };
            let row = (key[0], key[1]);
            if current != Some(row) {
                if current.replace(row).is_some() {
                    self.end_profile()?;
                }
                let name = format!("{} ({})", names.of(TrackId(key[0] as u32)), key[1] + 1);
                self.begin_profile(&name)?;
            }
            self.edge(edge)?;
        }
        if current.is_some() {
            self.end_profile()?;
        }
        Ok(())
    }

    fn frames(&mut self, frames: &Strings) -> Result<(), Error> {
        self.write(b"\n],\"shared\":{\"frames\":[")?;
        for (id, name) in frames.iter() {
            self.text.extend_from_slice(if id.0 > 0 { b",\n" } else { b"\n" });
            self.text.extend_from_slice(b"{\"name\":");
            push_text(&mut self.text, name);
            self.text.push(b'}');
            self.write_text()?;
        }
        self.write(b"\n]}}\n")?;
        self.output.flush().map_err(Error::Write)
    }
}

struct Names<'a> {
    tracks: &'a Tracks,
    strings: &'a Strings,
}

impl Names<'_> {
    fn of(&self, track: TrackId) -> String {
        let process = self.tracks.process_label(self.tracks.get(track).process, self.strings);
        format!("{process} / {}", self.tracks.label(track, self.strings))
    }
}

struct SpeedscopeSink<'a> {
    document: Document<'a>,
    frames: Strings,
    names: Names<'a>,
    first: i64,
    /// Lanes of the current track; the first one is the track itself.
    lanes: Vec<Lane>,
    further: SpillSort,
    summary: Summary,
}

struct Lane {
    track: TrackId,
    nth: u32,
    /// Frames of the open slices.
    open: Vec<u32>,
    last: u64,
}

impl SpeedscopeSink<'_> {
    fn edge(&mut self, lane: LaneId, is_begin: bool, frame: u32, at: u64) -> Result<(), Error> {
        let lane = &mut self.lanes[lane as usize];
        lane.last = at;
        let edge = Edge { is_begin, frame, at };
        if lane.nth == 0 {
            return self.document.edge(edge);
        }
        let key = [u64::from(lane.track.0), u64::from(lane.nth), 0, 0];
        self.further.push(key, &edge.bytes()).map_err(Error::Spill)
    }

    fn at(&self, time: i64) -> u64 {
        time.abs_diff(self.first)
    }
}

impl TimelineSink for SpeedscopeSink<'_> {
    fn lane(&mut self, _lane: LaneId, owner: Owner, nth: u32) -> Result<(), Error> {
        let Owner::Track(track) = owner else {
            return Ok(());
        };
        if nth == 0 {
            self.document.begin_profile(&self.names.of(track))?;
        }
        self.lanes.push(Lane { track, nth, open: Vec::new(), last: 0 });
        Ok(())
    }

    fn begin(&mut self, lane: LaneId, time: i64, slice: &Record<'_>) -> Result<(), Error> {
        let frame = self.frames.intern(slice.name).0;
        let row = &mut self.lanes[lane as usize];
        row.open.push(frame);
        self.summary.n_slices += 1;
        self.summary.n_moved += u64::from(row.nth > 0);
        self.edge(lane, true, frame, self.at(time))
    }

    fn end(&mut self, lane: LaneId, time: i64) -> Result<(), Error> {
        match self.lanes[lane as usize].open.pop() {
            Some(frame) => self.edge(lane, false, frame, self.at(time)),
            None => Ok(()),
        }
    }

    fn point(&mut self, _lane: Option<LaneId>, _time: i64, _point: &Record<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Ends slices without an end with their track: the format has no open slices.
    fn track_done(&mut self) -> Result<(), Error> {
        for lane in 0..self.lanes.len() {
            while let Some(frame) = self.lanes[lane].open.pop() {
                self.edge(lane as LaneId, false, frame, self.lanes[lane].last)?;
            }
        }
        if !self.lanes.is_empty() {
            self.document.end_profile()?;
        }
        self.lanes.clear();
        Ok(())
    }
}
