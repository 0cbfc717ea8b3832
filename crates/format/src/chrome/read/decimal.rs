//! Converts decimal microseconds to integer nanoseconds without a float: microseconds since 1970 with nanosecond digits
//! have more digits than a float can hold.

/// Returns the nanoseconds of a decimal number of microseconds, rounded half to even. `None` if it is not a number, or
/// too large.
#[inline]
pub(crate) fn nanos(text: &[u8]) -> Option<i64> {
    plain_nanos(text).or_else(|| any_nanos(text))
}

/// Handles the usual case: at most 15 digits, a point, at most three digits.
#[inline]
fn plain_nanos(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut number: u64 = 0;
    let mut point = None;
    for (n, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => number = number * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() && n > 0 => point = Some(n),
            _ => return None,
        }
    }
    let scale = match point.map_or(0, |point| digits.len() - point - 1) {
        0 if point.is_none() => 1000,
        1 => 100,
        2 => 10,
        3 => 1,
        _ => return None,
    };
    let nanos = i64::try_from(number).ok()?.checked_mul(scale)?;
    Some(if is_negative { -nanos } else { nanos })
}

/// Handles any decimal: signs, exponents, any number of digits, surrounding spaces.
#[cold]
fn any_nanos(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let (is_negative, text) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(place) => (&text[..place], exponent(&text[place + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.iter().position(|&byte| byte == b'.') {
        Some(place) => (&mantissa[..place], &mantissa[place + 1..]),
        None => (mantissa, &[][..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits = || whole.iter().chain(fraction);
    if !digits().all(u8::is_ascii_digit) {
        return None;
    }
    // Position of the decimal point for nanoseconds, counted from the first digit.
    let point = whole.len() as i64 + exponent + 3;
    let nanos = round_at(digits().map(|digit| digit - b'0'), point)?;
    Some(if is_negative { -nanos } else { nanos })
}

fn exponent(text: &[u8]) -> Option<i64> {
    let exponent: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    // Beyond this exponent the result is zero or too large, however many digits a file has.
    (exponent.abs() < 1 << 40).then_some(exponent)
}

/// Returns the number formed by the first `point` digits, rounded half to even by the remaining ones.
fn round_at(digits: impl Iterator<Item = u8>, point: i64) -> Option<i64> {
    let mut number: i64 = 0;
    let mut n_seen = 0;
    let mut first_below = 0;
    let mut is_more_below = false;
    for digit in digits {
        if n_seen < point {
            number = number.checked_mul(10)?.checked_add(i64::from(digit))?;
        } else if n_seen == point {
            first_below = digit;
        } else {
            is_more_below |= digit != 0;
        }
        n_seen += 1;
    }
    // Trailing zeros that the text omits.
    let mut n_missing = (point - n_seen).max(0);
    while n_missing > 0 && number != 0 {
        number = number.checked_mul(10)?;
        n_missing -= 1;
    }
    if point < 0 {
        return Some(0);
    }
    let is_up = first_below > 5 || (first_below == 5 && (is_more_below || number % 2 == 1));
    number.checked_add(i64::from(is_up))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_become_integer_nanoseconds() {
        let cases = [
            ("0", Some(0)),
            ("1", Some(1000)),
            ("1.5", Some(1500)),
            ("-1.25", Some(-1250)),
            ("1623212756351234.567", Some(1_623_212_756_351_234_567)),
            ("0.0005", Some(0)),
            ("0.0015", Some(2)),
            ("0.0025", Some(2)),
            ("0.00250000001", Some(3)),
            ("1e3", Some(1_000_000)),
            ("1.5E-3", Some(2)),
            ("2.5e-3", Some(2)),
            ("1e-30", Some(0)),
            ("1e999", None),
            ("0e999999", Some(0)),
            (" 12 ", Some(12_000)),
            ("+7", Some(7000)),
            ("99999999999999999999", None),
            ("9223372036854775.807", Some(i64::MAX)),
            ("9223372036854775.808", None),
            ("", None),
            (".", None),
            ("-", None),
            (".5", Some(500)),
            ("1.", Some(1000)),
            ("1.2.3", None),
            ("0x10", None),
            ("abc", None),
        ];
        for (text, expected) in cases {
            assert_eq!(nanos(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn three_decimals_are_exact(nanos_in in -9_000_000_000_000_000_000i64..9_000_000_000_000_000_000) {
            let sign = if nanos_in < 0 { "-" } else { "" };
            let size = nanos_in.unsigned_abs();
            let text = format!("{sign}{}.{:03}", size / 1000, size % 1000);
            prop_assert_eq!(nanos(text.as_bytes()), Some(nanos_in));
        }

        #[test]
        fn both_ways_agree(text in "-?[0-9]{1,17}(\\.[0-9]{1,3})?") {
            if let Some(plain) = plain_nanos(text.as_bytes()) {
                prop_assert_eq!(any_nanos(text.as_bytes()), Some(plain));
            }
        }
    }
}
