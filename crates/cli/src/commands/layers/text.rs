//! The table of `layers`.

use super::report::LayersReport;
use crate::flags::By;
use crate::input::source::Source;
use crate::render::style::TITLE;
use crate::render::table::{self, Column, Table, clean, cut};
use crate::render::units::time_in_column;
use ferrum_trace_analyze::{Cell, PhaseLayers};

/// Characters of a name or a phase in a column title.
const TITLE_CHARS: usize = 18;

/// Returns a title and the table.
pub(crate) fn text(source: &Source, report: &LayersReport) -> String {
    let table = table(report).render(table::width());
    format!("{TITLE}{}{TITLE:#}: {}\n\n{table}", clean(&source.label), report.description())
}

/// Returns the name of a column, or a placeholder if it is empty.
pub(crate) fn named<'a>(report: &LayersReport, column: &'a str) -> &'a str {
    match (column, &report.by) {
        ("", By::Cat) => "(no category)",
        ("", _) => "(empty)",
        (column, _) => column,
    }
}

/// Returns a row for each layer.
pub(crate) fn table(report: &LayersReport) -> Table {
    let layers = &report.layers;
    let names = report.columns();
    let title_chars = table::name_width(TITLE_CHARS);
    let mut columns = vec![Column::number("layer")];
    for phase in &layers.phases {
        let prefix = phase.phase.as_ref().map_or_else(String::new, |phase| format!("{} ", cut(phase, title_chars)));
        columns.push(Column::number(format!("{prefix}all")));
        for (place, name) in names.iter().enumerate() {
            let title = format!("{prefix}{}", cut(&clean(named(report, name)), title_chars));
            // Columns with less time are hidden first.
            columns.push(Column::number(title).importance(names.len() - place));
        }
    }
    let mut table = Table::new(columns);
    for (row, layer) in layers.layers.iter().enumerate() {
        table.push(cells(report, layer.to_string(), |phase, column| phase.cell(row, column)));
    }
    table.push(cells(report, "all".to_owned(), |phase, column| layers.column_sum(phase, column)));
    table.push(cells(report, "none".to_owned(), |phase, column| phase.without_layer[column]));
    table
}

fn cells(report: &LayersReport, label: String, cell: impl Fn(&PhaseLayers, usize) -> Cell) -> Vec<String> {
    let spelled = |time: i64| if time == 0 { "-".to_owned() } else { time_in_column(time) };
    let mut cells = vec![label];
    for phase in &report.layers.phases {
        let times: Vec<i64> = (0..report.layers.columns.len()).map(|column| report.time(cell(phase, column))).collect();
        cells.push(spelled(times.iter().fold(0, |sum: i64, &time| sum.saturating_add(time))));
        cells.extend(times.into_iter().map(spelled));
    }
    cells
}
