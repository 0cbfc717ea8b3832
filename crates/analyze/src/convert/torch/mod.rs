//! Writer of traces in the format of torch's profiler (Kineto), for HolisticTraceAnalysis (HTA) and similar tools.
//!
//! Events go through an external sort and are written in time order, in the spelling of the file with some fields
//! changed: no information is lost.

mod pending_slices;
mod rows;
mod spelling;
mod step_mark;
mod times;
mod writer;

use super::collect::{Collected, Wanted, collect};
use super::error::Error;
use super::summary::{Left, Summary};
use super::timeline::replay;
use crate::kineto;
use crate::opener::Opener;
use crate::rewrite::document::Document;
use crate::rewrite::document::OutputForm;
use crate::rewrite::edit::Edits;
use crate::rewrite::json::text;
use crate::rewrite::rank::rank_in;
use ferrum_trace_format::chrome::read::{Text, for_each_member};
use ferrum_trace_model::vocab::about;
use ferrum_trace_model::{Strings, Tracks};
use rows::Rows;
use std::io::Write;
use times::Times;
use writer::TorchWriter;

/// Options of [`torch()`].
#[derive(Clone, Debug, Default)]
pub struct TorchOptions {
    /// Rank of the trace; overrides the rank in the trace.
    pub rank: Option<u32>,
    /// Rank of the trace if it does not state one.
    pub rank_if_unknown: u32,
    /// Number of ranks.
    pub world_size: Option<u32>,
    /// True if times keep their nanoseconds. HTA shortens every slice by up to 2 us then.
    pub keeps_nanoseconds: bool,
    /// Name of the trace.
    pub name: String,
}

/// Writes a trace in the format of torch's profiler. Events that are torch's already are kept unchanged.
///
/// ```
/// use ferrum_trace_analyze::convert::{TorchOptions, torch};
///
/// let trace = br#"[{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / stream 7"}},
///     {"ph":"X","name":"qkv","cat":"gemm","ts":1,"dur":2.5,"pid":1,"tid":9}]"#;
/// let mut kineto = Vec::new();
/// torch(&|| Ok(Box::new(&trace[..])), &mut kineto, &TorchOptions::default())?;
/// assert!(String::from_utf8_lossy(&kineto).contains(r#""cat":"kernel""#));
/// # Ok::<(), ferrum_trace_analyze::convert::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if the input cannot be read or is not a trace, or if the output or a temporary file cannot be
/// written.
pub fn torch(open: Opener<'_>, output: &mut dyn Write, options: &TorchOptions) -> Result<Summary, Error> {
    let collected = collect(open()?, Wanted::Events)?;
    let Collected { items, strings, tracks, n_events, fields, aside, is_kineto, left, losses, recordings, .. } =
        collected;
    let start_unix_ns = recordings.first.iter().find_map(|it| it.start_unix_ns);
    let rank = recordings.first.iter().find_map(|it| it.rank);
    let rows = Rows::of(&tracks, &strings);
    let mut document = Document::new(output, OutputForm::Object);
    let known = Known { tracks: &tracks, strings: &strings, rows: &rows, start_unix_ns, rank, aside: &aside, options };
    write_fields(&mut document, &fields.kept, &known);
    // Times of torch's own traces are not rounded.
    let times = if is_kineto || options.keeps_nanoseconds { Times::Exact } else { Times::WholeMicros };
    let left = Left { fields: fields.n_lost, ..left };
    let summary = Summary { n_events, left, losses, recordings, ..Summary::default() };
    let mut writer = TorchWriter::new(document, rows, times, is_kineto, summary);
    writer.describe_devices();
    replay(items, &mut writer)?;
    writer.finish()
}

/// Inputs for the fields around the events.
struct Known<'a> {
    tracks: &'a Tracks,
    strings: &'a Strings,
    rows: &'a Rows,
    start_unix_ns: Option<i64>,
    /// The rank that the recorder states.
    rank: Option<u32>,
    /// Metadata events that torch's format does not have.
    aside: &'a [Vec<u8>],
    options: &'a TorchOptions,
}

/// Writes the fields of the trace, and those that torch's traces have in addition.
fn write_fields(document: &mut Document<'_>, kept: &[(Vec<u8>, Vec<u8>)], known: &Known<'_>) {
    const DISTRIBUTED: &[u8] = kineto::DISTRIBUTED.as_bytes();
    const BASE_TIME: &[u8] = kineto::BASE_TIME.as_bytes();
    let of_trace = |wanted: &[u8]| kept.iter().find(|(key, _)| key == wanted).map(|(_, value)| &value[..]);
    let ours: [(&[u8], Vec<u8>); 5] = [
        (b"schemaVersion", b"1".to_vec()),
        (b"traceName", text(&known.options.name)),
        (b"displayTimeUnit", b"\"ms\"".to_vec()),
        (DISTRIBUTED, distributed_info(of_trace(DISTRIBUTED), known)),
        (b"deviceProperties", known.rows.device_properties()),
    ];
    for (key, value) in ours {
        if key == DISTRIBUTED || of_trace(key).is_none() {
            document.field(Text::plain(key), &value, false);
        }
    }
    if let (Some(start), None) = (known.start_unix_ns, of_trace(BASE_TIME)) {
        document.field(Text::plain(BASE_TIME), start.to_string().as_bytes(), false);
    }
    if !known.aside.is_empty() {
        let list = [b"[", &known.aside.join(&b",\n"[..])[..], b"]"].concat();
        document.field(Text::plain(about::NAME.as_bytes()), &list, false);
    }
    for (key, value) in kept.iter().filter(|(key, _)| key != DISTRIBUTED) {
        document.field(Text::plain(key), value, false);
    }
}

/// Returns the field with the rank: from the options, the trace, the recorder, or the name of a process.
fn distributed_info(of_trace: Option<&[u8]>, known: &Known<'_>) -> Vec<u8> {
    let TorchOptions { rank, rank_if_unknown, world_size, .. } = known.options;
    let mut edits = Edits::default();
    let (mut has_rank, mut has_world_size, mut has_backend) = (false, false, false);
    for_each_member(of_trace.unwrap_or_default(), |key, _| match key.raw {
        b"rank" => has_rank = true,
        b"world_size" => has_world_size = true,
        b"backend" => has_backend = true,
        _ => {}
    });
    let by_name = || rank_by_name(known.tracks, known.strings);
    let rank_now = rank.or(known.rank).or_else(by_name).unwrap_or(*rank_if_unknown);
    if !has_backend {
        edits.set("backend", "\"nccl\"");
    }
    if rank.is_some() || !has_rank {
        edits.set("rank", rank_now.to_string());
    }
    if world_size.is_some() || !has_world_size {
        edits.set("world_size", world_size.unwrap_or(0).max(rank_now.saturating_add(1)).to_string());
    }
    let is_object = of_trace.is_some_and(|value| value.starts_with(b"{"));
    edits.apply(of_trace.filter(|_| is_object).unwrap_or(b"{}"), None)
}

/// Returns the rank in the names or labels of processes.
fn rank_by_name(tracks: &Tracks, strings: &Strings) -> Option<u32> {
    let names = tracks.processes().flat_map(|(_, process)| [process.name, process.labels]).flatten();
    names.map(|name| strings.get(name)).find_map(rank_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_that_of_the_options_or_of_the_trace() {
        let (mut strings, mut tracks) = (Strings::default(), Tracks::default());
        let rows = Rows::of(&tracks, &strings);
        let info = |tracks: &Tracks, strings: &Strings, of_trace: Option<&str>, rank, world_size| {
            let options = TorchOptions { rank, rank_if_unknown: 5, world_size, ..TorchOptions::default() };
            let known =
                Known { tracks, strings, rows: &rows, start_unix_ns: None, rank: None, aside: &[], options: &options };
            String::from_utf8(distributed_info(of_trace.map(str::as_bytes), &known)).unwrap()
        };
        let kinetos = r#"{"backend":"gloo","rank":3,"world_size":4,"pg_count":1}"#;
        assert_eq!(info(&tracks, &strings, Some(kinetos), None, None), kinetos);
        let overridden = r#"{"backend":"gloo","rank":1,"world_size":8,"pg_count":1}"#;
        assert_eq!(info(&tracks, &strings, Some(kinetos), Some(1), Some(8)), overridden);
        let unknown = r#"{"backend":"nccl","rank":5,"world_size":6}"#;
        assert_eq!(info(&tracks, &strings, None, None, None), unknown);
        assert_eq!(info(&tracks, &strings, Some("null"), None, Some(2)), unknown);
        let process = tracks.process(None);
        tracks.get_process_mut(process).name = Some(strings.intern("engine, Rank #2"));
        assert_eq!(info(&tracks, &strings, None, None, Some(4)), r#"{"backend":"nccl","rank":2,"world_size":4}"#);
    }
}
