//! Shares in percent.

/// Parses a share such as `2%` or `0.5 %` and returns it as a fraction. It must be between 0 and 100 %.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let expected = || format!("expected a share in percent such as `2%`, found `{text}`");
    let number = text.trim().strip_suffix('%').ok_or_else(expected)?;
    let percent: f64 = number.trim().parse().map_err(|_| expected())?;
    if percent > 0.0 && percent < 100.0 { Ok(percent / 100.0) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_of_percent() {
        assert_eq!(parse_share("2%"), Ok(0.02));
        assert_eq!(parse_share(" 0.5 %"), Ok(0.005));
        for wrong in ["2", "%", "-1%", "0%", "100%", "x%", "nan%"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }
}
