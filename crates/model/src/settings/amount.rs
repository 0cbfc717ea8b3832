//! Parses sizes and times.

use super::error::SettingError;
use std::time::Duration;

/// Parses a number of bytes: `1000`, `64K`, `64KiB`, `64 MB`, `4G`. All units are powers of 1024, `MB` as well as
/// `MiB`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// Parses the size limit of a recording as [`parse_bytes`] does.
pub fn read_limit(text: &str) -> Result<u64, SettingError> {
    parse_bytes(text).ok_or_else(|| SettingError::new("a number of bytes such as `512MiB`", text))
}

/// Parses a time: `500ms`, `30s`, `10min`, `2h`; also `us` and `ns`.
pub fn parse_time(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let seconds = |each: u64| number.checked_mul(each).map(Duration::from_secs);
    match unit {
        "ns" => Some(Duration::from_nanos(number)),
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => seconds(1),
        "min" => seconds(60),
        "h" => seconds(3600),
        _ => None,
    }
}

fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(n_digits);
    Some((number.parse().ok()?, unit.trim()))
}

/// Formats a time in the largest unit that gives a whole number: `50ms`, `2s`.
pub fn time_text(time: Duration) -> String {
    let nanos = time.as_nanos();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.into_iter().find(|&(unit, _)| nanos.is_multiple_of(unit));
    unit.map_or_else(|| format!("{nanos}ns"), |(unit, name)| format!("{}{name}", nanos / unit))
}
