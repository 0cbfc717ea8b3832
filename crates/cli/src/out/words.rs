//! What is said on standard error.

use super::recorder;
use super::table::clean;
use super::units::{count, number};
use crate::recovery::{Recovered, Stay};
use crate::trouble::Trouble;
use anstyle::{AnsiColor, Style};
use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_format::spool::layout::StopReason;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// How many damaged places are shown unless all are asked for.
const SHOWN: usize = 20;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();
const DAMAGE: Style = AnsiColor::Yellow.on_default();

/// Says things, with colors if they can be seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words {
    /// Say all there is.
    pub verbose: bool,
}

impl Words {
    /// Something the user should know, and need not act on.
    pub fn note(&self, path: &Path, what: &str) {
        say(&format!("{}: {what}\n", path.display()));
    }

    /// A text of several lines.
    pub fn say(&self, text: &str) {
        say(text);
    }

    /// What could not be done, and the way out.
    pub fn trouble(&self, trouble: &Trouble) {
        say(&trouble_text(trouble));
    }

    /// What became of a spool.
    pub fn recovered(&self, recovered: &Recovered) {
        say(&recovered_text(recovered, self.verbose));
        for trouble in &recovered.leftovers {
            self.trouble(trouble);
        }
    }

    /// That a trace has nothing of what is asked for, in one line.
    pub fn absent(&self, name: &str, what: &str) {
        say(&format!("{}: {what}\n", clean(name)));
    }

    /// What could not be read of a trace, and what else is worth knowing.
    pub fn losses(&self, name: &str, losses: &Losses, notes: &[String]) {
        say(&losses_text(name, losses, notes, self.verbose));
    }
}

/// That standard error may be closed is no reason to fail.
fn say(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

fn trouble_text(trouble: &Trouble) -> String {
    let mut text = format!("{ERROR}error:{ERROR:#} {trouble}\n");
    if let Some(hint) = trouble.way_out() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{HINT}hint:{HINT:#} {hint}");
    }
    text
}

fn recovered_text(recovered: &Recovered, verbose: bool) -> String {
    let summary = &recovered.summary;
    let recording = &summary.recording;
    let (events, threads) = (count(summary.events, "event"), count(summary.threads as u64, "thread"));
    let (input, output) = (recovered.input.words(), recovered.target.words());
    let mut text = format!("{input}: {events} of {threads} recovered to {output}");
    let _ = match (summary.dropped, summary.n_diagnostics) {
        (0, 0) if !recording.has_losses() => write!(text, "; none lost"),
        (0, _) => Ok(()),
        (dropped, _) => {
            let (events, by_thread) = (count(dropped, "event"), recorder::by_thread(recording));
            write!(text, "; {events} lost{}{by_thread}", why(summary.stop_reason))
        }
    };
    if recording.overwritten_chunks > 0 {
        let _ = write!(text, "; {} of the ring overwritten", count(recording.overwritten_chunks, "older chunk"));
    }
    if recording.dumps_refused.total() > 0 {
        let refused = recording.dumps_refused;
        let _ = write!(text, "; {} refused: {refused}", count(refused.total(), "dump"));
    }
    let _ = match &recovered.stay {
        Some(Stay::Recorder) => {
            write!(text, "; process {} still records: this is a snapshot, and the spool is kept", summary.pid)
        }
        Some(Stay::Unknown(cause)) => {
            write!(text, "; the spool is kept, because it is unknown whether its process still records ({cause})")
        }
        Some(Stay::Asked) | None => Ok(()),
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
    let _ = write!(text, "; {DAMAGE}{places} skipped{DAMAGE:#}:");
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

fn losses_text(name: &str, losses: &Losses, notes: &[String], verbose: bool) -> String {
    let mut text = String::new();
    for note in notes {
        let _ = writeln!(text, "{name}: {note}");
    }
    if losses.n == 0 {
        return text;
    }
    let (places, bytes) = (count(losses.n, "place"), count(losses.n_bytes, "byte"));
    let _ = writeln!(text, "{name}: {DAMAGE}{places} could not be read{DAMAGE:#}, {bytes}:");
    let n_shown = if verbose { losses.first.len() } else { SHOWN.min(losses.first.len()) };
    for loss in &losses.first[..n_shown] {
        let _ = writeln!(text, "  {}", super::table::clean(&loss.to_string()));
    }
    let n_more = losses.n - n_shown as u64;
    if n_more > 0 {
        let all = if n_shown < losses.first.len() { " (-v shows them)" } else { "" };
        let _ = writeln!(text, "  … and {} more{all}", number(n_more));
    }
    text
}

fn why(reason: Option<StopReason>) -> String {
    recorder::why_stopped(reason, None).map_or_else(String::new, |reason| format!(": {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::out::target::Target;
    use ferrum_trace_format::spool::{Diagnostic, Summary};

    fn recovered(summary: Summary, stay: Option<Stay>) -> Recovered {
        let target = Target::File("t.json".into());
        Recovered { input: Input::Spool("t.json.spool".into()), target, summary, stay, leftovers: Vec::new() }
    }

    fn text(summary: Summary, stay: Option<Stay>, verbose: bool) -> String {
        anstream::adapter::strip_str(&recovered_text(&recovered(summary, stay), verbose)).to_string()
    }

    fn damaged(n_kept: u64, n_all: u64) -> Summary {
        let diagnostics = (0..n_kept).map(|offset| Diagnostic { offset, message: "odd".to_owned() }).collect();
        Summary { events: 5, threads: 1, diagnostics, n_diagnostics: n_all, ..Summary::default() }
    }

    #[test]
    fn a_whole_spool_is_told_in_one_line() {
        let summary = Summary { events: 60_000_000, threads: 1, ..Summary::default() };
        let expected = "t.json.spool: 60,000,000 events of 1 thread recovered to t.json; none lost\n";
        assert_eq!(text(summary, None, false), expected);
    }

    #[test]
    fn what_was_lost_is_told_with_its_reason() {
        let lost = |stop_reason| Summary { events: 1, threads: 2, dropped: 3, stop_reason, ..Summary::default() };
        let line = |stop_reason| text(lost(stop_reason), None, false);
        let begin = "t.json.spool: 1 event of 2 threads recovered to t.json; 3 events lost";
        assert_eq!(line(None), format!("{begin}\n"));
        assert_eq!(line(Some(StopReason::Limit)), format!("{begin}: the limit was reached (FERRUM_TRACE_LIMIT)\n"));
        assert_eq!(line(Some(StopReason::NoSpace)), format!("{begin}: no space was left on the device\n"));
        assert_eq!(line(Some(StopReason::Io)), format!("{begin}: the spool could not be enlarged\n"));
    }

    #[test]
    fn twenty_damaged_places_are_shown_and_the_others_counted() {
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
    fn what_was_only_counted_cannot_be_shown() {
        let verbose = text(damaged(30, 5_000), None, true);
        assert!(verbose.ends_with("  byte 29: odd\n  … and 4,970 more\n"), "{verbose}");
    }

    #[test]
    fn a_snapshot_says_so() {
        let summary = Summary { pid: 7, ..Summary::default() };
        let expected = "t.json.spool: 0 events of 0 threads recovered to t.json; none lost; \
                        process 7 still records: this is a snapshot, and the spool is kept\n";
        assert_eq!(text(summary, Some(Stay::Recorder), false), expected);
    }

    #[test]
    fn a_hint_stands_apart() {
        let text = trouble_text(&Trouble::new("a", "is wrong").hint("try `b`"));
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), "error: a: is wrong\n\nhint: try `b`\n");
    }
}
