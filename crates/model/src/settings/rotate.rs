//! The setting that controls rotation.

use super::amount::{parse_bytes, parse_time};
use super::error::SettingError;
use std::str::FromStr;
use std::time::Duration;

/// The size or time after which a recording continues in a new file, and the number of files to keep: `256MiB`,
/// `10min`, `1GiB,1h,keep=8`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotate {
    /// Maximum size of the spool of one part.
    pub bytes: Option<u64>,
    /// Maximum time of one part.
    pub every: Option<Duration>,
    /// Maximum number of complete parts to keep; all if `None`.
    pub keep: Option<u32>,
}

const EXPECTED: &str = "a size such as `256MiB`, a time such as `10min`, or either and `keep=8`";

impl FromStr for Rotate {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let wrong = || SettingError::new(EXPECTED, text);
        let mut rotate = Self::default();
        for part in text.split(',') {
            match part.trim().split_once('=') {
                Some((key, number)) if key.trim() == "keep" => {
                    let keep = number.trim().parse().ok().filter(|&keep| keep > 0);
                    rotate.keep = Some(keep.ok_or_else(wrong)?);
                }
                Some(_) => return Err(wrong()),
                None => match parse_time(part) {
                    Some(time) => rotate.every = Some(time),
                    None => rotate.bytes = Some(parse_bytes(part).ok_or_else(wrong)?),
                },
            }
        }
        if rotate.is_on() { Ok(rotate) } else { Err(wrong()) }
    }
}

impl Rotate {
    /// Returns true if the recording rotates at all.
    pub fn is_on(&self) -> bool {
        let is_zero = self.bytes == Some(0) || self.every == Some(Duration::ZERO);
        !is_zero && (self.bytes.is_some() || self.every.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_times_and_numbers_of_files_are_parsed() {
        let rotate = |bytes, every, keep| Rotate { bytes, every, keep };
        let min = |n: u64| Some(Duration::from_secs(60 * n));
        assert_eq!("256MiB".parse(), Ok(rotate(Some(256 << 20), None, None)));
        assert_eq!("10min".parse(), Ok(rotate(None, min(10), None)));
        assert_eq!(" 1G , 60min, keep = 8".parse(), Ok(rotate(Some(1 << 30), min(60), Some(8))));
        for text in ["", "keep=8", "256MiB,keep=0", "0", "0s", "1x", "10min,size=3", "1MiB,,", "keep"] {
            assert!(text.parse::<Rotate>().is_err(), "{text}");
        }
        let error = "often".parse::<Rotate>().unwrap_err().to_string();
        assert!(error.contains("`256MiB`") && error.ends_with("found `often`"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", like in "[0-9]{0,22}(MiB|s|min|h|,|=|keep){0,4}") {
            let _ = (text.parse::<Rotate>(), like.parse::<Rotate>());
        }
    }
}
