//! What `record` says at the end, and what it leaves.

use super::args::RecordArgs;
use super::json::{RecordObject, RunResult};
use super::processes;
use super::trace_summary::TraceSummary;
use super::viewer::{Served, ViewerServer};
use super::write_trace::{Made, TraceOutput};
use crate::commands::merge;
use crate::exit_status::ExitStatus;
use crate::input::paths::{Input, begins_like_a_spool};
use crate::input::source::{Passes, Source};
use crate::output::format::Format;
use crate::output::packed::bare_name;
use crate::recording::{End, Folder, RecordedFile, RecordedProcesses};
use crate::render::messages::Messages;
use crate::render::printer::Printer;
use crate::render::recorder;
use crate::render::table;
use crate::render::table::clean;
use crate::render::units::count;
use crate::user_error::UserError;
use ferrum_trace_format::chrome::read::Losses;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is said at the end.
pub struct Report<'a> {
    args: &'a RecordArgs,
    messages: Messages,
    end: End,
    /// Where the files of the processes are, if they stay.
    folder: Option<PathBuf>,
    dumps: Vec<PathBuf>,
    /// What went wrong first.
    error: Option<String>,
}

impl<'a> Report<'a> {
    /// Of a program that has ended.
    pub fn new(args: &'a RecordArgs, messages: Messages, end: End) -> Self {
        Self { args, messages, end, folder: None, dumps: Vec::new(), error: None }
    }

    /// Something went wrong.
    pub fn fail(&mut self, error: &UserError) {
        self.messages.error(error);
        self.error.get_or_insert_with(|| error.to_string());
    }

    /// Writes the trace, if there is anything to write.
    pub fn make(&mut self, gathered: &RecordedProcesses, format: Format, folder: &Folder) -> Option<Made> {
        gathered.errors.iter().for_each(|error| self.fail(error));
        self.tell_damage(gathered);
        if gathered.n_events() == 0 {
            if self.error.is_none() {
                self.messages.say(&nothing(self.args, gathered));
            }
            return None;
        }
        let making = TraceOutput { output: &self.args.output, format, folder, messages: self.messages };
        making.make(gathered).map_err(|error| self.fail(&error)).ok()
    }

    fn tell_damage(&self, gathered: &RecordedProcesses) {
        for RecordedFile { path, n_damaged, .. } in gathered.processes.iter().flat_map(|recorded| &recorded.files) {
            if *n_damaged > 0 {
                self.messages.note(path, &format!("{} skipped", count(*n_damaged, "damaged place")));
            }
        }
    }

    /// Moves what flight recorders have written to beside the trace.
    pub fn take_dumps(&mut self, gathered: &RecordedProcesses) {
        for dump in &gathered.dumps {
            let ending = if begins_like_a_spool(dump) { "spool" } else { "json" };
            let name = format!("{}.{}.{ending}", bare_name(&self.args.output), bare_name(dump));
            let place = self.args.output.with_file_name(name);
            match std::fs::rename(dump, &place) {
                Ok(()) => {
                    let why = trigger_of(&place, &self.messages).map_or_else(String::new, |why| format!(": {why}"));
                    self.messages.note(&place, &format!("dump of a flight recorder{why}"));
                    self.dumps.push(place);
                }
                Err(cause) => {
                    self.fail(&UserError::at(dump, format!("cannot be moved to {}: {cause}", place.display())))
                }
            }
        }
    }

    /// The files of the processes go, unless somebody needs them.
    pub fn settle(&mut self, gathered: &RecordedProcesses, folder: Folder) {
        let why = if gathered.has_live() {
            "processes still record here; the trace has what they had recorded so far"
        } else if self.error.is_some() {
            "the files of the processes are kept here"
        } else if self.args.keep {
            "the files of the individual processes"
        } else {
            return;
        };
        self.messages.note(folder.path(), why);
        self.folder = Some(folder.keep());
    }

    /// Sums up what was recorded, if that is wanted.
    pub fn sum_up(&mut self, made: Option<&Made>) -> Option<TraceSummary> {
        let made = made.filter(|_| !self.args.no_summary)?;
        let sum = TraceSummary::of(&made.whole, &self.args.output, &self.messages);
        sum.map_err(|error| self.fail(&error)).ok()
    }

    /// Says what was recorded.
    pub fn print(&self, gathered: &RecordedProcesses, made: Option<&Made>, sum: Option<&TraceSummary>) {
        let mut printer = Printer::new(self.messages, self.args.report.json);
        if printer.is_json {
            printer.object(&self.object(gathered, made, sum));
            return;
        }
        let text = self.text(gathered, made, sum);
        if io::stdout().is_terminal() {
            printer.text(&text);
        } else {
            self.messages.say(&text);
        }
        match sum {
            Some(sum) => sum.tell_losses(&self.messages),
            None => {
                let notes = recorder::notes(&processes::recordings(gathered));
                self.messages.losses(&self.args.output.display().to_string(), &Losses::default(), &notes);
            }
        }
    }

    fn text(&self, gathered: &RecordedProcesses, made: Option<&Made>, sum: Option<&TraceSummary>) -> String {
        let Some(made) = made else { return String::new() };
        let (output, total) = (clean(&self.args.output.display().to_string()), processes::total(gathered));
        let mut text = format!("{}\n{output}: {total}", processes::table(gathered));
        if let Some(merged) = made.merged.as_ref().filter(|_| gathered.processes.len() > 1) {
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

    fn object<'b>(
        &'b self,
        gathered: &'b RecordedProcesses,
        made: Option<&'b Made>,
        sum: Option<&'b TraceSummary>,
    ) -> RecordObject<'b> {
        let result = RunResult {
            program: &self.args.program,
            end: self.end,
            gathered,
            output: made.map(|_| self.args.output.as_path()),
            merged: made.and_then(|made| made.merged.as_ref()),
            folder: self.folder.as_deref(),
            dumps: &self.dumps,
            error: self.error.clone(),
        };
        RecordObject::new(result, sum.map(TraceSummary::object))
    }

    /// Opens the trace in the viewer.
    pub fn show(&mut self) {
        let server = match ViewerServer::of(&self.args.output) {
            Ok(server) => server,
            Err(error) => return self.fail(&error),
        };
        self.messages.say(&format!("{}\nopen this link in a browser; the trace is served once\n", server.url()));
        server.show();
        match server.serve() {
            Ok(Served::File) => {}
            Ok(Served::Nothing) => self.messages.note(&self.args.output, "no browser has fetched it"),
            Err(cause) => self.fail(&UserError::new("--open", format!("cannot serve the trace: {cause}"))),
        }
    }

    /// That of the program; trouble of our own only if the program had none.
    pub fn exit_code(&self) -> ExitCode {
        match (self.end.exit_code(), &self.error) {
            (0, Some(_)) => ExitStatus::Error.into(),
            (code, _) => code.into(),
        }
    }
}

/// Returns why a dump was written, if it can be read and says so.
fn trigger_of(dump: &Path, messages: &Messages) -> Option<String> {
    let source = Source::of(Input::Other(dump.to_owned()), Passes::One, messages).ok()?;
    let (loaded, _) = source.load(Vec::new()).ok()?;
    recorder::trigger(&loaded.recordings, loaded.trace.census.first)
}

/// Why there is no trace, and what could be done about it.
fn nothing(args: &RecordArgs, gathered: &RecordedProcesses) -> String {
    let program = args.program.first().map(|name| name.display().to_string()).unwrap_or_default();
    let (what, way_out) = match gathered.processes.len() as u64 {
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
