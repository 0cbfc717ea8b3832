//! Makes a baseline.

use super::args::SaveArgs;
use super::report::BaselineReport;
use crate::commands::diff::figure;
use crate::os::interrupt;
use crate::output::pending_file::Existing;
use crate::recording::{CommandRuns, RunOutcome, RunProgress};
use crate::render::messages::Messages;
use crate::sides::{BaselineFile, Build, Measuring, Settings, Side, figures, path_of_name, recording_variables};
use crate::user_error::UserError;
use ferrum_trace_analyze::runs::metric::{self, STEP};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// Measures the runs and writes the baseline. Returns `None` if a signal ended the runs.
pub(super) fn save(args: &SaveArgs) -> Result<Option<BaselineReport>, UserError> {
    let path = target(args)?;
    let measuring = Measuring { messages: Messages { verbose: args.verbose }, ..Measuring::default() };
    let (side, settings) = match &args.command {
        Some(command) => {
            let Some(side) = run_command(args, command, &measuring)? else { return Ok(None) };
            (side, Settings { command: Some(command.clone()), variables: recording_variables() })
        }
        None => {
            interrupt::install("nothing was saved");
            (measuring.side(&args.from)?, Settings::default())
        }
    };
    let build =
        Build { ferrum_trace: env!("CARGO_PKG_VERSION").to_owned(), program: args.build.clone().or_else(git_version) };
    let baseline = BaselineFile::new(args.name.clone(), now_unix_s(), build, settings, side);
    baseline.write(&path, Existing::of_force(args.force))?;
    Ok(Some(BaselineReport::new(path, baseline)))
}

/// Returns the path of the file, if it may be written. Runs that could not be saved would be lost.
fn target(args: &SaveArgs) -> Result<PathBuf, UserError> {
    let path = match &args.output {
        Some(path) => path.clone(),
        None => path_of_name(&args.name)?,
    };
    if path.exists() && !args.force {
        return Err(UserError::at(&path, "exists already").hint("use `--force` to replace it"));
    }
    Ok(path)
}

/// Runs the command. Returns `None` if a signal arrived.
fn run_command(args: &SaveArgs, command: &str, measuring: &Measuring) -> Result<Option<Side>, UserError> {
    let runs = CommandRuns::new(measuring.clone(), None, args.verbose)?;
    let mut progress = RunProgress::start((args.runs.get() + args.warm_up_runs) as u64);
    for number in 1..=args.warm_up_runs {
        let name = format!("warm-up {number}");
        progress.begin(&name);
        if !runs.warm_up(command, &name)? {
            return Ok(None);
        }
        progress.end(&name, "not measured");
    }
    let mut all = Side::default();
    for number in 1..=args.runs.get() {
        let name = format!("run-{number:02}");
        progress.begin(&name);
        match runs.measure(command, &name)? {
            RunOutcome::Interrupted => return Ok(None),
            RunOutcome::Measured(side) => {
                progress.end(&name, &describe(&side));
                all.append(*side);
            }
        }
    }
    if runs.is_interrupted() {
        return Ok(None);
    }
    runs.finish("nothing was saved");
    Ok(Some(all))
}

fn describe(side: &Side) -> String {
    match figures(STEP, &side.runs).first() {
        Some(&(_, value)) => format!("{STEP} {}", figure(Some(value), metric::unit(STEP))),
        None => format!("no {STEP}"),
    }
}

/// Returns the version of the program in the current folder, if it is in a Git repository.
fn git_version() -> Option<String> {
    let mut command = Command::new("git");
    command.args(["describe", "--always", "--dirty"]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Some(version).filter(|version| !version.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "a baseline states when it was saved")]
fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
