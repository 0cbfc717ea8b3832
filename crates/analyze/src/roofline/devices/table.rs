//! A table of devices.

use super::parse::{DeviceTableError, parse};
use super::spec::DeviceSpec;
use crate::structure::glob::Glob;

/// The built-in table as text, in the format that tables of users have.
pub const BUILT_IN_DEVICES: &str = include_str!("devices.txt");

/// Devices that can be selected by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceTable {
    devices: Vec<DeviceSpec>,
}

impl DeviceTable {
    /// Returns the built-in table.
    pub fn built_in() -> Self {
        // A test verifies that the text is valid.
        Self { devices: parse(BUILT_IN_DEVICES).unwrap_or_default() }
    }

    /// Adds the devices of a table, which take precedence over devices with the same name or pattern.
    ///
    /// # Errors
    ///
    /// If the text is not a table.
    pub fn extend(&mut self, text: &str) -> Result<(), DeviceTableError> {
        self.devices.splice(0..0, parse(text)?);
        Ok(())
    }

    /// Returns the devices.
    pub fn devices(&self) -> &[DeviceSpec] {
        &self.devices
    }

    /// Returns the device with this name in the table, in any case, or with this name of a driver.
    pub fn find(&self, name: &str) -> Option<&DeviceSpec> {
        let is_named = |device: &&DeviceSpec| device.name.eq_ignore_ascii_case(name);
        let is_matched = |device: &&DeviceSpec| device.patterns.iter().any(|pattern| Glob::new(pattern).matches(name));
        self.devices.iter().find(is_named).or_else(|| self.devices.iter().find(is_matched))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roofline::work::DataType;

    #[test]
    fn the_built_in_table_is_valid() {
        let devices = parse(BUILT_IN_DEVICES).unwrap();
        for device in &devices {
            assert!(
                device.memory.is_some() && !device.vector.is_empty() && !device.patterns.is_empty(),
                "{}",
                device.name
            );
            assert_eq!(DeviceTable::built_in().find(&device.name), Some(device));
        }
    }

    #[test]
    fn names_of_drivers_select_a_device() {
        let table = DeviceTable::built_in();
        let cases = [
            ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM"),
            ("NVIDIA H100 PCIe", "NVIDIA H100 PCIe"),
            ("NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB SXM"),
            ("NVIDIA L4", "NVIDIA L4"),
            ("NVIDIA L40S", "NVIDIA L40S"),
            ("Tesla T4", "NVIDIA T4"),
            ("AMD Instinct MI300X VF", "AMD Instinct MI300X"),
            ("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090"),
        ];
        for (name, expected) in cases {
            assert_eq!(table.find(name).map(|device| device.name.as_str()), Some(expected), "{name}");
        }
        for unknown in ["", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA L40"] {
            assert_eq!(table.find(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn devices_of_the_user_take_precedence() {
        let mut table = DeviceTable::built_in();
        table.extend("[NVIDIA L4]\nmemory = 1\nmatrix.bf16 = 2\n").unwrap();
        let device = table.find("nvidia l4").unwrap();
        assert_eq!((device.memory, &device.matrix[..]), (Some(1e9), &[(DataType::Bf16, 2e12)][..]));
    }
}
