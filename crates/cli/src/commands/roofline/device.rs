//! Selects the device.

use super::args::RooflineArgs;
use crate::user_error::UserError;
use ferrum_trace_analyze::{DEVICE_PROPERTIES, DISTRIBUTED_INFO, DeviceSpec, DeviceTable};
use ferrum_trace_format::chrome::read::Loaded;
use serde_json::Value;

/// The devices that a trace can be of.
pub(crate) struct Devices {
    table: DeviceTable,
    /// The device of `--device` or `--measure-cpu`.
    chosen: Option<DeviceSpec>,
}

impl Devices {
    /// Returns the built-in table with that of `--devices`. `cpu` has the measured rates, if they are in use.
    pub(crate) fn of(args: &RooflineArgs, cpu: Option<DeviceSpec>) -> Result<Self, UserError> {
        let mut table = DeviceTable::built_in();
        if let Some(path) = &args.devices {
            let text =
                std::fs::read_to_string(path).map_err(|cause| UserError::at(path, format!("cannot read: {cause}")))?;
            table.extend(&text).map_err(|error| UserError::at(path, error.to_string()))?;
        }
        let chosen = match &args.device {
            Some(name) => Some(find(&table, name)?),
            None => cpu,
        };
        Ok(Self { table, chosen })
    }

    /// Selects the chosen device, or the one that a trace names.
    pub(crate) fn select(&self, loaded: &Loaded) -> Selected {
        if let Some(chosen) = &self.chosen {
            return Selected { device: Some(chosen.clone()), unknown: None };
        }
        let names = names(loaded);
        let device = names.iter().find_map(|name| self.table.find(name)).cloned();
        let unknown = device.is_none().then(|| match names.iter().find(|name| !name.is_empty()) {
            Some(name) => format!("the table has no device `{name}`: shares of peaks are not known"),
            None => "the trace names no device: shares of peaks are not known; select one with `--device`, or measure \
                     this CPU with `--measure-cpu`"
                .to_owned(),
        });
        Selected { device, unknown }
    }
}

fn find(table: &DeviceTable, name: &str) -> Result<DeviceSpec, UserError> {
    table.find(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = table.devices().iter().map(|device| device.name.as_str()).collect();
        let what = format!("expected a device of the table, found `{name}`");
        UserError::new("--device", what).hint(format!("the table has {}", names.join(", ")))
    })
}

/// The device of a trace.
pub(crate) struct Selected {
    /// The device, if known.
    pub(crate) device: Option<DeviceSpec>,
    /// The reason why it is not known.
    pub(crate) unknown: Option<String>,
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
