//! A trace with its critical path as a track of its own, and flows where the path goes from one track to another.

use crate::check::document::Watch;
use crate::opener::Opener;
use crate::path::{CriticalPath, Piece, PieceKind};
use crate::rewrite::copy::Copy;
use crate::rewrite::document::{Document, OutputForm};
use crate::rewrite::json::{metadata, micros, naming, text};
use crate::rewrite::numbering::FreeNumbers;
use crate::rewrite::stoppable::for_each_until;
use ferrum_trace_format::Error;
use ferrum_trace_model::{StringId, Trace, TrackId};
use std::io::Write;

/// Name of the track, and category of its flows.
const PATH: &str = "critical path";

/// Writes a trace as Chrome JSON with its critical path. The events of the trace are copied unchanged.
///
/// # Errors
///
/// Returns an error if the trace cannot be read or written.
pub fn write_with_path(open: Opener<'_>, out: &mut dyn Write, trace: &Trace, path: &CriticalPath) -> Result<(), Error> {
    let mut copy = Copy::new(Document::new(out, OutputForm::Object));
    for event in path_events(trace, path) {
        copy.document.event(&event);
    }
    for_each_until(Watch::new(open()?), &mut copy)?;
    copy.document.finish().map_err(Error::writing)
}

/// Returns the events of a path: names of the track, a slice for each piece, and flows.
fn path_events(trace: &Trace, path: &CriticalPath) -> Vec<Vec<u8>> {
    let mut free = FreeNumbers::beside([(&trace.tracks, &trace.strings)].into_iter());
    let (pid, tid) = (free.take(), free.take());
    let mut events = vec![
        naming("process_name", pid, None, PATH),
        metadata("process_sort_index", pid, None, b"{\"sort_index\":-1}"),
        naming("thread_name", pid, Some(tid), PATH),
    ];
    events.extend(path.pieces.iter().map(|piece| piece_event(trace, piece, pid, tid)));
    let on_tracks: Vec<&Piece> = path.pieces.iter().filter(|piece| is_on_track(trace, piece)).collect();
    for (id, pair) in on_tracks.windows(2).enumerate() {
        let &[before, after] = pair else { continue };
        if before.track != after.track {
            events.push(flow_point(trace, b"s", id, before.track, before.end.saturating_sub(1)));
            events.push(flow_point(trace, b"f", id, after.track, after.start));
        }
    }
    events
}

/// Returns true if a slice of the trace covers the piece, so that a flow can end on it.
fn is_on_track(trace: &Trace, piece: &Piece) -> bool {
    let is_covered =
        |slice: u32| trace.slices.start[slice as usize] <= piece.start && piece.end <= trace.slices.end(slice as usize);
    piece.kind != PieceKind::OutsideFile && piece.slice.is_some_and(is_covered)
}

fn piece_event(trace: &Trace, piece: &Piece, pid: u32, tid: u32) -> Vec<u8> {
    let name = piece.slice.map(|slice| trace.strings.get(trace.slices.name[slice as usize]));
    let on = trace.tracks.label(piece.track, &trace.strings);
    let is_work = matches!(piece.kind, PieceKind::HostWork | PieceKind::DeviceWork);
    let title = match name.filter(|name| !name.is_empty()) {
        Some(name) if is_work => name.to_owned(),
        Some(name) => format!("{}: {name}", piece.kind.describe()),
        None => piece.kind.describe().to_owned(),
    };
    let head = format!("{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\"cat\":\"{}\",\"name\":", piece.kind.name());
    let (start, duration) = (micros(piece.start), micros(piece.duration()));
    [
        head.as_bytes(),
        &text(&title),
        b",\"ts\":",
        &start,
        b",\"dur\":",
        &duration,
        b",\"args\":{\"track\":",
        &text(&on),
        b"}}",
    ]
    .concat()
}

fn flow_point(trace: &Trace, phase: &[u8], id: usize, track: TrackId, time: i64) -> Vec<u8> {
    let of = trace.tracks.get(track);
    let pid = trace.tracks.get_process(of.process).pid;
    let head = format!("\",\"bp\":\"e\",\"cat\":\"{PATH}\",\"name\":\"{PATH}\",\"id\":{id},\"ts\":");
    let ids = [(&b",\"pid\":"[..], pid), (&b",\"tid\":"[..], of.tid)];
    let ids: Vec<u8> =
        ids.iter().flat_map(|(key, it)| it.map_or_else(Vec::new, |it| id_field(trace, key, it))).collect();
    [b"{\"ph\":\"", phase, head.as_bytes(), &micros(time), &ids, b"}"].concat()
}

/// Returns a field with an id in the spelling of the file: a number, or a text.
fn id_field(trace: &Trace, key: &[u8], id: StringId) -> Vec<u8> {
    let content = trace.strings.get(id);
    let is_number = content.parse::<i64>().is_ok_and(|number| number.to_string() == content);
    let value = if is_number { content.as_bytes().to_vec() } else { text(content) };
    [key, &value].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{PATH_ARGS, PathOptions, path};
    use crate::steps::STEP_ARGS;
    use crate::structure::nesting::Nesting;
    use ferrum_trace_format::chrome::read::{LoadOptions, load};

    const TRACE: &str = r#"{"traceEvents":[
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":1,"dur":4,"pid":1,"tid":1,"args":{"correlation":1}},
        {"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","ts":6,"dur":30,"pid":1,"tid":1,"args":{"correlation":2}},
        {"ph":"X","cat":"kernel","name":"gemm","ts":9,"dur":20,"pid":0,"tid":"stream 7","args":{"correlation":1}}],"kept":1}"#;

    fn loaded(json: &[u8]) -> Trace {
        let args = STEP_ARGS.into_iter().chain(PATH_ARGS).map(str::to_owned).collect();
        load(json, &LoadOptions { args, ..LoadOptions::default() }).unwrap().trace
    }

    #[test]
    fn the_path_is_a_track_and_flows_connect_the_tracks() {
        let trace = loaded(TRACE.as_bytes());
        let found = path(&trace, &Nesting::of(&trace), &PathOptions::default()).unwrap();
        let mut out = Vec::new();
        write_with_path(&|| Ok(Box::new(TRACE.as_bytes())), &mut out, &trace, &found).unwrap();
        let written = loaded(&out);
        assert_eq!(written.slices.len(), trace.slices.len() + found.pieces.len());
        let track = written.tracks.iter().find(|(_, it)| it.name == written.strings.find(PATH)).unwrap().0;
        let on_path: Vec<(i64, i64)> = (0..written.slices.len())
            .filter(|&slice| written.slices.track[slice] == track)
            .map(|slice| (written.slices.start[slice], written.slices.end(slice)))
            .collect();
        assert_eq!(on_path, found.pieces.iter().map(|it| (it.start, it.end)).collect::<Vec<_>>());
        assert_eq!(written.flows.time, [28_999, 29_000], "from the kernel to the wait");
        assert!(String::from_utf8(out).unwrap().contains("\"kept\":1"));
    }
}
