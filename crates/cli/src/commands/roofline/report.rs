//! The figures that `roofline` prints.

use super::args::RooflineArgs;
use super::device::{ranks, select};
use super::findings::findings;
use crate::input::source::Source;
use crate::render::{contents, limits, recorder};
use crate::user_error::UserError;
use ferrum_trace_analyze::{
    DeviceSpec, DeviceTable, Nesting, Roofline, RooflineOptions, names_device, roofline, roofline_args,
};
use ferrum_trace_format::chrome::read::Loaded;

/// Results for one trace.
pub(crate) struct RooflineReport {
    pub(crate) loaded: Loaded,
    pub(crate) notes: Vec<String>,
    pub(crate) roofline: Roofline,
    pub(crate) device: Option<DeviceSpec>,
    /// Values above a peak.
    pub(crate) findings: Vec<String>,
    /// The reason why no operation is modelled.
    pub(crate) missing: Option<String>,
}

impl RooflineReport {
    /// Loads a trace and models its operations.
    pub(crate) fn of(source: &Source, args: &RooflineArgs, table: &DeviceTable) -> Result<Self, UserError> {
        let (loaded, facts) = source.load(roofline_args())?;
        let nesting = Nesting::of(&loaded.trace);
        let selected = select(args, table, &loaded);
        let names_device = names_device(&loaded.fields);
        let options = RooflineOptions { device: selected.device.clone(), ranks: ranks(&loaded), names_device };
        let roofline = roofline(&loaded.trace, &nesting, &options);
        let mut notes = facts.notes();
        notes.extend(recorder::notes(&loaded.recordings));
        notes.extend(limits::notes(&loaded.trace));
        notes.extend(selected.unknown);
        let missing = roofline.rows.is_empty().then(|| missing(&loaded));
        let findings = findings(&roofline, selected.device.as_ref());
        Ok(Self { loaded, notes, roofline, device: selected.device, findings, missing })
    }
}

/// Returns the reason why no operation is modelled.
fn missing(loaded: &Loaded) -> String {
    let looked_for = "`Input Dims` of torch's profiler (record_shapes=True), and arguments such as `m`, `n`, `k`";
    format!("no operations with shapes: looked for {looked_for}; {}", contents::contents_text(&loaded.trace))
}
