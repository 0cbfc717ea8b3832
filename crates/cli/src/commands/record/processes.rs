//! The processes that recorded, in a table.

use crate::recording::{RecordedProcess, RecordedProcesses};
use crate::render::recorder;
use crate::render::table;
use crate::render::table::{Column, Table};
use crate::render::units::{count, number, time};
use anstyle::{AnsiColor, Style};
use ferrum_trace_analyze::merge::Merged;
use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_model::{Recording, Recordings};

const DAMAGE: Style = AnsiColor::Yellow.on_default();

/// How many processes are shown.
const ROWS: usize = 40;

/// The column of ranks, which most programs do not have.
const RANK: usize = 2;

/// A row a process, of the first of them.
pub fn table(gathered: &RecordedProcesses) -> String {
    let has_ranks = gathered.processes.iter().any(|recorded| recorded.summary.rank.is_some());
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
    for RecordedProcess { state, summary, .. } in gathered.processes.iter().take(ROWS) {
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
    let rest = gathered.processes.get(ROWS..).unwrap_or_default();
    if !rest.is_empty() {
        let n_events = rest.iter().map(|recorded| recorded.summary.events).sum();
        text.push_str(&format!("… {} more: {}\n", number(rest.len() as u64), count(n_events, "event")));
    }
    text
}

/// How much that is.
pub fn total(gathered: &RecordedProcesses) -> String {
    let events = count(gathered.n_events(), "event");
    let processes = count(gathered.processes.len() as u64, "process");
    let recordings = recordings(gathered);
    match gathered.n_lost() {
        0 if recordings.first.iter().any(Recording::has_losses) => {
            format!("{events} of {processes}; {}", recorder::losses(&Losses::default(), &recordings))
        }
        0 => format!("{events} of {processes}; none lost"),
        lost => format!("{events} of {processes}; {DAMAGE}{} lost{DAMAGE:#}", count(lost, "event")),
    }
}

/// Returns what the recorders of all processes say of their losses.
pub fn recordings(gathered: &RecordedProcesses) -> Recordings {
    let mut recordings = Recordings::default();
    gathered.processes.iter().for_each(|recorded| recordings.push(recorded.summary.recording.clone()));
    recordings
}

/// How well the clocks of the processes agree.
pub fn clocks(merged: &Merged) -> String {
    match merged.error_ns() {
        Some(0) => "times agree exactly".to_owned(),
        Some(error) => format!("times agree to {}", time(i64::try_from(error).unwrap_or(i64::MAX))),
        None => format!("{DAMAGE}how well the clocks of their hosts agree is not known{DAMAGE:#}"),
    }
}
