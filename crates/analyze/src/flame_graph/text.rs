//! Texts of the picture.

use crate::visible::visible;

/// Largest number of characters of a name in a tooltip.
const NAME_CHARS: usize = 600;

/// Width of a character of a label in pixels. The script has the same number.
pub(super) const CHAR_WIDTH: f64 = 6.7;

/// Space between a label and the borders of its frame.
const PADDING: f64 = 6.0;

/// Fewest columns of a label.
const LABEL_MIN: usize = 3;

/// Returns a name without hidden characters, cut in its middle if it is very long.
pub(super) fn name(name: &str) -> String {
    let name = visible(name);
    let n_chars = name.chars().count();
    if n_chars <= NAME_CHARS {
        return name;
    }
    let head: String = name.chars().take(NAME_CHARS / 2).collect();
    let tail: String = name.chars().skip(n_chars - NAME_CHARS / 2 + 1).collect();
    format!("{head}…{tail}")
}

/// Returns the part of a name that fits into a frame; `None` if that is too little.
pub(super) fn label(name: &str, width: f64) -> Option<String> {
    let room = ((width - PADDING) / CHAR_WIDTH).max(0.0) as usize;
    (room >= LABEL_MIN).then(|| cut(name, room))
}

/// Cuts a text at its end to a number of columns.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let mut used = 0;
    let mut end_of_cut = 0;
    for (at, char) in text.char_indices() {
        used += columns_of(char);
        if used > columns {
            return format!("{}…", &text[..end_of_cut]);
        }
        if used < columns {
            end_of_cut = at + char.len_utf8();
        }
    }
    text.to_owned()
}

/// Returns the number of columns of a character in a font of fixed width; at least as many as it takes.
fn columns_of(char: char) -> usize {
    if char < '\u{1100}' { 1 } else { 2 }
}

/// Returns a time with a unit, such as `1.234 ms`.
pub(super) fn time(ns: u64) -> String {
    let units = [("s", 1e9), ("ms", 1e6), ("µs", 1e3)];
    match units.into_iter().find(|(_, in_ns)| ns as f64 >= *in_ns) {
        Some((unit, in_ns)) => format!("{:.3} {unit}", ns as f64 / in_ns),
        None => format!("{ns} ns"),
    }
}

/// Returns a share of the whole.
pub(super) fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Returns a number with its noun.
pub(super) fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_fit_into_their_frames() {
        assert_eq!(label("matmul", 60.0).as_deref(), Some("matmul"));
        assert_eq!(label("matmul", 40.0).as_deref(), Some("matm…"));
        assert_eq!(label("漢字漢字", 40.0).as_deref(), Some("漢字…"));
        assert_eq!([label("matmul", 20.0), label("a", 0.0)], [None, None]);
    }

    #[test]
    fn long_names_are_cut_in_their_middle() {
        let long = format!("{}{}", "a".repeat(1_000), "b".repeat(1_000));
        let cut = name(&long);
        assert_eq!(cut.chars().count(), NAME_CHARS);
        assert!(cut.starts_with("aaa") && cut.contains("a…b") && cut.ends_with("bbb"));
        assert_eq!(name("a\nb\u{202e}"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn times_have_units() {
        let times = [0, 999, 1_234, 1_234_567, 12_345_678_901].map(time);
        assert_eq!(times, ["0 ns", "999 ns", "1.234 µs", "1.235 ms", "12.346 s"]);
        assert_eq!((percent(1, 8), percent(0, 0)), ("12.5 %".to_owned(), "0.0 %".to_owned()));
        assert_eq!((count(1, "slice"), count(2, "slice")), ("1 slice".to_owned(), "2 slices".to_owned()));
    }
}
