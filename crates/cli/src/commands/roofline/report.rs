//! The figures that `roofline` prints.

use super::device::{Devices, ranks};
use super::findings::findings;
use crate::input::captures::Captures;
use crate::input::source::Source;
use crate::render::{captures, contents, limits, recorder};
use crate::user_error::UserError;
use ferrum_trace_analyze::{
    DeviceSpec, Missing, Nesting, Roofline, RooflineOptions, Transfer, names_device, roofline, roofline_args,
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
    /// Result of `--capture`.
    pub(crate) transfer: Option<Transfer>,
}

impl RooflineReport {
    /// Loads a trace and models its operations.
    pub(crate) fn of(source: &Source, devices: &Devices, captures: &Captures) -> Result<Self, UserError> {
        let wanted = roofline_args().into_iter().chain(captures.arg_names().map(str::to_owned));
        let (mut loaded, facts) = source.load(wanted.collect())?;
        let (transfer, replayed) = captures.apply_operations(&mut loaded.trace);
        let nesting = Nesting::of(&loaded.trace);
        let selected = devices.select(&loaded);
        let names_device = names_device(&loaded.fields);
        let options =
            RooflineOptions { device: selected.device.clone(), ranks: ranks(&loaded), names_device, replayed };
        let roofline = roofline(&loaded.trace, &nesting, &options);
        let mut notes = facts.notes();
        notes.extend(recorder::notes(&loaded.recordings));
        notes.extend(limits::notes(&loaded.trace));
        notes.extend(captures::notes(transfer.as_ref()));
        notes.extend(selected.unknown);
        let missing = roofline.rows.is_empty().then(|| missing(&loaded, &roofline));
        let findings = findings(&roofline, selected.device.as_ref());
        Ok(Self { loaded, notes, roofline, device: selected.device, findings, missing, transfer })
    }
}

/// Returns the reason why no operation is modelled.
fn missing(loaded: &Loaded, roofline: &Roofline) -> String {
    if roofline.unmodelled.iter().any(|row| row.missing == Missing::NoDeviceWork) {
        return "no times of operations: they launch kernels, and the file has no kernels".to_owned();
    }
    let looked_for = "`Input Dims` of torch's profiler (record_shapes=True), and arguments such as `m`, `n`, `k`";
    format!("no operations with shapes: looked for {looked_for}; {}", contents::contents_text(&loaded.trace))
}
