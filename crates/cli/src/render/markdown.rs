//! Markdown for pull requests and job summaries.

use super::table::Table;
use ferrum_trace_analyze::{REPLACEMENT, is_hidden};

/// Returns a table in Markdown.
pub(crate) fn table(table: &Table) -> String {
    let titles: Vec<String> = table.titles().map(escape).collect();
    let mut text = format!("| {} |\n|", titles.join(" | "));
    for is_number in table.are_numbers() {
        text.push_str(if is_number { " ---: |" } else { " --- |" });
    }
    text.push('\n');
    for row in table.rows() {
        let cells: Vec<String> = row.iter().map(|cell| escape(cell.trim())).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

/// Escapes the characters that Markdown or HTML would interpret, and replaces hidden ones. Line breaks become spaces.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '@' => escaped.extend(['\\', letter]),
            '\n' | '\r' => escaped.push(' '),
            _ if is_hidden(letter) => escaped.push(REPLACEMENT),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::table::Column;
    use super::*;

    #[test]
    fn cells_are_escaped() {
        let mut rows = Table::new(vec![Column::text("name"), Column::number("time")]);
        rows.push(vec!["a|b<script>`x`".to_owned(), "1.0 ms".to_owned()]);
        let expected = "| name | time |\n| --- | ---: |\n| a\\|b&lt;script&gt;\\`x\\` | 1.0 ms |\n";
        assert_eq!(table(&rows), expected);
    }

    #[test]
    fn hidden_characters_are_replaced() {
        assert_eq!(escape("a\u{202e}b\nc\u{2028}"), "a\u{fffd}b c\u{fffd}");
    }
}
