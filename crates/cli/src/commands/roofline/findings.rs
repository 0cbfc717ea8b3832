//! Values above a peak, which show that a model or the table of devices is wrong.

use crate::render::table::clean;
use crate::render::units::percent;
use ferrum_trace_analyze::{DeviceSpec, Roofline, RooflineRow, Utilization};

/// Returns a sentence for each value above a peak of the device.
pub(crate) fn findings(roofline: &Roofline, device: Option<&DeviceSpec>) -> Vec<String> {
    let Some(device) = device else { return Vec::new() };
    let rows = roofline.rows.iter().filter_map(|row| of_row(row, device));
    let phases = roofline.phases.iter().flat_map(|phase| {
        let name = phase.phase.map_or("all", |phase| phase.as_str());
        of_utilization(&format!("{name} steps"), &phase.utilization, device)
    });
    rows.chain(phases).chain(of_utilization("the trace", &roofline.whole, device)).collect()
}

fn of_row(row: &RooflineRow, device: &DeviceSpec) -> Option<String> {
    let (share, roof) = row.share().filter(|(share, _)| *share > 1.0)?;
    let (name, shape, peak) = (clean(&row.name), clean(&row.shape), clean(&device.name));
    Some(format!(
        "{name} ({shape}) would reach {} % of the {} peak of {peak}: it moves or computes less than the model counts \
         (a sliding window, data in a cache), or the table is wrong",
        percent(share),
        roof.name()
    ))
}

fn of_utilization(what: &str, utilization: &Utilization, device: &DeviceSpec) -> Vec<String> {
    let above = |name: &str, share: Option<f64>| {
        let share = percent(share.filter(|share| *share > 1.0)?);
        let peak = clean(&device.name);
        Some(format!("{name} of {what} would be {share} % of {peak}: a model or the table is wrong"))
    };
    [above("MFU", utilization.mfu()), above("MBU", utilization.mbu())].into_iter().flatten().collect()
}
