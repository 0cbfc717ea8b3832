//! Runs the program, waits for its processes, and writes the trace and the report.

use super::args::RecordArgs;
use super::report::Report;
use crate::flags::DASH;
use crate::output::format::Format;
use crate::output::target::Target;
use crate::recording::{
    End, Folder, OUT, ProcessEvent, ProcessEvents, ProcessTree, RecordedProcesses, wait_for_remaining,
};
use crate::render::messages::Messages;
use crate::render::units::count;
use crate::user_error::UserError;
use ferrum_trace_format::Packing;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Exit codes of shells for a program that does not exist, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;
/// Longest sleep while the program runs. Every process event ends it earlier.
const PERIOD: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &RecordArgs) -> ExitCode {
    let messages = args.report.messages();
    let prepared = format_of(args).and_then(|format| Ok((format, Folder::next_to(&args.output)?, listen()?)));
    let (format, folder, events) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return messages.refuse(&error).into(),
    };
    if std::env::var_os(OUT).is_some_and(|out| !out.is_empty()) {
        messages.note(
            Path::new(OUT),
            &format!("overridden for the program by this command; the trace is written to {}", args.output.display()),
        );
    }
    let mut tree = match start(args, &folder) {
        Ok(tree) => tree,
        Err((error, code)) => {
            messages.error(&error);
            return code.into();
        }
    };
    let end = wait_for_program(&mut tree, &events);
    let mut report = Report::new(args, messages, end);
    let recorded = await_others(args, &mut tree, &folder, &events, &messages).and_then(|()| {
        events.exit_on_signal(format!("the files of the processes are kept in {}", folder.path().display()));
        RecordedProcesses::of(&folder, &tree)
    });
    let recorded = recorded.unwrap_or_else(|error| {
        report.fail(&error);
        RecordedProcesses::default()
    });
    let written = report.write_trace(&recorded, format, &folder);
    let summary = report.summarize(written.as_ref());
    report.move_dumps(&recorded);
    if written.is_some() {
        // From here on, the files of the processes may be removed.
        events.exit_on_signal(format!("the trace is in {}", args.output.display()));
    }
    report.keep_or_remove(&recorded, folder);
    report.print(&recorded, written.as_ref(), summary.as_ref());
    if args.open && written.is_some() {
        report.open_viewer();
    }
    report.exit_code()
}

/// Returns the output format, if the flags agree with it.
fn format_of(args: &RecordArgs) -> Result<Format, UserError> {
    let output = &args.output;
    if output == Path::new(DASH) {
        let error =
            UserError::new("-o -", "standard output belongs to the program, so the trace cannot be written to it");
        return Err(error.hint("name a file: `-o trace.json`"));
    }
    if output.is_dir() {
        let hint = format!("name a file: `-o {}`", output.join("trace.json").display());
        return Err(UserError::at(output, "expected a file to write, found a folder").hint(hint));
    }
    let hint = "use `.json`, `.pftrace` or another extension listed by `ferrum-trace convert --help`; add `.gz` or `.zst` to compress";
    let unknown = || UserError::at(output, "unknown file extension").hint(hint);
    let format = Format::of(output).ok_or_else(unknown)?;
    let is_shown = matches!(format, Format::Chrome | Format::Perfetto | Format::Torch);
    if args.open && !(is_shown && Target::of(output).form().packing != Packing::Zstd) {
        let what = format!("the viewer cannot read the format of {}", output.display());
        return Err(UserError::new("--open", what).hint("it can read `.json` and `.pftrace`, also with `.gz`"));
    }
    Ok(format)
}

fn listen() -> Result<ProcessEvents, UserError> {
    ProcessEvents::listen()
        .map_err(|cause| UserError::new("record", format!("cannot forward signals to the program: {cause}")))
}

/// Starts the program. An error has the exit code.
fn start(args: &RecordArgs, folder: &Folder) -> Result<ProcessTree, (UserError, u8)> {
    let (name, rest) = args.program.split_first().ok_or_else(|| (UserError::new("record", "expected a program"), 2))?;
    let mut command = Command::new(name);
    command.args(rest).env(OUT, folder.pattern()).envs(args.variables());
    ProcessTree::start(&mut command).map_err(|cause| {
        let error = UserError::new(name.display().to_string(), format!("cannot be started: {cause}"));
        match cause.kind() {
            io::ErrorKind::NotFound => (error, NOT_FOUND),
            io::ErrorKind::PermissionDenied => (error.hint("it must be an executable file"), NOT_STARTED),
            _ => (error, NOT_STARTED),
        }
    })
}

/// Forwards signals until the program has ended.
fn wait_for_program(tree: &mut ProcessTree, events: &ProcessEvents) -> End {
    loop {
        tree.reap();
        if let Some(end) = tree.end() {
            return end;
        }
        if let Some(ProcessEvent::Signal(signal)) = events.next(PERIOD) {
            tree.forward(signal);
        }
    }
}

/// Waits for processes that outlive the program.
fn await_others(
    args: &RecordArgs,
    tree: &mut ProcessTree,
    folder: &Folder,
    events: &ProcessEvents,
    messages: &Messages,
) -> Result<(), UserError> {
    let waited = wait_for_remaining(tree, folder, events, Duration::from_secs(args.wait), |n_recording| {
        let processes = count(n_recording, "process");
        let seconds = count(args.wait, "second");
        messages.print(&format!(
            "waiting up to {seconds} for {processes} still recording; press Ctrl-C to continue with what is there\n"
        ));
    });
    waited.map(drop)
}
