//! The text of `baseline`.

use super::report::BaselineReport;
use crate::commands::diff::figure;
use crate::render::style::{TITLE, key_value};
use crate::render::table::{self, Column, Table, clean};
use crate::render::units::{count, number};

const SECONDS_PER_DAY: u64 = 86_400;
const BYTES_PER_GIB: f64 = (1_u64 << 30) as f64;

/// Returns everything about a baseline.
pub(super) fn show(report: &BaselineReport) -> String {
    let baseline = &report.baseline;
    let machine = &baseline.machine;
    let name = clean(&baseline.name);
    let runs = count(baseline.runs.len() as u64, "run");
    let mut text = format!("{TITLE}{name}{TITLE:#}: {runs}, {}\n", count(report.n_steps(), "step"));
    let mut add = |key: &str, value: &str| text.push_str(&key_value(key, &clean(value)));
    add("file", &report.path.display().to_string());
    add("saved", &date(baseline.saved_unix_s));
    add("cpu", &format!("{}, {}", machine.cpu, count(machine.cores, "core")));
    add("os", &machine.os);
    let memory = machine.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / BYTES_PER_GIB));
    add("memory", memory.as_deref().unwrap_or("unknown"));
    add("build", baseline.build.program.as_deref().unwrap_or("unknown"));
    add("made by", &format!("ferrum-trace {}", baseline.build.ferrum_trace));
    add("command", baseline.settings.command.as_deref().unwrap_or("none: made of traces"));
    for (name, value) in &baseline.settings.variables {
        add("variable", &format!("{name}={value}"));
    }
    format!("{text}\n{}", metrics_table(report).render(table::width()))
}

fn metrics_table(report: &BaselineReport) -> Table {
    let mut table = Table::new(vec![
        Column::text("metric"),
        Column::number("median"),
        Column::number("smallest run"),
        Column::number("largest run"),
    ]);
    for metric in &report.metrics {
        let [median, min, max] = [metric.median, metric.min, metric.max].map(|value| figure(Some(value), metric.unit));
        table.push(vec![metric.name.to_owned(), median, min, max]);
    }
    table
}

/// Returns a row for each baseline.
pub(super) fn list(reports: &[BaselineReport]) -> String {
    let mut table = Table::new(vec![
        Column::text("name"),
        Column::number("runs"),
        Column::text("metric"),
        Column::number("median"),
        Column::text("saved"),
        Column::text("build").importance(2),
        Column::text("cpu").importance(1),
    ]);
    for report in reports {
        let baseline = &report.baseline;
        let metric = report.metrics.first();
        table.push(vec![
            baseline.name.clone(),
            number(baseline.runs.len() as u64),
            metric.map_or("-", |metric| metric.name).to_owned(),
            metric.map_or_else(|| "-".to_owned(), |metric| figure(Some(metric.median), metric.unit)),
            date(baseline.saved_unix_s),
            baseline.build.program.clone().unwrap_or_else(|| "-".to_owned()),
            baseline.machine.cpu.clone(),
        ]);
    }
    table.render(table::width())
}

/// Returns the day of a time in seconds since 1970, in UTC.
fn date(unix_s: u64) -> String {
    let mut days = unix_s / SECONDS_PER_DAY;
    // No later year is of interest, and the loop must end soon for any number in a file.
    let mut year = 1970;
    while year < 9999 && days >= days_in(year) {
        days -= days_in(year);
        year += 1;
    }
    let february = if days_in(year) == 366 { 29 } else { 28 };
    let mut month = 1;
    for n_days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < n_days {
            break;
        }
        days -= n_days;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days.min(30) + 1)
}

fn days_in(year: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if is_leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_735_689_599, "2024-12-31"),
            (1_798_761_600, "2027-01-01"),
            (u64::MAX, "9999-12-31"),
        ];
        for (unix_s, expected) in cases {
            assert_eq!(date(unix_s), expected);
        }
    }
}
