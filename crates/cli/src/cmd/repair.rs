//! `repair`: a trace that viewers take whole.

use super::Unread;
use super::making::Making;
use crate::args::RepairArgs;
use crate::interrupt;
use crate::out::json::RepairObject;
use crate::out::printer::Printer;
use crate::out::recorder;
use crate::out::table::clean;
use crate::out::target::Target;
use crate::out::units::{count, number, time};
use crate::out::words::Words;
use crate::source::{Passes, Source};
use crate::verdict::Verdict;
use ferrum_trace_analyze::check::Finding;
use ferrum_trace_analyze::repair::{Changes, RepairOptions, repair};
use ferrum_trace_format::chrome::read::Losses;
use std::fmt::Write as _;

pub fn run(args: &RepairArgs) -> Verdict {
    let words = Words { verbose: args.verbose };
    let inputs = super::expand(&args.inputs);
    let making = match Making::new(&inputs, &args.output, args.json) {
        Ok(making) => making,
        Err(trouble) => return super::refuse(&words, &trouble),
    };
    interrupt::install("no partial file is left behind");
    let mut printer = Printer::new(words, args.json);
    super::each_trace(inputs, Passes::Several, Unread::GoesOn, &mut printer, |source, printer| {
        let target = making.target(source, "repaired.json");
        let made = making.make(source, &target, |output| {
            repair(&|| source.open_boxed(), output, &RepairOptions::default()).map_err(|error| error.to_string())
        })?;
        let Some(changes) = made else { return Ok(Verdict::Fine) };
        let notes = [source.facts().notes(), recorder::notes(&changes.recordings)].concat();
        words.say(&text(source, &target, &changes, args.verbose));
        words.losses(&source.words, &Losses::default(), &notes);
        Ok(if args.json {
            printer.object(&RepairObject::new(source, &target, &changes, &notes))
        } else {
            Verdict::Fine
        })
    })
}

fn text(source: &Source, target: &Target, changes: &Changes, is_verbose: bool) -> String {
    let (name, output) = (clean(&source.words), target.words());
    let (read, written) = (count(changes.n_read, "event"), number(changes.n_written));
    let mut text = format!("{name}: {read} read, {written} written to {output}");
    if changes.is_empty() {
        text.push_str("; no changes needed\n");
        return text;
    }
    text.push_str("; changed:\n");
    push_changes(&mut text, changes, is_verbose);
    text
}

/// What was changed, a line each. Writing to a string cannot fail.
pub fn push_changes(text: &mut String, changes: &Changes, is_verbose: bool) {
    let width = changes.repaired.iter().map(|finding| finding.rule.code.len()).max().unwrap_or(0);
    for finding in &changes.repaired {
        let (code, n, repair) = (finding.rule.code, number(finding.n), finding.rule.repair);
        let _ = writeln!(text, "  {code:<width$}  {n:>7}  {repair}{}", left_out(changes, finding));
        for place in finding.first.iter().filter(|_| is_verbose) {
            let _ = writeln!(text, "      byte {}: {}", place.offset, clean(&place.excerpt));
        }
    }
    if changes.shift != 0 {
        let _ = writeln!(text, "  {} subtracted from all times", time(changes.shift));
    }
    for (n, what) in [
        (changes.n_fields_lost, "field of the object around the events, dropped"),
        (changes.n_args_lost, "end without its arguments"),
    ] {
        if n > 0 {
            let _ = writeln!(text, "  {} × {what}", number(n));
        }
    }
}

fn left_out(changes: &Changes, finding: &Finding) -> String {
    let same = changes.left_out.iter().find(|it| it.rule.code == finding.rule.code);
    same.map_or_else(String::new, |it| format!(" ({} left out)", count(it.n, "event")))
}
