//! How many files a flight recorder may write.

use super::amount::{parse_bytes, parse_time};
use super::error::SettingError;
use std::str::FromStr;
use std::time::Duration;

/// How many files a flight recorder may write, and when. `FERRUM_TRACE_DUMPS=files=10,bytes=4GiB,every=10s,after=1s` says the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DumpLimits {
    /// How many files at most. What is asked for beyond that is counted. 10 if not given.
    pub files: u32,
    /// How many bytes they may take together: nothing is written unless a file as large as the largest so far still fits. So only
    /// a file that is larger than all before it can go beyond, and only the last. 4 GiB if not given.
    pub bytes: u64,
    /// How much time there is at least between two files. 10 s if not given.
    pub every: Duration,
    /// How long recording goes on before the file is written, so that it also tells what came after: 1 s if not given, and less if
    /// half of the ring is overwritten before.
    pub after: Duration,
}

impl Default for DumpLimits {
    fn default() -> Self {
        Self { files: 10, bytes: 4 << 30, every: Duration::from_secs(10), after: Duration::from_secs(1) }
    }
}

impl FromStr for DumpLimits {
    type Err = SettingError;

    /// Reads `files=3,bytes=1GiB`; what is not named has its default.
    fn from_str(text: &str) -> Result<Self, SettingError> {
        let mut limits = Self::default();
        text.split(',').filter(|part| !part.trim().is_empty()).try_for_each(|part| limits.set(part))?;
        Ok(limits)
    }
}

impl DumpLimits {
    /// Takes over what a text such as `files=3` says.
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
