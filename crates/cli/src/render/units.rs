//! Formats numbers and times.

use indicatif::HumanCount;

/// Units of time and their nanoseconds, from small to large.
const UNITS: [(&str, u128); 3] = [("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Formats nanoseconds with four significant digits: `123 ns`, `1.234 µs`, `98.76 ms`, `12,345 s`.
pub(crate) fn time(ns: i64) -> String {
    let (number, unit) = split(ns);
    format!("{number} {unit}")
}

/// Like [`time`], with all units two characters wide, so that numbers are aligned in columns.
pub(crate) fn time_in_column(ns: i64) -> String {
    let (number, unit) = split(ns);
    format!("{number} {unit:>2}")
}

fn split(ns: i64) -> (String, &'static str) {
    let sign = if ns < 0 { "-" } else { "" };
    let (number, unit) = split_positive(u128::from(ns.unsigned_abs()));
    (format!("{sign}{number}"), unit)
}

fn split_positive(ns: u128) -> (String, &'static str) {
    if ns < 1000 {
        return (ns.to_string(), "ns");
    }
    for (unit, factor) in UNITS {
        for n_decimals in [3, 2, 1] {
            let scale = 10_u128.pow(n_decimals);
            let rounded = (ns * scale + factor / 2) / factor;
            if rounded < 10_000 {
                let n_decimals = n_decimals as usize;
                return (format!("{}.{:0n_decimals$}", rounded / scale, rounded % scale), unit);
            }
        }
    }
    let seconds = (ns + 500_000_000) / 1_000_000_000;
    (number(u64::try_from(seconds).unwrap_or(u64::MAX)), "s")
}

/// Formats a number: `2,000`.
pub(crate) fn number(n: u64) -> String {
    HumanCount(n).to_string()
}

/// Formats a number and a noun: `1 event`, `2,000 events`.
pub(crate) fn count(n: u64, thing: &str) -> String {
    let plural = match thing {
        _ if n == 1 => "",
        thing if thing.ends_with("ss") || thing.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {thing}{plural}", number(n))
}

/// Formats a rate with three significant digits: `0.123`, `12.3`, `1,234`.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => "0".to_owned(),
        small if small < 1.0 => format!("{small:.3}"),
        small if small < 10.0 => format!("{small:.2}"),
        small if small < 100.0 => format!("{small:.1}"),
        large => number(large.round() as u64),
    }
}

/// Formats a share in percent.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.1}", 100.0 * part)
}

/// Formats a part of a whole in percent; `-` if the whole is zero.
pub(crate) fn share(part: i64, whole: i64) -> String {
    if whole == 0 { "-".to_owned() } else { percent(part as f64 / whole as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_four_significant_digits() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.000 µs"),
            (1_234, "1.234 µs"),
            (9_999_400, "9.999 ms"),
            (9_999_500, "10.00 ms"),
            (123_449, "123.4 µs"),
            (999_950, "1.000 ms"),
            (1_500_000_000, "1.500 s"),
            (987_654_000_000, "987.7 s"),
            (12_345_000_000_000, "12,345 s"),
            (-1_500, "-1.500 µs"),
            (i64::MAX, "9,223,372,037 s"),
            (i64::MIN, "-9,223,372,037 s"),
        ];
        for (ns, expected) in cases {
            assert_eq!(time(ns), expected);
        }
        assert_eq!(time_in_column(1_500_000_000), "1.500  s");
    }

    #[test]
    fn rates_have_three_significant_digits() {
        assert_eq!([0.0, 0.1234, 1.234, 12.34, 1234.5].map(rate), ["0", "0.123", "1.23", "12.3", "1,235"]);
    }

    #[test]
    fn one_is_not_a_plural() {
        assert_eq!([count(1, "event"), count(2000, "event")], ["1 event", "2,000 events"]);
        assert_eq!([count(1, "process"), count(2, "process")], ["1 process", "2 processes"]);
    }
}
