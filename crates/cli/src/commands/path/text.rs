//! The text of `path`.

use super::report::PathReport;
use crate::input::source::Source;
use crate::render::recorder;
use crate::render::style::{TITLE, key_value};
use crate::render::table::{self, Column, Table, clean};
use crate::render::units::{count, number, percent, share, time, time_in_column};
use ferrum_trace_analyze::{Bound, CriticalPath, PathRow, PathTotals, PieceKind, Prediction, Resource};

/// Returns the overview and the tables.
pub(crate) fn text(source: &Source, report: &PathReport, path: &CriticalPath, top: usize) -> String {
    let width = table::width();
    let mut text = overview(source, report, path);
    text.push_str(&recorder::lines(&report.loaded));
    let mut tables = vec![kinds(path), operations(report, path, top), categories(path, top)];
    if !path.totals.layers.is_empty() {
        tables.push(layers(path));
    }
    if path.n_steps > 1 {
        tables.push(on_paths(report, path, top));
    }
    if !path.off_path.is_empty() {
        tables.push(off_path(report, path, top));
    }
    for table in tables {
        text.push('\n');
        text.push_str(&table.render(width));
    }
    if let Some(prediction) = &path.prediction {
        text.push('\n');
        text.push_str(&predicted(report, path, prediction, top));
    }
    text
}

fn overview(source: &Source, report: &PathReport, path: &CriticalPath) -> String {
    let label = clean(&source.label);
    let window = clean(&report.window(path));
    let pieces = count(path.pieces.len() as u64, "piece");
    let mut text =
        format!("{TITLE}{label}{TITLE:#}: critical path of {window}: {} in {pieces}\n", time(path.duration()));
    text.push_str(&key_value("bound by", &bound(&path.bound)));
    let share = |kind| percent(path.totals.share(kind));
    let (host, device) = (share(PieceKind::HostWork), share(PieceKind::DeviceWork));
    text.push_str(&key_value("work", &format!("{host} % host, {device} % device")));
    let outside = path.totals.of_kind(PieceKind::OutsideFile);
    if outside > 0 {
        text.push_str(&key_value("outside", &format!("{} with a cause outside the file", time(outside))));
    }
    text
}

/// Returns the resource and how certain it is: `device compute: 99.8 % of the path, 0.0 % unexplained: certain`.
fn bound(bound: &Bound) -> String {
    let Some(by) = bound.by else { return "nothing in the file".to_owned() };
    let certain = if bound.is_certain { "certain" } else { "uncertain: the unexplained part could belong to another" };
    format!(
        "{}: {} % of the path, {} % unexplained; {certain}",
        resource(by),
        percent(bound.share),
        percent(bound.unexplained)
    )
}

fn resource(resource: Resource) -> &'static str {
    match resource {
        Resource::Launch => "launches",
        Resource::DeviceCompute => "device compute",
        Resource::Copies => "copies",
        Resource::Communication => "communication",
        Resource::Scheduler => "the scheduler",
        Resource::Sampling => "sampling",
        Resource::HostCompute => "host compute",
        Resource::HostWork => "host work",
        Resource::Synchronization => "synchronization",
        Resource::OtherThreads => "other threads",
        Resource::Unexplained => "unexplained idle time",
    }
}

fn kinds(path: &CriticalPath) -> Table {
    let columns = ["pieces", "path", "%"].map(Column::number);
    let mut table = Table::new([Column::text("kind")].into_iter().chain(columns).collect());
    for it in &path.totals.kinds {
        let share = share_of(it.kind, it.total, &path.totals);
        table.push(vec![it.kind.describe().to_owned(), number(it.count), time_in_column(it.total), share]);
    }
    table
}

/// Returns the share of a time in the path, or `-` for time outside of the file.
fn share_of(kind: PieceKind, time: i64, totals: &PathTotals) -> String {
    match kind {
        PieceKind::OutsideFile => "-".to_owned(),
        _ => share(time, totals.in_file()),
    }
}

fn operations(report: &PathReport, path: &CriticalPath, top: usize) -> Table {
    let mut table = Table::new(vec![
        Column::text("operation"),
        Column::text("kind"),
        Column::number("pieces").importance(0),
        Column::number("path"),
        Column::number("%"),
        Column::number("drag").importance(1),
    ]);
    for (place, row) in path.totals.rows.iter().enumerate().take(top) {
        table.push(vec![
            name(report, row),
            row.kind.describe().to_owned(),
            number(row.count),
            time_in_column(row.total),
            share_of(row.kind, row.total, &path.totals),
            path.drags.get(place).map_or_else(|| "-".to_owned(), |&drag| time_in_column(drag)),
        ]);
    }
    table
}

/// Returns the name of a row; time without a slice is named by its kind.
fn name(report: &PathReport, row: &PathRow) -> String {
    report.name(row.name).map_or_else(|| format!("({})", row.kind.describe()), str::to_owned)
}

fn categories(path: &CriticalPath, top: usize) -> Table {
    let columns = ["pieces", "path", "%"].map(Column::number);
    let titles = [Column::text("category"), Column::text("kind")];
    let mut table = Table::new(titles.into_iter().chain(columns).collect());
    for it in path.totals.categories.iter().take(top) {
        table.push(vec![
            it.category.clone(),
            it.kind.describe().to_owned(),
            number(it.count),
            time_in_column(it.total),
            share(it.total, path.totals.in_file()),
        ]);
    }
    table
}

fn layers(path: &CriticalPath) -> Table {
    let mut table = Table::new(["layer", "pieces", "path", "%"].map(Column::number).to_vec());
    for it in &path.totals.layers {
        let layer = it.layer.map_or_else(|| "none".to_owned(), |layer| layer.to_string());
        let share = share(it.total, path.totals.in_file());
        table.push(vec![layer, number(it.count), time_in_column(it.total), share]);
    }
    table
}

fn on_paths(report: &PathReport, path: &CriticalPath, top: usize) -> Table {
    let mut table = Table::new(vec![
        Column::text("on the paths of all steps"),
        Column::text("kind"),
        Column::number("steps"),
        Column::number("pieces").importance(0),
        Column::number("path"),
    ]);
    for it in path.steps.iter().take(top) {
        table.push(vec![
            name(report, &it.row),
            it.row.kind.describe().to_owned(),
            format!("{} of {}", number(it.n_steps), number(path.n_steps as u64)),
            number(it.row.count),
            time_in_column(it.row.total),
        ]);
    }
    table
}

fn off_path(report: &PathReport, path: &CriticalPath, top: usize) -> Table {
    let mut table = Table::new(vec![
        Column::text("beside the path"),
        Column::text("on"),
        Column::number("pieces").importance(0),
        Column::number("total"),
        Column::number("slack"),
    ]);
    for it in path.off_path.iter().take(top) {
        table.push(vec![
            report.loaded.trace.strings.get(it.name).to_owned(),
            if it.is_device { "device" } else { "host" }.to_owned(),
            number(it.count),
            time_in_column(it.total),
            time_in_column(it.slack),
        ]);
    }
    table
}

/// Returns the result of `--what-if`, and what becomes critical: the rows that gain most.
fn predicted(report: &PathReport, path: &CriticalPath, prediction: &Prediction, top: usize) -> String {
    let (before, after) = (path.duration(), prediction.duration);
    let change = after.saturating_sub(before);
    let mut text = format!("{TITLE}what if{TITLE:#}: {} instead of {}", time(after), time(before));
    text.push_str(&format!(" ({} {})\n", if change < 0 { "saves" } else { "costs" }, time(change.saturating_abs())));
    if let Some(steps) = prediction.steps.filter(|_| path.n_steps > 1) {
        let median = format!("median {} instead of {}", time(steps.after), time(steps.before));
        text.push_str(&key_value("all steps", &median));
    }
    text.push_str(&key_value("bound by", &bound(&prediction.bound)));
    text.push('\n');
    let mut table = Table::new(vec![
        Column::text("then on the path"),
        Column::text("kind"),
        Column::number("path"),
        Column::number("%"),
        Column::number("before"),
    ]);
    for row in prediction.totals.rows.iter().take(top) {
        let same = path.totals.rows.iter().find(|it| (it.kind, it.name) == (row.kind, row.name));
        table.push(vec![
            name(report, row),
            row.kind.describe().to_owned(),
            time_in_column(row.total),
            share_of(row.kind, row.total, &prediction.totals),
            same.map_or_else(|| "-".to_owned(), |it| time_in_column(it.total)),
        ]);
    }
    text.push_str(&table.render(table::width()));
    text
}
