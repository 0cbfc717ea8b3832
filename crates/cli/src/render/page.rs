//! A chart and its table as a self-contained HTML page.

use super::table::Table;
use super::xml::escaped;
use std::fmt::Write as _;

const STYLE: &str = "\
body { font: 14px system-ui, sans-serif; color: #222; background: #fff; margin: 1.5rem; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; margin-top: 1.5rem; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .7rem; text-align: right; white-space: pre; border-bottom: 1px solid #e4e4e4; }
div { overflow-x: auto; }
tr:hover td { background: #f4f6f8; }";

/// Largest number of characters of a cell.
const CELL_CHARS: usize = 200;

/// Returns the page with a chart, given as SVG, and a table.
pub(crate) fn page(title: &str, svg: &str, table: &Table) -> String {
    let title = escaped(title, CELL_CHARS);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>\n{STYLE}\n</style>\n</head>\n<body>\n{svg}<div><table>\n"
    );
    push_row(&mut page, "th", table.titles());
    for row in table.rows() {
        push_row(&mut page, "td", row.iter().map(String::as_str));
    }
    page.push_str("</table></div>\n</body>\n</html>\n");
    page
}

fn push_row<'a>(page: &mut String, tag: &str, cells: impl Iterator<Item = &'a str>) {
    page.push_str("<tr>");
    for cell in cells {
        let _ = write!(page, "<{tag}>{}</{tag}>", escaped(cell.trim(), CELL_CHARS));
    }
    page.push_str("</tr>\n");
}
