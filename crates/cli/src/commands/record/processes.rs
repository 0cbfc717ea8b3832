//! The table of processes in the report of `record`.

use crate::recording::{RecordedProcess, RecordedProcesses};
use crate::render::recorder;
use crate::render::style::DAMAGE;
use crate::render::table::{self, Column, Table};
use crate::render::units::{count, number, time};
use ferrum_trace_analyze::merge::Merged;
use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_model::{Recording, Recordings};

/// Largest number of processes that are shown.
const ROWS: usize = 40;

/// Index of the column of ranks, which is hidden if there are none.
const RANK: usize = 2;

/// Returns a table with a row per process.
pub(crate) fn table(recorded: &RecordedProcesses) -> String {
    let has_ranks = recorded.processes.iter().any(|process| process.summary.rank.is_some());
    let mut columns = vec![
        Column::number("pid"),
        Column::text("process"),
        Column::number("rank").importance(1),
        Column::text("ended"),
        Column::number("threads").importance(0),
        Column::number("events"),
        Column::number("lost"),
    ];
    if !has_ranks {
        columns.remove(RANK);
    }
    let mut table = Table::new(columns);
    for RecordedProcess { state, summary, .. } in recorded.processes.iter().take(ROWS) {
        let mut cells = vec![
            summary.pid.to_string(),
            summary.process.clone(),
            summary.rank.map_or("-".to_owned(), |rank| rank.to_string()),
            state.to_string(),
            number(summary.threads as u64),
            number(summary.events),
            number(summary.dropped),
        ];
        if !has_ranks {
            cells.remove(RANK);
        }
        table.push(cells);
    }
    let mut text = table.render(table::width());
    let rest = recorded.processes.get(ROWS..).unwrap_or_default();
    if !rest.is_empty() {
        let n_events = rest.iter().map(|process| process.summary.events).sum();
        text.push_str(&format!("… {} more: {}\n", number(rest.len() as u64), count(n_events, "event")));
    }
    text
}

/// Returns the number of events, processes and losses.
pub(crate) fn total(recorded: &RecordedProcesses) -> String {
    let events = count(recorded.n_events(), "event");
    let processes = count(recorded.processes.len() as u64, "process");
    let recordings = recordings(recorded);
    match recorded.n_lost() {
        0 if recordings.first.iter().any(Recording::has_losses) => {
            format!("{events} of {processes}; {}", recorder::losses(&Losses::default(), &recordings))
        }
        0 => format!("{events} of {processes}; none lost"),
        lost => format!("{events} of {processes}; {DAMAGE}{} lost{DAMAGE:#}", count(lost, "event")),
    }
}

/// Returns the facts that the recorders of all processes have stored.
pub(crate) fn recordings(recorded: &RecordedProcesses) -> Recordings {
    let mut recordings = Recordings::default();
    recorded.processes.iter().for_each(|process| recordings.push(process.summary.recording.clone()));
    recordings
}

/// Returns the largest possible error between the clocks of the processes.
pub(crate) fn clocks(merged: &Merged) -> String {
    match merged.error_ns() {
        Some(0) => "times agree exactly".to_owned(),
        Some(error) => format!("times agree to {}", time(i64::try_from(error).unwrap_or(i64::MAX))),
        None => format!("{DAMAGE}how well the clocks of their hosts agree is not known{DAMAGE:#}"),
    }
}
