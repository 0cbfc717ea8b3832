//! Selects the device.

use super::args::RooflineArgs;
use crate::user_error::UserError;
use ferrum_trace_analyze::{DEVICE_PROPERTIES, DISTRIBUTED_INFO, DeviceSpec, DeviceTable};
use ferrum_trace_format::chrome::read::Loaded;
use serde_json::Value;

/// Returns the table of devices: the built-in one, and that of `--devices`.
pub(crate) fn table(args: &RooflineArgs) -> Result<DeviceTable, UserError> {
    let mut table = DeviceTable::built_in();
    if let Some(path) = &args.devices {
        let text =
            std::fs::read_to_string(path).map_err(|cause| UserError::at(path, format!("cannot read: {cause}")))?;
        table.extend(&text).map_err(|error| UserError::at(path, error.to_string()))?;
    }
    if let Some(name) = args.device.as_deref().filter(|name| table.find(name).is_none()) {
        let names: Vec<&str> = table.devices().iter().map(|device| device.name.as_str()).collect();
        let what = format!("expected a device of the table, found `{name}`");
        return Err(UserError::new("--device", what).hint(format!("the table has {}", names.join(", "))));
    }
    Ok(table)
}

/// The device of a trace.
pub(crate) struct Selected {
    /// The device, if known.
    pub(crate) device: Option<DeviceSpec>,
    /// The reason why it is not known.
    pub(crate) unknown: Option<String>,
}

/// Selects the device of `--device`, or the one that a trace names.
pub(crate) fn select(args: &RooflineArgs, table: &DeviceTable, loaded: &Loaded) -> Selected {
    if let Some(name) = &args.device {
        return Selected { device: table.find(name).cloned(), unknown: None };
    }
    let names = names(loaded);
    let device = names.iter().find_map(|name| table.find(name)).cloned();
    let unknown = device.is_none().then(|| match names.iter().find(|name| !name.is_empty()) {
        Some(name) => format!("the table has no device `{name}`: shares of peaks are not known"),
        None => "the trace names no device: shares of peaks are not known; select one with `--device`".to_owned(),
    });
    Selected { device, unknown }
}

/// Returns the names of the devices that torch.profiler lists.
fn names(loaded: &Loaded) -> Vec<String> {
    let Some(Value::Array(devices)) = field(loaded, DEVICE_PROPERTIES) else { return Vec::new() };
    devices.iter().filter_map(|device| device.get("name")?.as_str().map(str::to_owned)).collect()
}

/// Returns the number of ranks that torch.profiler states.
pub(crate) fn ranks(loaded: &Loaded) -> Option<u64> {
    field(loaded, DISTRIBUTED_INFO)?.get("world_size")?.as_u64()
}

fn field(loaded: &Loaded, name: &str) -> Option<Value> {
    let (_, value) = loaded.fields.iter().find(|(key, _)| key == name)?;
    serde_json::from_slice(value).ok()
}
