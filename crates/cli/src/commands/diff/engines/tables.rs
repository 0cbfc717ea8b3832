//! Tables of a comparison.

use super::report::EnginesReport;
use super::wording::{is_whole, phase_name, row_name, sizes};
use crate::render::table::{Column, Table};
use crate::render::units::{number, percent, time_in_column};
use ferrum_trace_analyze::{ComparedRow, EngineConcern, PhaseComparison, PhaseProfile, RowFigures, Sides, UnnamedTime};

/// A phase with its table.
pub(super) struct PhaseTable<'a> {
    /// Name of the phase, and its steps and tokens on both sides.
    pub(super) title: String,
    pub(super) table: Table,
    /// Names without a class, the one with the most time first.
    pub(super) unnamed: Sides<&'a [UnnamedTime]>,
}

/// Returns the tables of all phases.
pub(super) fn phases(report: &EnginesReport) -> Vec<PhaseTable<'_>> {
    report.comparison.phases.iter().map(|phase| phase_table(report, phase)).collect()
}

fn phase_table<'a>(report: &'a EnginesReport, phase: &PhaseComparison) -> PhaseTable<'a> {
    let profiles: Sides<Option<&PhaseProfile>> =
        report.sides.map(|side| side.profile.phases.iter().find(|it| it.phase == phase.phase));
    let name = phase_name(report, phase.phase);
    let Sides { base, new } = profiles.map(|profile| sizes(*profile));
    let shows_layers = report.comparison.concerns.iter().any(|it| matches!(it, EngineConcern::Layers(_)));
    let mut table = Table::new(columns(shows_layers, is_whole(report, phase.phase)));
    for row in &phase.rows {
        table.push(cells(row_name(report, phase.phase, row.subject), row, shows_layers));
    }
    let unnamed = profiles.map(|&profile| profile.map_or(&[][..], |it| &it.times.unnamed[..]));
    PhaseTable { title: format!("{name}: base {base}; new {new}"), table, unnamed }
}

/// Returns the columns. Those of layers are shown instead of ratios if the models are different.
fn columns(shows_layers: bool, is_whole: bool) -> Vec<Column> {
    let times = if is_whole { ["base", "new"] } else { ["base/step", "new/step"] };
    let mut columns = vec![Column::text("time")];
    columns.extend(["base n", "new n"].map(|title| Column::number(title).importance(0)));
    columns.extend(times.map(Column::number));
    if shows_layers {
        columns.extend(["base/layer", "new/layer"].map(Column::number));
    } else {
        columns.push(Column::number(if is_whole { "ratio" } else { "step ratio" }));
    }
    columns.extend(["base/token", "new/token"].map(|title| Column::number(title).importance(4)));
    if !shows_layers {
        columns.push(Column::number("token ratio").importance(5));
    }
    columns.extend(["base %", "new %"].map(|title| Column::number(title).importance(3)));
    columns
}

fn cells(name: &str, row: &ComparedRow, shows_layers: bool) -> Vec<String> {
    let spelled = |value: Option<f64>| value.map_or("-".to_owned(), |ns| time_in_column(ns.round() as i64));
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
    let each = |figure: &dyn Fn(&RowFigures) -> Option<f64>| {
        let figures = row.figures.map(|figures| figures.as_ref().and_then(figure));
        [figures.base, figures.new]
    };
    let counts = row.figures.map(|figures| figures.map_or("-".to_owned(), |it| number(it.count)));
    let mut cells = vec![name.to_owned(), counts.base, counts.new];
    cells.extend(each(&|it| Some(it.per_step)).map(spelled));
    if shows_layers {
        cells.extend(each(&|it| it.per_layer).map(spelled));
    } else {
        cells.push(ratio(row.step_ratio));
    }
    cells.extend(each(&|it| it.per_token).map(spelled));
    if !shows_layers {
        cells.push(ratio(row.token_ratio));
    }
    cells.extend(each(&|it| it.share).map(|share| share.map_or("-".to_owned(), percent)));
    cells
}
