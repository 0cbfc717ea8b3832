//! The report of `record`, and the files that it leaves.

use super::args::RecordArgs;
use super::json::{RecordObject, RunResult};
use super::processes;
use super::trace_summary::TraceSummary;
use super::viewer::{Served, ViewerServer};
use super::write_trace::{TraceOutput, WrittenTrace};
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
use crate::render::table::{self, clean};
use crate::render::units::count;
use crate::user_error::UserError;
use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_format::spool::FILE_EXTENSION;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The report of `record`.
pub(crate) struct Report<'a> {
    args: &'a RecordArgs,
    messages: Messages,
    end: End,
    /// The folder with the files of the processes, if it is kept.
    folder: Option<PathBuf>,
    dumps: Vec<PathBuf>,
    /// The first error.
    error: Option<String>,
}

impl<'a> Report<'a> {
    /// Creates the report of a program that has ended.
    pub(crate) fn new(args: &'a RecordArgs, messages: Messages, end: End) -> Self {
        Self { args, messages, end, folder: None, dumps: Vec::new(), error: None }
    }

    /// Reports an error.
    pub(crate) fn fail(&mut self, error: &UserError) {
        self.messages.error(error);
        self.error.get_or_insert_with(|| error.to_string());
    }

    /// Writes the trace, if there are any events.
    pub(crate) fn write_trace(
        &mut self,
        recorded: &RecordedProcesses,
        format: Format,
        folder: &Folder,
    ) -> Option<WrittenTrace> {
        recorded.errors.iter().for_each(|error| self.fail(error));
        self.report_damage(recorded);
        if recorded.n_events() == 0 {
            if self.error.is_none() {
                self.messages.print(&no_events_text(self.args, recorded));
            }
            return None;
        }
        let output = TraceOutput { output: &self.args.output, format, folder, messages: self.messages };
        output.write(recorded).map_err(|error| self.fail(&error)).ok()
    }

    fn report_damage(&self, recorded: &RecordedProcesses) {
        for RecordedFile { path, n_damaged, .. } in recorded.processes.iter().flat_map(|process| &process.files) {
            if *n_damaged > 0 {
                self.messages.note(path, &format!("{} skipped", count(*n_damaged, "damaged place")));
            }
        }
    }

    /// Moves dumps of flight recorders next to the trace.
    pub(crate) fn move_dumps(&mut self, recorded: &RecordedProcesses) {
        for dump in &recorded.dumps {
            let extension = if begins_like_a_spool(dump) { FILE_EXTENSION } else { "json" };
            let name = format!("{}.{}.{extension}", bare_name(&self.args.output), bare_name(dump));
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

    /// Removes the files of the processes, unless they are still needed.
    pub(crate) fn keep_or_remove(&mut self, recorded: &RecordedProcesses, folder: Folder) {
        let why = if recorded.has_live() {
            "processes still record here; the trace has what they had recorded so far"
        } else if self.error.is_some() {
            "the files of the processes are kept here"
        } else if recorded.has_damage() {
            "the files of the processes are kept here, because not all of them could be read completely"
        } else if self.args.keep {
            "the files of the individual processes"
        } else {
            return;
        };
        self.messages.note(folder.path(), why);
        self.folder = Some(folder.keep());
    }

    /// Summarizes the trace, unless `--no-summary` is given.
    pub(crate) fn summarize(&mut self, written: Option<&WrittenTrace>) -> Option<TraceSummary> {
        let written = written.filter(|_| !self.args.no_summary)?;
        let summary = TraceSummary::of(&written.readable, &self.args.output, &self.messages);
        summary.map_err(|error| self.fail(&error)).ok()
    }

    /// Prints the report.
    pub(crate) fn print(
        &self,
        recorded: &RecordedProcesses,
        written: Option<&WrittenTrace>,
        summary: Option<&TraceSummary>,
    ) {
        let mut printer = Printer::new(self.messages, self.args.report.json);
        if printer.is_json {
            printer.object(&self.object(recorded, written, summary));
            return;
        }
        let text = self.text(recorded, written, summary);
        if io::stdout().is_terminal() {
            printer.text(&text);
        } else {
            self.messages.print(&text);
        }
        match summary {
            Some(summary) => summary.report_losses(&self.messages),
            None => {
                let notes = recorder::notes(&processes::recordings(recorded));
                self.messages.losses(&self.args.output.display().to_string(), &Losses::default(), &notes);
            }
        }
    }

    fn text(
        &self,
        recorded: &RecordedProcesses,
        written: Option<&WrittenTrace>,
        summary: Option<&TraceSummary>,
    ) -> String {
        let Some(written) = written else { return String::new() };
        let (output, total) = (clean(&self.args.output.display().to_string()), processes::total(recorded));
        let mut text = format!("{}\n{output}: {total}", processes::table(recorded));
        if let Some(merged) = written.merged.as_ref().filter(|_| recorded.processes.len() > 1) {
            text.push_str("; ");
            text.push_str(&processes::clocks(merged));
        }
        text.push('\n');
        if let Some(merged) = &written.merged {
            let not_ranks = merged.not_ranks.as_ref().map(|why| format!("\n{}\n", merge::not_ranks(merged, why)));
            text.push_str(&not_ranks.unwrap_or_else(|| merge::skew(merged, table::width())));
        }
        text.extend(summary.map(|summary| format!("\n{}", summary.text())));
        text
    }

    fn object<'b>(
        &'b self,
        recorded: &'b RecordedProcesses,
        written: Option<&'b WrittenTrace>,
        summary: Option<&'b TraceSummary>,
    ) -> RecordObject<'b> {
        let result = RunResult {
            program: &self.args.program,
            end: self.end,
            recorded,
            output: written.map(|_| self.args.output.as_path()),
            merged: written.and_then(|written| written.merged.as_ref()),
            folder: self.folder.as_deref(),
            dumps: &self.dumps,
            error: self.error.clone(),
        };
        RecordObject::new(result, summary.map(TraceSummary::object))
    }

    /// Opens the trace in the viewer.
    pub(crate) fn open_viewer(&mut self) {
        let server = match ViewerServer::of(&self.args.output) {
            Ok(server) => server,
            Err(error) => return self.fail(&error),
        };
        self.messages.print(&format!("{}\nopen this link in a browser; the trace is served once\n", server.url()));
        server.show();
        match server.serve() {
            Ok(Served::File) => {}
            Ok(Served::Nothing) => self.messages.note(&self.args.output, "no browser has fetched it"),
            Err(cause) => self.fail(&UserError::new("--open", format!("cannot serve the trace: {cause}"))),
        }
    }

    /// Returns the exit code of the program, or 2 if it is 0 and there was an error.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match (self.end.exit_code(), &self.error) {
            (0, Some(_)) => ExitStatus::Error.into(),
            (code, _) => code.into(),
        }
    }
}

/// Returns the trigger of a dump, if the file can be read and has it.
fn trigger_of(dump: &Path, messages: &Messages) -> Option<String> {
    let source = Source::of(Input::Other(dump.to_owned()), Passes::One, messages).ok()?;
    let (loaded, _) = source.load(Vec::new()).ok()?;
    recorder::trigger(&loaded.recordings, loaded.trace.census.first)
}

/// Returns a message about a program that recorded nothing.
fn no_events_text(args: &RecordArgs, recorded: &RecordedProcesses) -> String {
    let program = args.program.first().map(|name| name.display().to_string()).unwrap_or_default();
    let (what, hint) = match recorded.processes.len() as u64 {
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
    format!("{program}: {what}; no trace was written\n\nhint: {hint}\n")
}
