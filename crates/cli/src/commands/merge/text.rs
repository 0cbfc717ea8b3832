//! The text of `merge`.

use crate::output::target::Target;
use crate::render::table::{Column, Table, clean};
use crate::render::units::{count, number, percent, time, time_in_column};
use ferrum_trace_analyze::merge::{Alignment, Merged, MergedInput, NotRanks, Skew, SkewRow};
use std::fmt::Write as _;

/// Largest number of rows of a table, and of lines of one kind.
const ROWS: usize = 20;
/// Number of renumbered processes that are shown per trace.
const PIDS: usize = 4;
/// Smallest drift that is shown.
const DRIFT_SHOWN_PPB: i64 = 100;

/// Returns the tables of inputs and of skew between ranks.
pub(crate) fn text(merged: &Merged, target: &Target, width: usize) -> String {
    let written = count(merged.n_events, "event");
    let mut text =
        format!("{}: {} of {}\n\n", clean(&target.label()), written, count(merged.inputs.len() as u64, "trace"));
    text.push_str(&inputs(merged).render(width));
    push_renumbered(&mut text, merged);
    push_doubts(&mut text, merged);
    match &merged.not_ranks {
        Some(why) => _ = writeln!(text, "\n{}; {}", clean(&not_ranks(merged, why)), instead(why)),
        None => text.push_str(&skew(merged, width)),
    }
    text
}

/// Returns the tables of skew between ranks; empty if there is nothing to compare.
pub(crate) fn skew(merged: &Merged, width: usize) -> String {
    let mut text = String::new();
    let doubt = doubt(merged);
    push_skew(&mut text, &merged.collectives, ("collective", "arrives"), &doubt, width);
    push_skew(&mut text, &merged.steps, ("step", "ends"), &doubt, width);
    text
}

/// Returns the reason why inputs are not compared.
pub(crate) fn not_ranks(merged: &Merged, why: &NotRanks) -> String {
    let [one, other] = why.files().map(|place| merged.inputs.get(place).map_or("-", |input| input.name.as_str()));
    let reason = match why {
        NotRanks::SameRank { rank, .. } => format!("{one} and {other} are both of rank {rank}"),
        NotRanks::Apart { gap_ns, .. } => format!("{one} ends {} before {other} begins", time(*gap_ns)),
        NotRanks::HostRestarted { host, .. } => format!("{host} was started again between {one} and {other}"),
        NotRanks::Unknown { .. } => format!("{one} and {other} tell neither their rank nor when they were recorded"),
    };
    format!("not compared as ranks of one run: {reason}")
}

/// Returns a hint for inputs that are not compared.
fn instead(why: &NotRanks) -> &'static str {
    match why {
        NotRanks::SameRank { .. } | NotRanks::Unknown { .. } => {
            "`--ranks 0,1` says that they are; `ferrum-trace steps` or `summary` shows two runs one after the other"
        }
        NotRanks::Apart { .. } | NotRanks::HostRestarted { .. } => {
            "`ferrum-trace steps` or `summary` with both files shows two runs one after the other"
        }
    }
}

fn inputs(merged: &Merged) -> Table {
    let mut table = Table::new(vec![
        Column::text("trace"),
        Column::text("process").importance(4),
        Column::number("rank"),
        Column::text("host").importance(2),
        Column::text("aligned by"),
        Column::number("offset").importance(1),
        Column::number("error at most"),
        Column::number("events").importance(3),
    ]);
    let folder = shared_folder(merged);
    let reference = merged.inputs.first().map_or(0, |input| input.alignment.offset_ns);
    for input in &merged.inputs {
        let process = input.processes.first().map_or(String::new(), |process| process.name.clone());
        let more = input.processes.len().saturating_sub(1);
        table.push(vec![
            input.name[folder..].to_owned(),
            if more > 0 { format!("{process} +{more}") } else { process },
            input.rank.map_or("-".to_owned(), |rank| rank.to_string()),
            input.host.clone().unwrap_or_else(|| "-".to_owned()),
            aligned_by(&input.alignment),
            time_in_column(input.alignment.offset_ns.saturating_sub(reference)),
            error(&input.alignment),
            number(input.n_events),
        ]);
    }
    table
}

/// Returns the length of the folder that all names share.
fn shared_folder(merged: &Merged) -> usize {
    let folder = |input: &MergedInput| input.name.rfind('/').map_or(0, |place| place + 1);
    let Some(first) = merged.inputs.first() else { return 0 };
    let shared = &first.name[..folder(first)];
    if merged.inputs.iter().all(|input| &input.name[..folder(input)] == shared) { shared.len() } else { 0 }
}

fn aligned_by(alignment: &Alignment) -> String {
    let mut text = alignment.by.name().to_owned();
    if alignment.error_ns.is_some() && alignment.n_facts > 0 {
        let _ = write!(text, ", {}", count(alignment.n_facts, "fact"));
    }
    if alignment.drift_ppb.abs() >= DRIFT_SHOWN_PPB {
        let _ = write!(text, ", {:+.1} ppm", alignment.drift_ppb as f64 / 1000.0);
    }
    text
}

fn error(alignment: &Alignment) -> String {
    match alignment.error_ns {
        Some(0) => "exact".to_owned(),
        Some(error) => time_in_column(i64::try_from(error).unwrap_or(i64::MAX)),
        None => "unknown".to_owned(),
    }
}

/// Appends at most [`ROWS`] lines.
fn push_lines(text: &mut String, lines: &[String]) {
    for line in lines.iter().take(ROWS) {
        let _ = writeln!(text, "{line}");
    }
    if lines.len() > ROWS {
        let _ = writeln!(text, "… and {} more (--json has them)", number((lines.len() - ROWS) as u64));
    }
}

fn push_renumbered(text: &mut String, merged: &Merged) {
    let is_number = |old: &str| !old.is_empty() && old.bytes().all(|byte| byte.is_ascii_digit());
    let lines = merged.inputs.iter().filter_map(|input| {
        let processes = input.processes.iter();
        let renumbered: Vec<String> = processes
            .filter(|process| is_number(&process.old_pid) && process.old_pid != process.pid.to_string())
            .map(|process| format!("{} is {}", process.old_pid, process.pid))
            .collect();
        let shown = renumbered.get(..PIDS.min(renumbered.len()))?.join(", ");
        let more = if renumbered.len() > PIDS { ", …" } else { "" };
        (!renumbered.is_empty()).then(|| format!("{}: process {shown}{more}", clean(&input.name)))
    });
    push_lines(text, &lines.collect::<Vec<_>>());
}

/// Appends lines about unknown clock errors and missing data.
fn push_doubts(text: &mut String, merged: &Merged) {
    let unknown = merged.inputs.iter().filter(|input| input.alignment.error_ns.is_none());
    let doubts =
        unknown.map(|input| format!("{}: the error of its clock is unknown: {}", clean(&input.name), why(input)));
    push_lines(text, &doubts.collect::<Vec<_>>());
    if merged.n_fields_lost > 0 {
        let _ = writeln!(
            text,
            "{} around the events dropped because they are too long",
            count(merged.n_fields_lost, "field")
        );
    }
    if merged.n_uncompared > 0 {
        let _ = writeln!(
            text,
            "{} without a row, because there are too many names",
            count(merged.n_uncompared, "collective")
        );
    }
}

fn why(input: &MergedInput) -> &'static str {
    let alignment = &input.alignment;
    match (alignment.is_contradictory, alignment.n_facts) {
        (true, _) => "the traces contradict each other about the order of events",
        (false, 0) => "no collective or transfer connects it with the other traces",
        (false, _) => "the connections with the other traces limit it in one direction only",
    }
}

/// Returns the part of a skew that may be an error of the clocks.
fn doubt(merged: &Merged) -> String {
    match merged.error_ns() {
        Some(0) => String::new(),
        Some(error) => format!(", give or take {}", time(i64::try_from(error).unwrap_or(i64::MAX))),
        None => ", as far as the clocks can be trusted".to_owned(),
    }
}

fn push_skew(text: &mut String, skew: &Skew, (thing, does): (&str, &str), doubt: &str, width: usize) {
    if skew.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{thing}s over ranks: from the first rank that {does} to the last{doubt}");
    let mut table = Table::new(vec![
        Column::text(thing),
        Column::number("count"),
        Column::number("ranks").importance(1),
        Column::number("p50"),
        Column::number("p99").importance(3),
        Column::number("max"),
        Column::number("waited").importance(4),
        Column::text("most often last").importance(2),
    ]);
    for row in skew.rows.iter().take(ROWS) {
        table.push(vec![
            row_name(row),
            number(row.n),
            row.n_ranks.to_string(),
            time_in_column(row.p50_ns),
            time_in_column(row.p99_ns),
            time_in_column(row.max_ns),
            time_in_column(row.waited_ns),
            most_often_last(row, skew),
        ]);
    }
    text.push_str(&table.render(width));
    if skew.rows.len() > ROWS {
        let _ = writeln!(text, "… and {} more", number((skew.rows.len() - ROWS) as u64));
    }
    if skew.rows.iter().any(|row| !row.is_sure) {
        text.push_str("~ some ranks have more of these than others; the n-th of each rank are compared\n");
    }
    if let Some(worst) = skew.rows.iter().max_by_key(|row| row.max_ns) {
        let (number, at) = worst.worst;
        let _ = writeln!(text, "the largest skew: {} number {number}, at {}", clean(&row_name(worst)), time(at));
    }
    let _ = writeln!(text, "\nranks that others wait for, of {thing}s");
    text.push_str(&ranks(skew).render(width));
}

fn row_name(row: &SkewRow) -> String {
    let doubt = if row.is_sure { "" } else { "~" };
    match &row.group[..] {
        "" => format!("{doubt}{}", row.name),
        group => format!("{doubt}{} of {group}", row.name),
    }
}

fn most_often_last(row: &SkewRow, skew: &Skew) -> String {
    let Some(&(rank, n)) = row.last.first() else {
        return "-".to_owned();
    };
    let label = skew.ranks.get(rank as usize).map_or("-", |rank| rank.label.as_str());
    format!("{label} ({} %)", percent(n as f64 / row.n as f64))
}

fn ranks(skew: &Skew) -> Table {
    let mut table = Table::new(vec![
        Column::text("rank"),
        Column::number("last"),
        Column::number("of"),
        Column::number("others waited"),
        Column::number("waited itself"),
    ]);
    for rank in skew.ranks.iter().filter(|rank| rank.n > 0) {
        table.push(vec![
            rank.label.clone(),
            number(rank.n_last),
            number(rank.n),
            time_in_column(rank.caused_ns),
            time_in_column(rank.waited_ns),
        ]);
    }
    table
}
