//! Peak rates of one device.

use crate::roofline::work::{DataType, OpKind, OpWork, Unit};

/// Peak rates of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceSpec {
    /// Its name.
    pub name: String,
    /// Patterns of the names that drivers report for it.
    pub patterns: Vec<String>,
    /// Bandwidth of its memory in bytes per second.
    pub memory: Option<f64>,
    /// Bandwidth of its connection to other devices in bytes per second, in one direction.
    pub link: Option<f64>,
    /// Rates of its matrix units in FLOP per second, by type.
    pub matrix: Vec<(DataType, f64)>,
    /// Rates of its vector units in FLOP per second, by type.
    pub vector: Vec<(DataType, f64)>,
}

/// The part of a device that an operation needs longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roof {
    /// Its arithmetic units.
    Compute,
    /// Its memory.
    Memory,
    /// Its connection to other devices.
    Link,
}

impl Roof {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Link => "link",
        }
    }
}

/// Shortest time that a device needs for an operation, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoofTime {
    /// Time of the arithmetic units, if their rate is known.
    pub compute: Option<f64>,
    /// Time of the memory or of the connection, if bandwidth and bytes are known.
    pub transfer: Option<f64>,
    /// True if the time of the transfer is that of the connection to other devices.
    pub is_link: bool,
}

impl RoofTime {
    /// Returns the longer of both times, and the part that needs it.
    pub fn longest(&self) -> Option<(f64, Roof)> {
        let transfer = self.transfer.map(|time| (time, if self.is_link { Roof::Link } else { Roof::Memory }));
        let compute = self.compute.filter(|&time| time > 0.0).map(|time| (time, Roof::Compute));
        [transfer, compute].into_iter().flatten().reduce(|one, other| if other.0 > one.0 { other } else { one })
    }
}

impl DeviceSpec {
    /// Returns the rate of an operation's unit in FLOP per second. Matrix units without a rate for a type leave it to
    /// the vector units, and vector units compute short types as `fp32`.
    pub fn peak(&self, unit: Unit, data_type: DataType) -> Option<f64> {
        let rate = |rates: &[(DataType, f64)], wanted| rates.iter().find(|rate| rate.0 == wanted).map(|rate| rate.1);
        let vector = || {
            let as_fp32 = || if data_type == DataType::Fp64 { None } else { rate(&self.vector, DataType::Fp32) };
            rate(&self.vector, data_type).or_else(as_fp32)
        };
        match unit {
            Unit::Matrix if matches!(data_type, DataType::Fp32 | DataType::Fp64) => {
                rate(&self.matrix, data_type).or_else(vector)
            }
            Unit::Matrix => rate(&self.matrix, data_type),
            Unit::Vector => vector(),
            Unit::Link | Unit::Host => None,
        }
    }

    /// Returns the shortest time for an operation.
    pub fn time(&self, kind: OpKind, data_type: Option<DataType>, work: OpWork) -> RoofTime {
        let unit = kind.unit();
        let peak = data_type.and_then(|data_type| self.peak(unit, data_type));
        let bandwidth = match unit {
            Unit::Matrix | Unit::Vector => self.memory,
            Unit::Link => self.link,
            Unit::Host => None,
        };
        RoofTime {
            compute: peak.map(|peak| work.flop as f64 / peak),
            transfer: work.bytes.zip(bandwidth).map(|(bytes, bandwidth)| bytes as f64 / bandwidth),
            is_link: unit == Unit::Link,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> DeviceSpec {
        DeviceSpec {
            memory: Some(1e12),
            link: Some(1e11),
            matrix: vec![(DataType::Bf16, 1e14)],
            vector: vec![(DataType::Fp32, 1e13)],
            ..DeviceSpec::default()
        }
    }

    #[test]
    fn the_slower_part_is_the_roof() {
        let roof = |kind, flop, bytes| {
            let work = OpWork { flop, bytes: Some(bytes) };
            spec().time(kind, Some(DataType::Bf16), work).longest()
        };
        assert_eq!(roof(OpKind::Gemm, 100_000_000_000_000, 1_000), Some((1.0, Roof::Compute)));
        assert_eq!(roof(OpKind::Gemm, 1_000, 1_000_000_000_000), Some((1.0, Roof::Memory)));
        assert_eq!(roof(OpKind::Collective, 0, 100_000_000_000), Some((1.0, Roof::Link)));
        assert_eq!(roof(OpKind::Transfer, 0, 100), None);
    }

    #[test]
    fn types_without_a_rate_use_the_vector_units() {
        assert_eq!(spec().peak(Unit::Matrix, DataType::Fp32), Some(1e13));
        assert_eq!(spec().peak(Unit::Matrix, DataType::Fp8), None);
        assert_eq!(spec().peak(Unit::Vector, DataType::Bf16), Some(1e13));
        assert_eq!(spec().peak(Unit::Vector, DataType::Fp64), None);
    }
}
