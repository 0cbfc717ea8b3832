//! The processes that recorded, in a table.

use super::table::{self, Column, Table};
use super::units::{count, number};
use crate::recording::{Gathered, Recorded};
use anstyle::{AnsiColor, Style};

const DAMAGE: Style = AnsiColor::Yellow.on_default();

/// A row a process.
pub fn table(gathered: &Gathered) -> String {
    let columns = vec![
        Column::number("pid"),
        Column::text("process"),
        Column::text("ended"),
        Column::number("threads").importance(0),
        Column::number("events"),
        Column::number("lost"),
    ];
    let mut table = Table::new(columns);
    for Recorded { fate, summary, .. } in &gathered.recorded {
        table.push(vec![
            summary.pid.to_string(),
            summary.process.clone(),
            fate.to_string(),
            number(summary.threads as u64),
            number(summary.events),
            number(summary.dropped),
        ]);
    }
    table.render(table::width())
}

/// How much that is.
pub fn total(gathered: &Gathered) -> String {
    let events = count(gathered.n_events(), "event");
    let processes = count(gathered.recorded.len() as u64, "process");
    match gathered.n_lost() {
        0 => format!("{events} of {processes}; none lost"),
        lost => format!("{events} of {processes}; {DAMAGE}{} lost{DAMAGE:#}", count(lost, "event")),
    }
}
