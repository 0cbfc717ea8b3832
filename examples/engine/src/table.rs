//! Text tables.

/// Formats a title and rows; the first column is text, the others are numbers.
pub fn table(title: &str, rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..n_columns).map(|column| width(column).unwrap_or(0)).collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 => format!("  {cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    });
    format!("{title}\n{}\n", lines.collect::<String>())
}

/// A row of a label and cells.
pub fn row<T: Into<String>>(label: &str, cells: impl IntoIterator<Item = T>) -> Vec<String> {
    std::iter::once(label.to_owned()).chain(cells.into_iter().map(Into::into)).collect()
}

/// Formats nanoseconds as milliseconds.
pub fn millis(ns: i64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}
