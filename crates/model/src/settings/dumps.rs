//! The limits for the dumps of a flight recorder.

use super::amount::{parse_bytes, parse_time};
use super::error::SettingError;
use std::str::FromStr;
use std::time::Duration;

/// The number, size and timing of the dumps that a flight recorder may write. `FERRUM_TRACE_DUMPS` has the form
/// `files=10,bytes=4GiB,every=10s,after=1s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DumpLimits {
    /// Maximum number of dumps; further requests are counted and refused. Default: 10.
    pub files: u32,
    /// Maximum size of all dumps together. A dump is refused unless a file as large as the largest one so far still
    /// fits, so only the last file can exceed the limit, if it is larger than all before it. Default: 4 GiB.
    pub bytes: u64,
    /// Minimum time between two dumps. Default: 10 s.
    pub every: Duration,
    /// Post-roll: recording continues for this long before the dump is written, so that it includes later events. It is
    /// shorter if half of the ring would be overwritten. Default: 1 s.
    pub after: Duration,
}

impl Default for DumpLimits {
    fn default() -> Self {
        Self { files: 10, bytes: 4 << 30, every: Duration::from_secs(10), after: Duration::from_secs(1) }
    }
}

impl FromStr for DumpLimits {
    type Err = SettingError;

    /// Parses `files=3,bytes=1GiB`; omitted keys keep their defaults.
    fn from_str(text: &str) -> Result<Self, SettingError> {
        let mut limits = Self::default();
        text.split(',').filter(|part| !part.trim().is_empty()).try_for_each(|part| limits.set(part))?;
        Ok(limits)
    }
}

impl DumpLimits {
    /// Applies one part of the setting, such as `files=3`.
    fn set(&mut self, text: &str) -> Result<(), SettingError> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let set = match key.trim().to_ascii_lowercase().as_str() {
            "files" => value.trim().parse().ok().map(|files| self.files = files).ok_or("a number, as in `files=10`"),
            "bytes" => parse_bytes(value).map(|bytes| self.bytes = bytes).ok_or("a size, as in `bytes=1GiB`"),
            "every" => parse_time(value).map(|time| self.every = time).ok_or("a time, as in `every=10s`"),
            "after" => parse_time(value).map(|time| self.after = time).ok_or("a time, as in `after=1s`"),
            _ => Err("`files=`, `bytes=`, `every=` or `after=`"),
        };
        set.map_err(|expected| SettingError::new(expected, text.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_are_read() {
        let limits: DumpLimits = "files=3, bytes = 2 MiB,,every=0s,AFTER=20ms".parse().unwrap();
        let after = Duration::from_millis(20);
        assert_eq!(limits, DumpLimits { files: 3, bytes: 2 << 20, every: Duration::ZERO, after });
        assert_eq!("".parse(), Ok(DumpLimits::default()));
        let error = "after=1s,files=many".parse::<DumpLimits>().unwrap_err().to_string();
        assert_eq!(error, "expected a number, as in `files=10`, found `files=many`");
        for text in ["files", "files=-1", "bytes=1x", "every=10", "after=99999999999999999999s", "size=3"] {
            assert!(text.parse::<DumpLimits>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_limit_panics(text in "\\PC*", like in "(files|bytes|every|after)=[ 0-9a-zA-Z]{0,24}") {
            let _ = (text.parse::<DumpLimits>(), like.parse::<DumpLimits>());
        }
    }
}
