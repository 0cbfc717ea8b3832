//! Peak rates of devices.

mod parse;
mod spec;
mod table;

pub use parse::DeviceTableError;
pub use spec::{DeviceSpec, Roof, RoofTime};
pub use table::{BUILT_IN_DEVICES, DeviceTable};
