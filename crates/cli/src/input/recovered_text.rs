//! Text about a recovered spool.

use super::recovery::{KeepReason, Recovered};
use crate::render::messages::{Messages, SHOWN};
use crate::render::recorder;
use crate::render::style::DAMAGE;
use crate::render::units::{count, number};
use std::fmt::Write as _;

/// Reports a recovered spool on standard error.
pub(crate) fn report_recovered(messages: &Messages, recovered: &Recovered) {
    messages.print(&recovered_text(recovered, messages.verbose));
    for error in &recovered.cleanup_errors {
        messages.error(error);
    }
}

fn recovered_text(recovered: &Recovered, verbose: bool) -> String {
    let summary = &recovered.summary;
    let recording = &summary.recording;
    let (events, threads) = (count(summary.events, "event"), count(summary.threads as u64, "thread"));
    let (input, output) = (recovered.input.label(), recovered.target.label());
    let mut text = format!("{input}: {events} of {threads} recovered to {output}");
    let _ = match (summary.dropped, summary.n_diagnostics) {
        (0, 0) if !recording.has_losses() => write!(text, "; none lost"),
        (0, _) => Ok(()),
        (dropped, _) => {
            let (events, by_thread) = (count(dropped, "event"), recorder::by_thread(recording));
            let why =
                recorder::why_stopped(summary.stop_reason, None).map_or_else(String::new, |why| format!(": {why}"));
            write!(text, "; {events} lost{why}{by_thread}")
        }
    };
    if recording.overwritten_chunks > 0 {
        let _ = write!(text, "; {} of the ring overwritten", count(recording.overwritten_chunks, "older chunk"));
    }
    if recording.dumps_refused.total() > 0 {
        let refused = recording.dumps_refused;
        let _ = write!(text, "; {} refused: {refused}", count(refused.total(), "dump"));
    }
    let _ = match &recovered.kept {
        Some(KeepReason::StillRecording) => {
            write!(text, "; process {} still records: this is a snapshot, and the spool is kept", summary.pid)
        }
        Some(KeepReason::Unknown(cause)) => {
            write!(text, "; the spool is kept, because it is unknown whether its process still records ({cause})")
        }
        Some(KeepReason::Incomplete(why)) => write!(text, "; the spool is kept, because not all of it could be read")
            .and_then(|()| if summary.n_diagnostics > 0 { Ok(()) } else { write!(text, " ({why})") }),
        Some(KeepReason::Requested) | None => Ok(()),
    };
    push_damage(&mut text, recovered, verbose);
    text.push('\n');
    text
}

fn push_damage(text: &mut String, recovered: &Recovered, verbose: bool) {
    let summary = &recovered.summary;
    if summary.n_diagnostics == 0 {
        return;
    }
    let places = count(summary.n_diagnostics, "damaged place");
    let _ = write!(text, "; {DAMAGE}{places} skipped{DAMAGE:#}");
    if summary.n_missing_max > 0 {
        let _ = write!(text, ", up to {} missing", count(summary.n_missing_max, "event"));
    }
    text.push(':');
    let n_shown = if verbose { summary.diagnostics.len() } else { SHOWN.min(summary.diagnostics.len()) };
    for diagnostic in &summary.diagnostics[..n_shown] {
        let _ = write!(text, "\n  {diagnostic}");
    }
    let n_more = summary.n_diagnostics - n_shown as u64;
    if n_more > 0 {
        let all = if n_shown < summary.diagnostics.len() { " (-v shows them)" } else { "" };
        let _ = write!(text, "\n  … and {} more{all}", number(n_more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::paths::Input;
    use crate::output::target::Target;
    use ferrum_trace_format::spool::layout::StopReason;
    use ferrum_trace_format::spool::{Diagnostic, Summary};

    fn recovered(summary: Summary, kept: Option<KeepReason>) -> Recovered {
        let target = Target::File("t.json".into());
        Recovered { input: Input::Spool("t.json.spool".into()), target, summary, kept, cleanup_errors: Vec::new() }
    }

    fn text(summary: Summary, kept: Option<KeepReason>, verbose: bool) -> String {
        anstream::adapter::strip_str(&recovered_text(&recovered(summary, kept), verbose)).to_string()
    }

    fn damaged(n_kept: u64, n_all: u64) -> Summary {
        let diagnostics = (0..n_kept).map(|offset| Diagnostic { offset, message: "odd".to_owned() }).collect();
        Summary { events: 5, threads: 1, diagnostics, n_diagnostics: n_all, ..Summary::default() }
    }

    #[test]
    fn an_undamaged_spool_is_one_line() {
        let summary = Summary { events: 60_000_000, threads: 1, ..Summary::default() };
        let expected = "t.json.spool: 60,000,000 events of 1 thread recovered to t.json; none lost\n";
        assert_eq!(text(summary, None, false), expected);
    }

    #[test]
    fn losses_are_reported_with_their_reason() {
        let lost = |stop_reason| Summary { events: 1, threads: 2, dropped: 3, stop_reason, ..Summary::default() };
        let line = |stop_reason| text(lost(stop_reason), None, false);
        let begin = "t.json.spool: 1 event of 2 threads recovered to t.json; 3 events lost";
        assert_eq!(line(None), format!("{begin}\n"));
        assert_eq!(line(Some(StopReason::Limit)), format!("{begin}: the limit was reached (FERRUM_TRACE_LIMIT)\n"));
        assert_eq!(line(Some(StopReason::NoSpace)), format!("{begin}: no space was left on the device\n"));
        assert_eq!(line(Some(StopReason::Io)), format!("{begin}: the spool could not be enlarged\n"));
    }

    #[test]
    fn twenty_damaged_places_are_listed_and_the_others_counted() {
        let twenty = text(damaged(20, 20), None, false);
        assert!(
            twenty.starts_with("t.json.spool: 5 events of 1 thread recovered to t.json; 20 damaged places skipped:\n")
        );
        assert!(twenty.ends_with("  byte 19: odd\n"), "{twenty}");
        let more = text(damaged(21, 21), None, false);
        assert!(more.ends_with("  byte 19: odd\n  … and 1 more (-v shows them)\n"), "{more}");
        let verbose = text(damaged(21, 21), None, true);
        assert!(verbose.ends_with("  byte 20: odd\n"), "{verbose}");
    }

    #[test]
    fn the_events_that_may_be_missing_are_bounded() {
        let text = text(Summary { n_missing_max: 2044, ..damaged(1, 1) }, None, false);
        let expected = "t.json.spool: 5 events of 1 thread recovered to t.json; \
                        1 damaged place skipped, up to 2,044 events missing:\n  byte 0: odd\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn places_that_were_only_counted_are_not_listed() {
        let verbose = text(damaged(30, 5_000), None, true);
        assert!(verbose.ends_with("  byte 29: odd\n  … and 4,970 more\n"), "{verbose}");
    }

    #[test]
    fn a_snapshot_is_called_one() {
        let summary = Summary { pid: 7, ..Summary::default() };
        let expected = "t.json.spool: 0 events of 0 threads recovered to t.json; none lost; \
                        process 7 still records: this is a snapshot, and the spool is kept\n";
        assert_eq!(text(summary, Some(KeepReason::StillRecording), false), expected);
    }
}
