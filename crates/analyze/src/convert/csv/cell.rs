//! Texts in a form that spreadsheets do not take for formulas.

use std::borrow::Cow;

/// Texts of a CSV table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsvTexts {
    /// An apostrophe before each text that a spreadsheet would take for a formula.
    #[default]
    Guarded,
    /// As in the trace.
    Raw,
}

/// Stops spreadsheets from evaluating a cell.
const GUARD: char = '\'';

impl CsvTexts {
    /// Returns the cell for a text.
    pub(super) fn cell<'a>(self, text: &'a str) -> Cow<'a, str> {
        match self == Self::Guarded && begins_formula(text) && !is_integer(text) {
            true => format!("{GUARD}{text}").into(),
            false => text.into(),
        }
    }
}

/// Returns true if a spreadsheet may evaluate a cell because of its first character. Some accept the full-width form of
/// the characters, and some skip the line breaks and tabs before them.
fn begins_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])
}

/// Returns true for a number with at most a sign, such as the id of a process, which has the same value everywhere.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_get_an_apostrophe() {
        for text in ["=1+1", "+cmd|'/c calc'!A0", "-2+3", "-", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "-1;2", "-٣"]
        {
            assert_eq!(CsvTexts::Guarded.cell(text), format!("'{text}"), "{text:?}");
            assert_eq!(CsvTexts::Raw.cell(text), text, "{text:?}");
        }
    }

    #[test]
    fn other_texts_and_integers_are_kept() {
        for text in ["", "gemm", "a=b", "operator+", "{\"a\":-1}", "7", "-7", "+7", "'=1", " =1", "µ"] {
            assert_eq!(CsvTexts::Guarded.cell(text), text);
        }
    }
}
