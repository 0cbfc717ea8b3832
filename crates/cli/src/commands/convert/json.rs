//! The object of `convert`.

use super::report::Converted;
use super::text::phase_counts;
use crate::input::source::Source;
use crate::output::format::Format;
use crate::output::target::Target;
use crate::render::json::{FileObject, LossesObject, RecorderObject, RepairedObject};
use ferrum_trace_analyze::convert::{Left, Summary};
use ferrum_trace_analyze::repair::Changes;
use ferrum_trace_format::chrome::read::Losses;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(crate) struct ConvertObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    output: String,
    format: &'static str,
    events: u64,
    written: BTreeMap<&'static str, u64>,
    moved: u64,
    shift_ns: i64,
    left: LeftObject,
    repaired: Vec<RepairedObject<'a>>,
    losses: LossesObject<'a>,
    recorder: Option<RecorderObject<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct LeftObject {
    phases: BTreeMap<String, u64>,
    unclosed: u64,
    unopened: u64,
    unbound_flow_points: u64,
    odd_counter_values: u64,
    fields: u64,
    unlaunched: u64,
    outside_steps: u64,
    cut_stacks: u64,
    deep_frames: u64,
}

/// Losses of a conversion to Chrome JSON, which are reported as repairs.
static NO_LOSSES: Losses = Losses { first: Vec::new(), n: 0, n_bytes: 0 };

impl<'a> ConvertObject<'a> {
    pub(crate) fn new(
        source: &'a Source,
        target: &Target,
        format: Format,
        converted: &'a Converted,
        notes: &'a [String],
    ) -> Self {
        let (events, written, moved, shift_ns) = match converted {
            Converted::Chrome(changes) => (changes.n_read, chrome(changes), 0, changes.shift.saturating_neg()),
            Converted::Other(summary) => (summary.n_events, other(summary), summary.n_moved, summary.shift_ns),
        };
        let (left, repaired, losses) = match converted {
            Converted::Chrome(changes) => (&Left::default(), &changes.repaired[..], &NO_LOSSES),
            Converted::Other(summary) => (&summary.left, &[][..], &summary.losses),
        };
        Self {
            file: FileObject::new(&source.name),
            output: target.name(),
            format: format.name(),
            events,
            written,
            moved,
            shift_ns,
            left: left.into(),
            repaired: RepairedObject::all(repaired),
            losses: losses.into(),
            recorder: RecorderObject::of(converted.recordings()),
            notes,
        }
    }
}

fn chrome(changes: &Changes) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([("events", changes.n_written)])
}

fn other(summary: &Summary) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("slices", summary.n_slices),
        ("instants", summary.n_instants),
        ("counter_values", summary.n_counter_values),
        ("flow_points", summary.n_flow_points),
    ])
}

impl From<&Left> for LeftObject {
    fn from(left: &Left) -> Self {
        Self {
            phases: phase_counts(&left.phases).collect(),
            unclosed: left.unclosed,
            unopened: left.unopened,
            unbound_flow_points: left.unbound_flow_points,
            odd_counter_values: left.odd_counter_values,
            fields: left.fields,
            unlaunched: left.unlaunched,
            outside_steps: left.outside_steps,
            cut_stacks: left.cut_stacks,
            deep_frames: left.deep_frames,
        }
    }
}
