//! The lines above the tables of `summary`.

use super::report::SummaryReport;
use crate::input::source::Source;
use crate::render::recorder;
use crate::render::style::{DAMAGE, TITLE, key_value};
use crate::render::table::clean;
use crate::render::units::{count, number, percent, time};
use ferrum_trace_analyze::Device;
use ferrum_trace_model::{Anomalies, Census};
use std::fmt::Write as _;

/// Returns the lines above the tables.
pub(crate) fn text(source: &Source, report: &SummaryReport) -> String {
    let (trace, facts) = (&report.loaded.trace, &report.facts);
    let containers = facts.containers.iter().map(|container| format!(", {}", container.name()));
    let mut text = format!("{TITLE}{}{TITLE:#}: {}{}\n", clean(&source.label), facts.kind.name(), {
        containers.collect::<String>()
    });
    let mut line = |key: &str, value: String| {
        text.push_str(&key_value(key, &value));
    };
    let (tracks, processes) = (report.n_tracks as u64, report.n_processes as u64);
    line("span", time(trace.census.span()));
    line("tracks", format!("{} in {}", number(tracks), count(processes, "process")));
    line("events", events(&trace.census));
    line("slices", slices(report));
    let things = report.asyncs.groups - report.asyncs.only_points;
    if things > 0 {
        let open = things - report.asyncs.balanced;
        line("async", format!("{}{}", number(things), anomaly(open, "without an end or a begin")));
    }
    if report.flows.groups > 0 {
        let open = report.flows.groups - report.flows.complete;
        line("flows", format!("{}{}", number(report.flows.groups), anomaly(open, "incomplete")));
    }
    for device in &report.devices {
        line("device", device_line(report, device));
    }
    if let Some(trigger) = recorder::trigger(&report.loaded.recordings, trace.census.first) {
        line("trigger", trigger);
    }
    if let Some(instants) = recorder::instants_line(trace) {
        line("instants", instants);
    }
    line("losses", recorder::losses(&report.loaded.losses, &report.loaded.recordings));
    text
}

/// Returns the number of events by phase, the most frequent first.
fn events(census: &Census) -> String {
    let mut phases: Vec<(usize, u64)> = census.phases.iter().copied().enumerate().filter(|(_, n)| *n > 0).collect();
    phases.sort_by_key(|&(phase, n_events)| (std::cmp::Reverse(n_events), phase));
    let spelled = phases.iter().map(|&(phase, n_events)| match u8::try_from(phase) {
        Ok(0) | Err(_) => format!("{} without a phase", number(n_events)),
        Ok(letter) => format!("{} {}", number(n_events), char::from(letter).escape_default()),
    });
    let spelled: Vec<String> = spelled.collect();
    match spelled.len() {
        0 => "none".to_owned(),
        1 if census.phases[0] == 0 => spelled[0].clone(),
        _ => format!("{}: {}", number(census.events), spelled.join(", ")),
    }
}

fn slices(report: &SummaryReport) -> String {
    let (trace, all) = (&report.loaded.trace, report.summary.all.count);
    let n_slices = trace.slices.len() as u64;
    let mut text = number(n_slices);
    if all < n_slices {
        let _ = write!(text, ", {} selected", number(all));
    }
    text.push_str(&anomaly(report.n_partial_overlaps as u64, "overlapped in part"));
    let Anomalies { unusable, unclosed, unopened, misnamed, unordered_tracks: _ } = trace.census.anomalies;
    text.push_str(&anomaly(unusable, "X without a usable time"));
    text.push_str(&anomaly(unclosed, "B without an E"));
    text.push_str(&anomaly(unopened, "E without a B"));
    text.push_str(&anomaly(misnamed, "E with another name than their B"));
    text
}

/// Returns the highlighted count, or nothing if it is zero.
fn anomaly(n: u64, what: &str) -> String {
    if n == 0 { String::new() } else { format!(", {DAMAGE}{} {what}{DAMAGE:#}", number(n)) }
}

fn device_line(report: &SummaryReport, device: &Device) -> String {
    let name = clean(&report.device_label(device));
    let part = |time: i64| if device.span == 0 { 0.0 } else { time as f64 / device.span as f64 };
    let mut text = format!(
        "{name}: busy {} ({} %), idle {} ({} %)",
        time(device.busy),
        percent(part(device.busy)),
        time(device.idle),
        percent(part(device.idle))
    );
    if device.n_comm > 0 {
        let (comm, overlap, exposed) = (time(device.comm), time(device.overlap), time(device.exposed_comm));
        let _ = write!(text, ", comm {comm} of which {overlap} overlap with compute and {exposed} are exposed");
    }
    text
}
