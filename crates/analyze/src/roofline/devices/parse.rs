//! Parses tables of devices.
//!
//! ```text
//! # A comment.
//! [NVIDIA A100 80GB SXM]
//! match = *A100-SXM4-80GB*
//! memory = 2039          # GB/s
//! link = 300             # GB/s in one direction
//! matrix.bf16 = 312      # TFLOP/s
//! vector.fp32 = 19.5     # TFLOP/s
//! ```

use super::spec::DeviceSpec;
use crate::roofline::work::DataType;
use std::fmt;

/// Error in a table of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceTableError {
    /// Line, from 1.
    pub line: usize,
    /// Expectation and finding.
    what: String,
}

impl fmt::Display for DeviceTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for DeviceTableError {}

/// Parses a table.
pub(super) fn parse(text: &str) -> Result<Vec<DeviceSpec>, DeviceTableError> {
    let mut devices: Vec<DeviceSpec> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        let error = |what: String| DeviceTableError { line: n + 1, what };
        if content.is_empty() {
            continue;
        }
        if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            devices.push(DeviceSpec { name: name.trim().to_owned(), ..DeviceSpec::default() });
            continue;
        }
        let device = devices.last_mut().ok_or_else(|| error(format!("expected `[NAME]`, found `{content}`")))?;
        let (key, value) =
            content.split_once('=').ok_or_else(|| error(format!("expected `KEY = VALUE`, found `{content}`")))?;
        set(device, key.trim(), value.trim()).map_err(error)?;
    }
    Ok(devices)
}

/// Sets a property of a device.
fn set(device: &mut DeviceSpec, key: &str, value: &str) -> Result<(), String> {
    match key.split_once('.') {
        None if key == "match" => device.patterns.push(value.to_owned()),
        None if key == "memory" => device.memory = Some(rate(value)? * 1e9),
        None if key == "link" => device.link = Some(rate(value)? * 1e9),
        Some(("matrix", name)) => device.matrix.push((data_type(name)?, rate(value)? * 1e12)),
        Some(("vector", name)) => device.vector.push((data_type(name)?, rate(value)? * 1e12)),
        _ => {
            let expected = "`match`, `memory`, `link`, `matrix.TYPE` or `vector.TYPE`";
            return Err(format!("expected {expected}, found `{key}`"));
        }
    }
    Ok(())
}

fn data_type(name: &str) -> Result<DataType, String> {
    DataType::of_name(name).ok_or_else(|| format!("expected a type such as `bf16`, found `{name}`"))
}

fn rate(value: &str) -> Result<f64, String> {
    let number: Option<f64> = value.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("expected a positive number, found `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_section_for_each_device() {
        let text = "# all\n[A]\nmemory = 2 # GB/s\nmatrix.bf16 = 3\nmatch = *a*\n\n[ B ]\nvector.fp32=0.5\nlink=4\n";
        let [a, b] = &parse(text).unwrap()[..] else { panic!("two devices") };
        assert_eq!((a.name.as_str(), a.memory, &a.matrix[..]), ("A", Some(2e9), &[(DataType::Bf16, 3e12)][..]));
        assert_eq!((b.name.as_str(), b.link, &b.vector[..]), ("B", Some(4e9), &[(DataType::Fp32, 0.5e12)][..]));
    }

    #[test]
    fn errors_state_the_line_and_the_expectation() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(error("\nmemory = 2"), "line 2: expected `[NAME]`, found `memory = 2`");
        assert_eq!(error("[A]\nmemory = fast"), "line 2: expected a positive number, found `fast`");
        assert_eq!(error("[A]\nmatrix.b = 1"), "line 2: expected a type such as `bf16`, found `b`");
        assert_eq!(error("[A]\nmemory"), "line 2: expected `KEY = VALUE`, found `memory`");
        let keys = "`match`, `memory`, `link`, `matrix.TYPE` or `vector.TYPE`";
        assert_eq!(error("[A]\nspeed = 1"), format!("line 2: expected {keys}, found `speed`"));
    }
}
