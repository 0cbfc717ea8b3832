//! Parts of a report that is printed as text or as Markdown.

use super::markdown;
use super::style::{DAMAGE, TITLE};
use super::table::{self, Table, clean};

/// Part of a report.
#[derive(Debug)]
pub(crate) enum Part {
    /// A sentence that sums up the result.
    Headline(String),
    /// Remarks, one line each.
    Notes(Vec<String>),
    /// Lines of text.
    Lines(Vec<String>),
    /// A table with a title.
    Table(String, Table),
}

impl Part {
    fn is_empty(&self) -> bool {
        match self {
            Self::Headline(_) => false,
            Self::Notes(lines) | Self::Lines(lines) => lines.is_empty(),
            Self::Table(_, table) => table.rows().is_empty(),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Headline(line) => format!("{TITLE}{}{TITLE:#}\n", clean(line)),
            Self::Notes(lines) => {
                lines.iter().map(|line| format!("{DAMAGE}note:{DAMAGE:#} {}\n", clean(line))).collect()
            }
            Self::Lines(lines) => lines.iter().map(|line| format!("{}\n", clean(line))).collect(),
            Self::Table(title, table) => format!("{}\n{}", clean(title), table.render(table::width())),
        }
    }

    fn markdown(&self) -> String {
        match self {
            Self::Headline(line) => format!("### {}\n", markdown::escape(line)),
            Self::Notes(lines) => {
                lines.iter().map(|line| format!("> **Note:** {}\n>\n", markdown::escape(line))).collect()
            }
            Self::Lines(lines) => lines.iter().map(|line| format!("- {}\n", markdown::escape(line))).collect(),
            Self::Table(title, table) => format!("**{}**\n\n{}", markdown::escape(title), markdown::table(table)),
        }
    }
}

/// Returns the parts as text. Parts without content are left out.
pub(crate) fn to_text(parts: &[Part]) -> String {
    joined(parts, Part::text)
}

/// Returns the parts as Markdown. Parts without content are left out.
pub(crate) fn to_markdown(parts: &[Part]) -> String {
    joined(parts, Part::markdown)
}

fn joined(parts: &[Part], render: fn(&Part) -> String) -> String {
    parts.iter().filter(|part| !part.is_empty()).map(render).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::table::Column;
    use super::*;

    fn parts() -> Vec<Part> {
        let mut rows = Table::new(vec![Column::text("name"), Column::number("n")]);
        rows.push(vec!["a|b".to_owned(), "1".to_owned()]);
        vec![
            Part::Headline("all *well*".to_owned()),
            Part::Notes(Vec::new()),
            Part::Lines(vec!["one\u{1b}".to_owned()]),
            Part::Notes(vec!["careful".to_owned()]),
            Part::Table("Rows".to_owned(), rows),
        ]
    }

    #[test]
    fn parts_are_separated_by_empty_lines() {
        let text = anstream::adapter::strip_str(&to_text(&parts())).to_string();
        assert_eq!(text, "all *well*\n\none\u{fffd}\n\nnote: careful\n\nRows\nname  n\na|b   1\n");
    }

    #[test]
    fn markdown_is_escaped() {
        let expected = "### all \\*well\\*\n\n- one\u{fffd}\n\n> **Note:** careful\n>\n\n**Rows**\n\n| name | n |\n| --- | ---: |\n| a\\|b | 1 |\n";
        assert_eq!(to_markdown(&parts()), expected);
    }
}
