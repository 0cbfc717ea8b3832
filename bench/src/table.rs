//! A table of figures, printed as aligned Markdown or as JSON.

use serde_json::{Value, json};

/// One cell. A figure that does not exist for a contender is `Absent` with the reason, never zero.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Text(String),
    Number {
        value: f64,
        decimals: usize,
    },
    /// Multiple of the base, printed as `1.05x`.
    Ratio(f64),
    Absent(&'static str),
}

/// Rows under named columns, with a description of the measurement.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub title: String,
    pub note: String,
    pub columns: Vec<&'static str>,
    pub rows: Vec<Vec<Cell>>,
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn number(value: f64, decimals: usize) -> Self {
        Self::Number { value, decimals }
    }

    /// A figure that is missing if `--only` excludes the contender.
    pub(crate) fn maybe(value: Option<f64>, decimals: usize) -> Self {
        value.map_or(Self::Absent("-"), |value| Self::number(value, decimals))
    }

    /// `value / base`, if both were measured.
    pub(crate) fn ratio(value: Option<f64>, base: Option<f64>) -> Self {
        match (value, base) {
            (Some(value), Some(base)) if base > 0.0 => Self::Ratio(value / base),
            _ => Self::Absent("-"),
        }
    }

    fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number { value, decimals } => grouped(*value, *decimals),
            Self::Ratio(value) => format!("{}x", grouped(*value, 2)),
            Self::Absent(why) => (*why).to_owned(),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Number { value, .. } | Self::Ratio(value) => json!(value),
            Self::Absent(_) => Value::Null,
        }
    }
}

impl Table {
    /// GitHub Markdown whose columns also line up in a terminal. The first column is left-aligned, the rest right.
    pub(crate) fn to_markdown(&self) -> String {
        let text: Vec<Vec<String>> = self.rows.iter().map(|row| row.iter().map(Cell::to_text).collect()).collect();
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(idx, name)| {
                let cells = text.iter().map(|row| row.get(idx).map_or(0, |cell| cell.chars().count()));
                cells.chain([name.chars().count(), 3]).max().unwrap_or(3)
            })
            .collect();
        let mut out = format!("### {}\n\n", self.title);
        if !self.note.is_empty() {
            out.push_str(&self.note);
            out.push_str("\n\n");
        }
        out.push_str(&line(self.columns.iter().map(|name| (*name).to_owned()), &widths));
        out.push_str(&rule(&widths));
        for row in text {
            out.push_str(&line(row.into_iter(), &widths));
        }
        out
    }

    /// `{title, note, rows: [{column: value}]}`; a missing figure is `null`.
    pub(crate) fn to_json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let cells = self.columns.iter().zip(row);
                Value::Object(cells.map(|(name, cell)| ((*name).to_owned(), cell.to_json())).collect())
            })
            .collect();
        json!({ "title": self.title, "note": self.note, "rows": rows })
    }
}

fn line(cells: impl Iterator<Item = String>, widths: &[usize]) -> String {
    let mut out = String::from("|");
    for (idx, (cell, width)) in cells.zip(widths).enumerate() {
        let padded = if idx == 0 { format!(" {cell:<width$} |") } else { format!(" {cell:>width$} |") };
        out.push_str(&padded);
    }
    out.push('\n');
    out
}

fn rule(widths: &[usize]) -> String {
    let mut out = String::from("|");
    for (idx, width) in widths.iter().enumerate() {
        out.push_str(&"-".repeat(width + 1));
        out.push_str(if idx == 0 { "-|" } else { ":|" });
    }
    out.push('\n');
    out
}

/// Formats `1234567.8` as `1,234,567.8`.
fn grouped(value: f64, decimals: usize) -> String {
    let plain = format!("{value:.decimals$}");
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').map_or((digits, ""), |(whole, fraction)| (whole, fraction));
    let mut out = String::from(sign);
    for (idx, digit) in whole.chars().enumerate() {
        if idx > 0 && (whole.len() - idx).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(1_234_567.84, 1), "1,234,567.8");
        assert_eq!(grouped(-999.0, 0), "-999");
        assert_eq!(grouped(12.3456, 2), "12.35");
    }

    #[test]
    fn a_missing_figure_is_null_in_json_and_a_reason_in_text() {
        let table = Table {
            title: "t".into(),
            note: String::new(),
            columns: vec!["contender", "ns"],
            rows: vec![vec![Cell::text("a"), Cell::Absent("no args")]],
        };
        assert_eq!(table.to_json()["rows"][0]["ns"], Value::Null);
        assert!(table.to_markdown().contains("| no args |"));
    }
}
