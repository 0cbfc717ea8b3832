//! Tables that fit into the terminal.

use super::style::{REST, TITLE};
use super::units::number;
use ferrum_trace_analyze::visible;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A width that no table exceeds.
const UNLIMITED: usize = usize::MAX / 2;
/// Number of hidden columns that are listed.
const HIDDEN_LISTED: usize = 10;
/// Smallest width to which texts are cut.
const TEXT_WIDTH_MIN: usize = 20;
const GAP: &str = "  ";

/// The value of `--wide`.
static IS_WIDE: AtomicBool = AtomicBool::new(false);

/// Makes [`width`] unlimited on terminals too.
pub(crate) fn set_wide(is_wide: bool) {
    IS_WIDE.store(is_wide, Ordering::Relaxed);
}

/// Returns the largest width of tables: the terminal's, or the value of `COLUMNS`. It is unlimited with `--wide`, or
/// without a terminal.
pub(crate) fn width() -> usize {
    if IS_WIDE.load(Ordering::Relaxed) {
        return UNLIMITED;
    }
    if let Some((terminal_size::Width(width), _)) = terminal_size::terminal_size_of(std::io::stdout()) {
        return usize::from(width);
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    columns.filter(|&columns| columns > 0).unwrap_or(UNLIMITED).min(UNLIMITED)
}

/// Returns the largest length of a name in running text: `chars`, or unlimited if tables are.
pub(crate) fn name_width(chars: usize) -> usize {
    if width() == UNLIMITED { UNLIMITED } else { chars }
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    title: String,
    kind: ColumnKind,
    importance: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    /// Left-aligned, cut in the middle if necessary.
    Text,
    /// Right-aligned, never cut.
    Number,
}

impl Column {
    /// Creates a column of texts, which are cut if the table is too wide.
    pub(crate) fn text(title: impl Into<String>) -> Self {
        Self { title: clean(&title.into()), kind: ColumnKind::Text, importance: None }
    }

    /// Creates a column of numbers.
    pub(crate) fn number(title: impl Into<String>) -> Self {
        Self { title: clean(&title.into()), kind: ColumnKind::Number, importance: None }
    }

    /// Allows to hide the column if the table is too wide. The least important column is hidden first.
    pub(crate) fn importance(mut self, importance: usize) -> Self {
        self.importance = Some(importance);
        self
    }
}

/// Rows of cells.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates an empty table.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row with one cell per column.
    pub(crate) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(|cell| clean(&cell)).collect());
    }

    /// Returns the column titles.
    pub(crate) fn titles(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.title.as_str())
    }

    /// Returns true for each column of numbers.
    pub(crate) fn are_numbers(&self) -> impl Iterator<Item = bool> {
        self.columns.iter().map(|column| column.kind == ColumnKind::Number)
    }

    /// Returns the cells, row by row.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Returns the table as lines of text. The last line lists hidden columns.
    pub(crate) fn render(&self, width: usize) -> String {
        let natural: Vec<usize> = (0..self.columns.len()).map(|column| self.natural_width(column)).collect();
        let kept = self.fitting_columns(&natural, width);
        let widths = self.cut_widths(&kept, &natural, width);
        let titles: Vec<&str> = self.columns.iter().map(|column| column.title.as_str()).collect();
        let mut text = format!("{TITLE}{}{TITLE:#}\n", self.line(&kept, &widths, &titles));
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            text.push_str(&self.line(&kept, &widths, &cells));
            text.push('\n');
        }
        text.push_str(&self.hidden_note(&kept, &widths));
        text
    }

    /// Returns a line about hidden columns, and about different names that look the same.
    fn hidden_note(&self, kept: &[usize], widths: &[usize]) -> String {
        let hidden: Vec<&str> = (0..self.columns.len())
            .filter(|column| !kept.contains(column))
            .map(|column| self.columns[column].title.as_str())
            .collect();
        let mut parts = Vec::new();
        if !hidden.is_empty() {
            let n_more = hidden.len().saturating_sub(HIDDEN_LISTED);
            let more = if n_more > 0 { format!(" and {} more", number(n_more as u64)) } else { String::new() };
            let listed = &hidden[..hidden.len() - n_more];
            parts.push(format!("hidden at this width: {}{more}", listed.join(", ")));
        }
        if self.has_lookalikes(kept, widths) {
            parts.push("some names differ only where they are cut".to_owned());
        }
        if parts.is_empty() { String::new() } else { format!("{REST}{}; use --wide{REST:#}\n", parts.join("; ")) }
    }

    /// Returns true if rows with different texts look the same after cutting.
    fn has_lookalikes(&self, kept: &[usize], widths: &[usize]) -> bool {
        let texts: Vec<usize> =
            kept.iter().copied().filter(|&column| self.columns[column].kind == ColumnKind::Text).collect();
        let (mut full, mut shown) = (HashSet::new(), HashSet::new());
        for row in &self.rows {
            full.insert(texts.iter().map(|&column| row[column].as_str()).collect::<Vec<_>>());
            shown.insert(texts.iter().map(|&column| cut(&row[column], widths[column])).collect::<Vec<_>>());
        }
        shown.len() < full.len()
    }

    fn natural_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].width());
        cells.max().unwrap_or(0).max(self.columns[column].title.width())
    }

    /// Returns the smallest width of a column.
    fn min_width(&self, column: usize, natural: &[usize]) -> usize {
        match self.columns[column].kind {
            ColumnKind::Text => natural[column].min(TEXT_WIDTH_MIN),
            ColumnKind::Number => natural[column],
        }
    }

    fn fitting_columns(&self, natural: &[usize], width: usize) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        loop {
            let needed: usize = kept.iter().map(|&column| self.min_width(column, natural) + GAP.len()).sum();
            let least =
                kept.iter().copied().filter_map(|column| Some((self.columns[column].importance?, column))).min();
            match least {
                Some((_, least)) if needed > width + GAP.len() => kept.retain(|&column| column != least),
                _ => return kept,
            }
        }
    }

    /// Returns the widths of the columns after cutting texts, the widest column first.
    fn cut_widths(&self, kept: &[usize], natural: &[usize], width: usize) -> Vec<usize> {
        let mut widths = natural.to_vec();
        loop {
            let needed: usize = kept.iter().map(|&column| widths[column] + GAP.len()).sum();
            let excess = needed.saturating_sub(width + GAP.len());
            let can_give = |&column: &usize| widths[column] - self.min_width(column, natural);
            let Some(&widest) = kept.iter().filter(|column| can_give(column) > 0).max_by_key(|&&column| widths[column])
            else {
                return widths;
            };
            if excess == 0 {
                return widths;
            }
            // Cut down to the next widest column, if any.
            let others = kept.iter().filter(|&&column| column != widest && can_give(&column) > 0);
            let next = others.map(|&column| widths[column]).max().unwrap_or(0);
            let step = (widths[widest] - next).max(1).min(excess).min(can_give(&widest));
            widths[widest] -= step;
        }
    }

    fn line(&self, kept: &[usize], widths: &[usize], cells: &[&str]) -> String {
        let mut line = String::new();
        for (place, &column) in kept.iter().enumerate() {
            let cell = cut(cells[column], widths[column]);
            let blanks = " ".repeat(widths[column].saturating_sub(cell.width()));
            if place > 0 {
                line.push_str(GAP);
            }
            match self.columns[column].kind {
                ColumnKind::Text => line.extend([cell.as_str(), &blanks]),
                ColumnKind::Number => line.extend([blanks.as_str(), &cell]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Replaces hidden characters of a text, which could move the cursor, change colors, or reorder the text around them.
pub(crate) fn clean(text: &str) -> String {
    visible(text)
}

/// Cuts a text to this width, in its middle.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let head = take(text.chars(), room.div_ceil(2));
    let tail: String = take(text.chars().rev(), room - room.div_ceil(2)).chars().rev().collect();
    format!("{head}…{tail}")
}

/// Prefixes of most kernel names, which carry no information.
const KERNEL_PREFIXES: [&str; 3] = ["void ", "at::native::", "(anonymous namespace)::"];

/// Cuts the name of a kernel or a span to this width, at its end: the beginning of kernel names differs most. Common
/// prefixes are left out first.
pub(crate) fn shorten(name: &str, width: usize) -> String {
    if name.width() <= width {
        return name.to_owned();
    }
    let name = KERNEL_PREFIXES.iter().fold(name.to_owned(), |name, prefix| name.replace(prefix, ""));
    if name.width() <= width {
        return name;
    }
    format!("{}…", take(name.chars(), width.saturating_sub(1)))
}

fn take(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    let fits = |char: &char| {
        used += char.width().unwrap_or(0);
        used <= width
    };
    chars.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = vec![
            Column::text("name"),
            Column::number("count").importance(1),
            Column::number("total"),
            Column::number("p99").importance(0),
        ];
        let mut table = Table::new(columns);
        table.push(["a kernel with quite a long name", "1", "12 ms", "1 ms"].map(String::from).to_vec());
        table.push(["b", "1,000", "1 ms", "2 ms"].map(String::from).to_vec());
        table
    }

    fn rendered(width: usize) -> String {
        anstream::adapter::strip_str(&table().render(width)).to_string()
    }

    #[test]
    fn kernel_names_lose_common_prefixes() {
        assert_eq!(shorten("void short()", 20), "void short()");
        assert_eq!(shorten("void at::native::reduce_kernel<512>", 20), "reduce_kernel<512>");
        assert_eq!(shorten("void at::native::(anonymous namespace)::silu_kernel<float, long>", 14), "silu_kernel<f…");
    }

    #[test]
    fn a_wide_table_has_all_columns() {
        let expected = "\
name                             count  total   p99
a kernel with quite a long name      1  12 ms  1 ms
b                                1,000   1 ms  2 ms
";
        assert_eq!(rendered(80), expected);
        assert_eq!(rendered(51), expected, "exactly enough");
    }

    #[test]
    fn names_are_cut_first_then_columns_are_hidden() {
        let first = |width| rendered(width).lines().nth(1).unwrap_or_default().to_owned();
        assert_eq!(first(50), "a kernel with q…te a long name      1  12 ms  1 ms");
        assert_eq!(first(40), "a kernel w…long name      1  12 ms  1 ms");
        assert_eq!(first(39), "a kernel wit… a long name      1  12 ms");
        assert_eq!(first(33), "a kernel with… a long name  12 ms");
        assert_eq!(first(5), "a kernel w…long name  12 ms", "never less");
    }

    #[test]
    fn hidden_columns_are_listed_below_the_table() {
        let last = |width| rendered(width).lines().last().unwrap_or_default().to_owned();
        assert_eq!(last(80), "b                                1,000   1 ms  2 ms");
        assert_eq!(last(39), "hidden at this width: p99; use --wide");
        assert_eq!(last(33), "hidden at this width: count, p99; use --wide");
        let columns = (0..13).map(|n| Column::number(format!("c{n}")).importance(n)).collect();
        let many = anstream::adapter::strip_str(&Table::new(columns).render(3)).to_string();
        let listed = "c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more";
        assert!(many.ends_with(&format!("hidden at this width: {listed}; use --wide\n")), "{many}");
    }

    #[test]
    fn names_that_look_the_same_when_cut_are_reported() {
        let mut table = Table::new(vec![Column::text("name"), Column::number("n")]);
        for name in ["gemm_kernel<float, 128, 64>()", "gemm_kernel<half_, 128, 64>()"] {
            table.push(vec![name.to_owned(), "1".to_owned()]);
        }
        let last = |width| {
            let text = anstream::adapter::strip_str(&table.render(width)).to_string();
            text.lines().last().unwrap_or_default().to_owned()
        };
        assert_eq!(last(24), "some names differ only where they are cut; use --wide");
        assert_eq!(last(UNLIMITED), "gemm_kernel<half_, 128, 64>()  1");
    }

    #[test]
    fn hidden_characters_are_replaced() {
        assert_eq!(clean("a\u{1b}[2Jb\nc\td\u{202e}e"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}e");
    }

    #[test]
    fn columns_are_aligned_by_what_is_shown() {
        let mut table = Table::new(vec![Column::text("name"), Column::number("n")]);
        for name in ["\u{202e}\u{200b}\u{2028}", "abcd"] {
            table.push(vec![name.to_owned(), "1".to_owned()]);
        }
        let text = anstream::adapter::strip_str(&table.render(UNLIMITED)).to_string();
        assert_eq!(text, "name  n\n\u{fffd}\u{fffd}\u{fffd}   1\nabcd  1\n");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(cut("漢字漢字漢字", 12), "漢字漢字漢字");
        assert_eq!(cut("漢字漢字漢字", 7), "漢…字");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("abc", 0), "…");
    }
}
