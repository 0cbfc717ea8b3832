//! What `record` says at the end, and what it leaves.

use super::sum::Sum;
use super::trace::{Made, Making};
use crate::args::{Format, RecordArgs};
use crate::input::{Input, begins_like_a_spool};
use crate::out::json::{RecordObject, Told};
use crate::out::merge;
use crate::out::packed::bare_name;
use crate::out::printer::Printer;
use crate::out::processes;
use crate::out::recorder;
use crate::out::table::{self, clean};
use crate::out::units::count;
use crate::out::words::Words;
use crate::recording::{End, Folder, Gathered, RecordedFile};
use crate::source::{Passes, Source};
use crate::trouble::Trouble;
use crate::verdict::Verdict;
use crate::viewer::{Viewed, Viewing};
use ferrum_trace_format::chrome::read::{LoadOptions, Losses, load};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is said at the end.
pub struct Report<'a> {
    args: &'a RecordArgs,
    words: Words,
    end: End,
    /// Where the files of the processes are, if they stay.
    folder: Option<PathBuf>,
    dumps: Vec<PathBuf>,
    /// What went wrong first.
    error: Option<String>,
}

impl<'a> Report<'a> {
    /// Of a program that has ended.
    pub fn new(args: &'a RecordArgs, words: Words, end: End) -> Self {
        Self { args, words, end, folder: None, dumps: Vec::new(), error: None }
    }

    /// Something went wrong.
    pub fn trouble(&mut self, trouble: &Trouble) {
        self.words.trouble(trouble);
        self.error.get_or_insert_with(|| trouble.to_string());
    }

    /// Writes the trace, if there is anything to write.
    pub fn make(&mut self, gathered: &Gathered, format: Format, folder: &Folder) -> Option<Made> {
        gathered.troubles.iter().for_each(|trouble| self.trouble(trouble));
        self.tell_damage(gathered);
        if gathered.n_events() == 0 {
            if self.error.is_none() {
                self.words.say(&nothing(self.args, gathered));
            }
            return None;
        }
        let making = Making { output: &self.args.output, format, folder, words: self.words };
        making.make(gathered).map_err(|trouble| self.trouble(&trouble)).ok()
    }

    fn tell_damage(&self, gathered: &Gathered) {
        for RecordedFile { path, n_damaged, .. } in gathered.recorded.iter().flat_map(|recorded| &recorded.files) {
            if *n_damaged > 0 {
                self.words.note(path, &format!("{} skipped", count(*n_damaged, "damaged place")));
            }
        }
    }

    /// Moves what flight recorders have written to beside the trace.
    pub fn take_dumps(&mut self, gathered: &Gathered) {
        for dump in &gathered.dumps {
            let ending = if begins_like_a_spool(dump) { ferrum_trace_format::spool::FILE_EXTENSION } else { "json" };
            let name = format!("{}.{}.{ending}", bare_name(&self.args.output), bare_name(dump));
            let place = self.args.output.with_file_name(name);
            match std::fs::rename(dump, &place) {
                Ok(()) => {
                    let why = trigger_of(&place, &self.words).map_or_else(String::new, |why| format!(": {why}"));
                    self.words.note(&place, &format!("dump of a flight recorder{why}"));
                    self.dumps.push(place);
                }
                Err(cause) => {
                    self.trouble(&Trouble::at(dump, format!("cannot be moved to {}: {cause}", place.display())))
                }
            }
        }
    }

    /// The files of the processes go, unless somebody needs them.
    pub fn settle(&mut self, gathered: &Gathered, folder: Folder) {
        let why = if gathered.has_live() {
            "processes still record here; the trace has what they had recorded so far"
        } else if self.error.is_some() {
            "the files of the processes are kept here"
        } else if self.args.keep {
            "the files of the individual processes"
        } else {
            return;
        };
        self.words.note(folder.path(), why);
        self.folder = Some(folder.keep());
    }

    /// Sums up what was recorded, if that is wanted.
    pub fn sum_up(&mut self, made: Option<&Made>) -> Option<Sum> {
        let made = made.filter(|_| !self.args.no_summary)?;
        let sum = Sum::of(&made.whole, &self.args.output, &self.words);
        sum.map_err(|trouble| self.trouble(&trouble)).ok()
    }

    /// Says what was recorded.
    pub fn print(&self, gathered: &Gathered, made: Option<&Made>, sum: Option<&Sum>) {
        let mut printer = Printer::new(self.words, self.args.json);
        if self.args.json {
            printer.object(&self.object(gathered, made, sum));
            return;
        }
        let text = self.text(gathered, made, sum);
        if io::stdout().is_terminal() {
            printer.text(&text);
        } else {
            self.words.say(&text);
        }
        match sum {
            Some(sum) => sum.tell_losses(&self.words),
            None => {
                let notes = recorder::notes(&processes::recordings(gathered));
                self.words.losses(&self.args.output.display().to_string(), &Losses::default(), &notes);
            }
        }
    }

    fn text(&self, gathered: &Gathered, made: Option<&Made>, sum: Option<&Sum>) -> String {
        let Some(made) = made else { return String::new() };
        let (output, total) = (clean(&self.args.output.display().to_string()), processes::total(gathered));
        let mut text = format!("{}\n{output}: {total}", processes::table(gathered));
        if let Some(merged) = made.merged.as_ref().filter(|_| gathered.recorded.len() > 1) {
            text.push_str("; ");
            text.push_str(&processes::clocks(merged));
        }
        text.push('\n');
        if let Some(merged) = &made.merged {
            let not_ranks = merged.not_ranks.as_ref().map(|why| format!("\n{}\n", merge::not_ranks(merged, why)));
            text.push_str(&not_ranks.unwrap_or_else(|| merge::skew(merged, table::width())));
        }
        text.extend(sum.map(|sum| format!("\n{}", sum.text())));
        text
    }

    fn object<'b>(&'b self, gathered: &'b Gathered, made: Option<&'b Made>, sum: Option<&'b Sum>) -> RecordObject<'b> {
        let told = Told {
            program: &self.args.program,
            end: self.end,
            gathered,
            output: made.map(|_| self.args.output.as_path()),
            merged: made.and_then(|made| made.merged.as_ref()),
            folder: self.folder.as_deref(),
            dumps: &self.dumps,
            error: self.error.clone(),
        };
        RecordObject::new(told, sum.map(Sum::object))
    }

    /// Opens the trace in the viewer.
    pub fn show(&mut self) {
        let viewing = match Viewing::of(&self.args.output) {
            Ok(viewing) => viewing,
            Err(trouble) => return self.trouble(&trouble),
        };
        self.words.say(&format!("{}\nopen this link in a browser; the trace is served once\n", viewing.url()));
        viewing.show();
        match viewing.serve() {
            Ok(Viewed::Taken) => {}
            Ok(Viewed::NobodyCame) => self.words.note(&self.args.output, "no browser has fetched it"),
            Err(cause) => self.trouble(&Trouble::new("--open", format!("cannot serve the trace: {cause}"))),
        }
    }

    /// That of the program; trouble of our own only if the program had none.
    pub fn exit_code(&self) -> ExitCode {
        match (self.end.exit_code(), &self.error) {
            (0, Some(_)) => Verdict::Trouble.into(),
            (code, _) => code.into(),
        }
    }
}

/// Returns why a dump was written, if it can be read and says so.
fn trigger_of(dump: &Path, words: &Words) -> Option<String> {
    let source = Source::of(Input::Other(dump.to_owned()), Passes::One, words).ok()?;
    let loaded = load(source.open().ok()?, &LoadOptions::default()).ok()?;
    recorder::trigger(&loaded.recordings, loaded.trace.census.first)
}

/// Why there is no trace, and what could be done about it.
fn nothing(args: &RecordArgs, gathered: &Gathered) -> String {
    let program = args.program.first().map(|name| name.display().to_string()).unwrap_or_default();
    let (what, way_out) = match gathered.recorded.len() as u64 {
        0 => (
            "none of its processes recorded anything",
            "check that it links ferrum-trace without the feature `compiled-out` and executes a span. A program that sets \
             FERRUM_TRACE_OUT itself, or names a file with `Recorder::builder`, records to that file",
        ),
        _ => (
            "it was ready to record, but executed no span",
            "--window, --categories or a short run may have excluded all spans",
        ),
    };
    format!("{program}: {what}; no trace was written\n\nhint: {way_out}\n")
}
