//! The object of `merge`.

use super::text;
use crate::output::target::Target;
use crate::render::json::{LossesObject, RecorderObject, VERSION};
use ferrum_trace_analyze::merge::{Merged, MergedForm, MergedInput, MergedProcess, RankSkew, Skew, SkewRow};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct MergeObject<'a> {
    version: u32,
    output: String,
    format: &'static str,
    events: u64,
    start_unix_ns: Option<String>,
    inputs: Vec<InputObject<'a>>,
    not_ranks: Option<NotRanksObject>,
    collectives: SkewObject<'a>,
    steps: SkewObject<'a>,
    fields_lost: u64,
    uncompared: u64,
}

#[derive(Serialize)]
struct InputObject<'a> {
    file: &'a str,
    rank: Option<u32>,
    host: Option<&'a str>,
    aligned_by: &'static str,
    offset_ns: i64,
    drift_ppb: i64,
    error_ns: Option<u64>,
    facts: u64,
    contradictory: bool,
    events: u64,
    processes: Vec<ProcessObject<'a>>,
    losses: LossesObject<'a>,
    recorder: Option<RecorderObject<'a>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ProcessObject<'a> {
    pid: u32,
    old_pid: &'a str,
    name: &'a str,
    rank: Option<u32>,
}

#[derive(Serialize)]
struct NotRanksObject {
    reason: &'static str,
    message: String,
}

#[derive(Serialize)]
struct SkewObject<'a> {
    rows: Vec<RowObject<'a>>,
    ranks: Vec<RankObject<'a>>,
}

#[derive(Serialize)]
struct RowObject<'a> {
    name: &'a str,
    group: &'a str,
    count: u64,
    ranks: u32,
    p50_ns: i64,
    p99_ns: i64,
    max_ns: i64,
    waited_ns: i64,
    worst: WorstObject,
    last: Vec<LastObject<'a>>,
    is_sure: bool,
}

#[derive(Serialize)]
struct WorstObject {
    number: u64,
    at_ns: i64,
}

#[derive(Serialize)]
struct LastObject<'a> {
    label: &'a str,
    count: u64,
}

#[derive(Serialize)]
struct RankObject<'a> {
    label: &'a str,
    count: u64,
    last: u64,
    waited_ns: i64,
    caused_ns: i64,
}

impl<'a> MergeObject<'a> {
    /// `notes` returns the remarks about an input.
    pub(crate) fn new(
        target: &Target,
        form: MergedForm,
        merged: &'a Merged,
        notes: &dyn Fn(&MergedInput) -> Vec<String>,
    ) -> Self {
        Self {
            version: VERSION,
            output: target.name(),
            format: match form {
                MergedForm::Chrome | MergedForm::ChromeRepaired => "chrome",
                MergedForm::Perfetto => "perfetto",
            },
            events: merged.n_events,
            start_unix_ns: merged.start_unix_ns.map(|start| start.to_string()),
            inputs: merged.inputs.iter().map(|input| InputObject::new(input, notes(input))).collect(),
            not_ranks: merged.not_ranks.as_ref().map(|why| {
                let message = text::not_ranks(merged, why);
                NotRanksObject { reason: why.name(), message }
            }),
            collectives: (&merged.collectives).into(),
            steps: (&merged.steps).into(),
            fields_lost: merged.n_fields_lost,
            uncompared: merged.n_uncompared,
        }
    }
}

impl<'a> InputObject<'a> {
    fn new(input: &'a MergedInput, notes: Vec<String>) -> Self {
        let alignment = &input.alignment;
        Self {
            file: &input.name,
            rank: input.rank,
            host: input.host.as_deref(),
            aligned_by: alignment.by.name(),
            offset_ns: alignment.offset_ns,
            drift_ppb: alignment.drift_ppb,
            error_ns: alignment.error_ns,
            facts: alignment.n_facts,
            contradictory: alignment.is_contradictory,
            events: input.n_events,
            processes: input.processes.iter().map(ProcessObject::from).collect(),
            losses: (&input.losses).into(),
            recorder: RecorderObject::of(&input.recordings),
            notes,
        }
    }
}

impl<'a> From<&'a MergedProcess> for ProcessObject<'a> {
    fn from(process: &'a MergedProcess) -> Self {
        let MergedProcess { name, pid, old_pid, rank } = process;
        Self { pid: *pid, old_pid, name, rank: *rank }
    }
}

impl<'a> From<&'a Skew> for SkewObject<'a> {
    fn from(skew: &'a Skew) -> Self {
        let row = |row: &'a SkewRow| RowObject::new(row, skew);
        Self { rows: skew.rows.iter().map(row).collect(), ranks: skew.ranks.iter().map(RankObject::from).collect() }
    }
}

impl<'a> RowObject<'a> {
    fn new(row: &'a SkewRow, skew: &'a Skew) -> Self {
        let label = |rank: u32| skew.ranks.get(rank as usize).map_or("", |rank| rank.label.as_str());
        Self {
            name: &row.name,
            group: &row.group,
            count: row.n,
            ranks: row.n_ranks,
            p50_ns: row.p50_ns,
            p99_ns: row.p99_ns,
            max_ns: row.max_ns,
            waited_ns: row.waited_ns,
            worst: WorstObject { number: row.worst.0, at_ns: row.worst.1 },
            last: row.last.iter().map(|&(rank, count)| LastObject { label: label(rank), count }).collect(),
            is_sure: row.is_sure,
        }
    }
}

impl<'a> From<&'a RankSkew> for RankObject<'a> {
    fn from(rank: &'a RankSkew) -> Self {
        let RankSkew { label, n, n_last, waited_ns, caused_ns } = rank;
        Self { label, count: *n, last: *n_last, waited_ns: *waited_ns, caused_ns: *caused_ns }
    }
}
