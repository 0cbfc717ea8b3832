//! Text about the facts that the recorder has stored in a trace: losses, and the trigger of a dump.

use super::style::{DAMAGE, key_value};
use super::table::clean;
use super::units::{count, number, time};
use ferrum_trace_analyze::{InstantRow, instants};
use ferrum_trace_format::chrome::read::{Loaded, Losses};
use ferrum_trace_model::vocab::about::StopReason;
use ferrum_trace_model::{Recording, Recordings, Trace};

/// Number of recordings, of threads of each, and of names of instants that are listed.
const SHOWN: usize = 8;

/// Returns the value of the line `losses`: losses of the recorder, and places that could not be read.
pub(crate) fn losses(losses: &Losses, recordings: &Recordings) -> String {
    let mut parts = Vec::new();
    if recordings.dropped > 0 {
        let events = count(recordings.dropped, "event");
        parts.push(format!("{events} lost by the recorder{}", stopped(recordings)));
    } else if let Some(reason) = stop_reason(recordings) {
        parts.push(format!("recording stopped early: {reason}"));
    }
    if recordings.overwritten_chunks > 0 {
        parts.push(format!("{} of the ring overwritten", count(recordings.overwritten_chunks, "older chunk")));
    }
    let lost_texts = recordings.first.iter().fold(0, |sum: u64, it| sum.saturating_add(it.lost_texts));
    if lost_texts > 0 {
        parts.push(format!("{} of arguments lost by the recorder", count(lost_texts, "text")));
    }
    let sum = |of: fn(&Recording) -> u64| recordings.first.iter().map(of).fold(0, u64::saturating_add);
    let damaged_places = sum(|it| it.damaged_places);
    if damaged_places > 0 {
        parts.push(damaged(damaged_places, sum(|it| it.missing_events_max)));
    }
    if losses.n > 0 {
        let (places, bytes) = (count(losses.n, "place"), count(losses.n_bytes, "byte"));
        // Without losses of the recorder, it is clear that these are losses of reading.
        parts.push(if parts.is_empty() {
            format!("{places}, {bytes}")
        } else {
            format!("{places} unreadable, {bytes}")
        });
    }
    if parts.is_empty() { "none".to_owned() } else { format!("{DAMAGE}{}{DAMAGE:#}", parts.join("; ")) }
}

/// Returns the description of damage in a spool.
fn damaged(n_places: u64, missing_events_max: u64) -> String {
    let (places, events) = (count(n_places, "damaged place"), count(missing_events_max, "event"));
    format!("{places} in the spool, up to {events} missing")
}

fn stopped(recordings: &Recordings) -> String {
    stop_reason(recordings).map_or_else(String::new, |reason| format!(": {reason}"))
}

fn stop_reason(recordings: &Recordings) -> Option<String> {
    recordings.first.iter().find_map(|recording| why_stopped(recording.stop_reason, recording.limit_bytes))
}

/// Returns the reason why a recording stopped early, as part of a sentence.
pub(crate) fn why_stopped(reason: Option<StopReason>, limit_bytes: Option<u64>) -> Option<String> {
    let reason = reason?;
    let text = match limit_bytes {
        Some(limit) => reason.describe_with_limit(&count(limit, "byte")),
        None => reason.describe().to_owned(),
    };
    Some(if reason == StopReason::Limit { format!("{text} (FERRUM_TRACE_LIMIT)") } else { text })
}

/// Returns notes about the losses of each recording of a trace.
pub(crate) fn notes(recordings: &Recordings) -> Vec<String> {
    let has_many = recordings.n > 1;
    let described = recordings.first.iter().flat_map(|recording| {
        let name = if has_many { format!("{}: ", name(recording)) } else { String::new() };
        describe(recording).into_iter().map(move |note| format!("{name}{note}"))
    });
    let mut notes: Vec<String> = described.collect();
    if notes.len() > SHOWN {
        let n_more = notes.len() - SHOWN;
        notes.truncate(SHOWN);
        let lost = count(recordings.dropped, "event");
        notes.push(format!("{} more like these; {lost} lost in all", number(n_more as u64)));
    }
    notes
}

fn name(recording: &Recording) -> String {
    let process = recording.process.as_ref().or(recording.pid.as_ref()).map_or("?", String::as_str);
    let mut name = format!("process {}", clean(process));
    if let Some(rank) = recording.rank {
        name.push_str(&format!(", rank {rank}"));
    }
    if let Some(part) = recording.part {
        name.push_str(&format!(", part {part}"));
    }
    name
}

/// Returns a sentence for each kind of loss of one recording.
fn describe(recording: &Recording) -> Vec<String> {
    let mut notes = Vec::new();
    let why = why_stopped(recording.stop_reason, recording.limit_bytes);
    if recording.dropped > 0 {
        let events = count(recording.dropped, "event");
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        notes.push(format!("the recorder lost {events}{why}{}", by_thread(recording)));
    } else if let Some(why) = why {
        notes.push(format!("recording stopped early: {why}"));
    }
    if recording.overwritten_chunks > 0 {
        let chunks = count(recording.overwritten_chunks, "chunk");
        notes.push(format!("{chunks} of the ring overwritten: older events are not in the trace"));
    }
    if recording.lost_texts > 0 {
        let texts = count(recording.lost_texts, "text");
        notes.push(format!("{texts} of arguments lost: shown as `(lost)`"));
    }
    if recording.damaged_places > 0 {
        notes.push(damaged(recording.damaged_places, recording.missing_events_max));
    }
    if recording.unfinished > 0 {
        let spans = count(recording.unfinished, "span");
        notes.push(format!("{spans} had not ended when the trace was written{}", unfinished_by_thread(recording)));
    }
    let refused = recording.dumps_refused;
    if refused.total() > 0 {
        notes.push(format!("{} refused: {refused}", count(refused.total(), "dump")));
    }
    notes
}

/// Returns the unfinished spans of the first threads.
fn unfinished_by_thread(recording: &Recording) -> String {
    let threads = &recording.unfinished_by_thread;
    let spell = |(thread, stack): &(String, String)| format!("{}: {}", clean(thread.trim()), clean(stack));
    let mut spelled: Vec<String> = threads.iter().take(SHOWN).map(spell).collect();
    if threads.len() > SHOWN {
        spelled.push(format!("{} more", count((threads.len() - SHOWN) as u64, "thread")));
    }
    if spelled.is_empty() { String::new() } else { format!(": {}", spelled.join("; ")) }
}

/// Returns the threads with the most losses in parentheses; empty if no thread is known.
pub(crate) fn by_thread(recording: &Recording) -> String {
    let mut threads: Vec<&(String, u64)> = recording.dropped_by_thread.iter().collect();
    if threads.is_empty() {
        return String::new();
    }
    threads.sort_by_key(|(_, dropped)| std::cmp::Reverse(*dropped));
    let spell = |(thread, dropped): &&(String, u64)| format!("{}: {}", clean(thread.trim()), number(*dropped));
    let mut spelled: Vec<String> = threads.iter().take(SHOWN).map(spell).collect();
    if threads.len() > SHOWN {
        spelled.push(format!("{} more", count((threads.len() - SHOWN) as u64, "thread")));
    }
    format!(" (by thread: {})", spelled.join(", "))
}

/// Returns the lines `trigger`, `instants` and `losses` of a trace, as far as it has them.
pub(crate) fn lines(loaded: &Loaded) -> String {
    let Loaded { trace, recordings, .. } = loaded;
    let losses = has_losses(loaded).then(|| losses(&loaded.losses, recordings));
    let all =
        [("trigger", trigger(recordings, trace.census.first)), ("instants", instants_line(trace)), ("losses", losses)];
    let line = |(key, value): (&str, Option<String>)| value.map(|value| key_value(key, &value));
    all.into_iter().filter_map(line).collect()
}

/// Returns [`lines`] for a command that found nothing in a trace. Empty unless the trace is a dump or has losses.
pub(crate) fn lines_of_nothing(loaded: &Loaded) -> String {
    let is_dump = loaded.recordings.dump_trigger().is_some();
    if is_dump || has_losses(loaded) { lines(loaded) } else { String::new() }
}

fn has_losses(loaded: &Loaded) -> bool {
    let Loaded { losses, recordings, .. } = loaded;
    recordings.dropped > 0 || losses.n > 0 || recordings.first.iter().any(Recording::has_losses)
}

/// Returns the number of instants by name, the most frequent first. `None` if there are none.
pub(crate) fn instants_line(trace: &Trace) -> Option<String> {
    let rows = instants(trace);
    let n_all: u64 = rows.iter().map(|row| row.count).sum();
    let spell = |row: &InstantRow| format!("{} {}", number(row.count), clean(trace.strings.get(row.name)));
    let mut named: Vec<String> = rows.iter().take(SHOWN).map(spell).collect();
    if rows.len() > SHOWN {
        named.push(format!("{} more names", number((rows.len() - SHOWN) as u64)));
    }
    (n_all > 0).then(|| format!("{}: {}", number(n_all), named.join(", ")))
}

/// Returns the trigger of a dump: `ttft>300ms: request 2 waited 312.0ms …`. `None` if the trace is not a dump. Times
/// are relative to `first`.
pub(crate) fn trigger(recordings: &Recordings, first: Option<i64>) -> Option<String> {
    let (event, trigger) = recordings.dump_trigger()?;
    let mut text = clean(&trigger.reason);
    if !trigger.what.is_empty() {
        text.push_str(&format!(": {}", clean(&trigger.what)));
    }
    if let Some(event) = event {
        text.push_str(&format!(", at {}", time(event.time.saturating_sub(first.unwrap_or(0)))));
    }
    if let Some(dump) = trigger.dump {
        text.push_str(&format!(" (dump {dump})"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;

    fn lost(dropped: u64) -> Recording {
        Recording {
            process: Some("7".to_owned()),
            dropped,
            stop_reason: Some(StopReason::Limit),
            limit_bytes: Some(1 << 20),
            dropped_by_thread: vec![("main 7".to_owned(), dropped)],
            ..Recording::default()
        }
    }

    fn line(n_unreadable: u64, recordings: &Recordings) -> String {
        let unreadable = Losses { n: n_unreadable, n_bytes: 5 * n_unreadable, ..Losses::default() };
        strip_str(&losses(&unreadable, recordings)).to_string()
    }

    #[test]
    fn without_a_recorder_only_losses_of_reading_are_shown() {
        assert_eq!(line(0, &Recordings::default()), "none");
        assert_eq!(line(0, &Recording::default().into()), "none");
        assert_eq!(line(2, &Recordings::default()), "2 places, 10 bytes");
    }

    #[test]
    fn losses_of_the_recorder_come_first_with_their_reason() {
        let expected =
            "7,506 events lost by the recorder: the limit of 1,048,576 bytes was reached (FERRUM_TRACE_LIMIT)";
        assert_eq!(line(0, &lost(7506).into()), expected);
        assert_eq!(line(1, &lost(7506).into()), format!("{expected}; 1 place unreadable, 5 bytes"));
        let ring = Recording { overwritten_chunks: 3, ..Recording::default() };
        assert_eq!(line(0, &ring.into()), "3 older chunks of the ring overwritten");
    }

    #[test]
    fn each_process_of_a_merged_trace_has_its_own_note() {
        let mut both = Recordings::from(lost(3));
        both.push(Recording { process: Some("8".to_owned()), rank: Some(1), ..lost(4) });
        both.push(Recording::default());
        let notes = notes(&both);
        let why = "the limit of 1,048,576 bytes was reached (FERRUM_TRACE_LIMIT)";
        assert_eq!(
            notes,
            [
                format!("process 7: the recorder lost 3 events: {why} (by thread: main 7: 3)"),
                format!("process 8, rank 1: the recorder lost 4 events: {why} (by thread: main 7: 4)")
            ]
        );
        assert!(line(0, &both).starts_with("7 events lost"), "{}", line(0, &both));
    }
}
