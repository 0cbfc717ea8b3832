//! The object of `repair`.

use crate::input::source::Source;
use crate::output::target::Target;
use crate::render::json::{FileObject, RecorderObject, RepairedObject};
use ferrum_trace_analyze::repair::Changes;
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct RepairObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    output: String,
    events: u64,
    written: u64,
    repaired: Vec<RepairedObject<'a>>,
    left_out: Vec<RepairedObject<'a>>,
    shift_ns: i64,
    fields_lost: u64,
    args_lost: u64,
    recorder: Option<RecorderObject<'a>>,
    notes: &'a [String],
}

impl<'a> RepairObject<'a> {
    pub(crate) fn new(source: &'a Source, target: &Target, changes: &'a Changes, notes: &'a [String]) -> Self {
        Self {
            file: FileObject::new(&source.name),
            output: target.name(),
            events: changes.n_read,
            written: changes.n_written,
            repaired: RepairedObject::all(&changes.repaired),
            left_out: RepairedObject::all(&changes.left_out),
            shift_ns: changes.shift,
            fields_lost: changes.n_fields_lost,
            args_lost: changes.n_args_lost,
            recorder: RecorderObject::of(&changes.recordings),
            notes,
        }
    }
}
