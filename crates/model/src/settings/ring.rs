//! The size of a flight recorder's ring: `64MiB` or `30s`.

use super::amount::{parse_bytes, parse_time};
use super::error::SettingError;
use std::str::FromStr;
use std::time::Duration;

/// The amount of data that a flight recorder keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A number of bytes.
    Bytes(u64),
    /// At least this much time, if there is room for it.
    Time(Duration),
}

const EXPECTED: &str = "a size such as `64MiB` or a time such as `30s`";

impl FromStr for Extent {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let extent = parse_time(text).map(Self::Time).or_else(|| parse_bytes(text).map(Self::Bytes));
        let is_nonzero = |extent: &Self| !matches!(extent, Self::Bytes(0) | Self::Time(Duration::ZERO));
        extent.filter(is_nonzero).ok_or_else(|| SettingError::new(EXPECTED, text))
    }
}
