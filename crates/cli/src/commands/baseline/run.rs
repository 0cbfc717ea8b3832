//! Saves, lists, shows and removes baselines.

use super::args::{Action, BaselineArgs, ListArgs, RemoveArgs, SaveArgs, ShowArgs};
use super::json::BaselineObject;
use super::report::BaselineReport;
use super::save::save;
use super::text;
use crate::exit_status::ExitStatus;
use crate::render::messages::Messages;
use crate::render::printer::Printer;
use crate::render::units::count;
use crate::sides::{BaselineFile, stored_baselines};
use crate::user_error::UserError;
use std::path::PathBuf;

pub(crate) fn run(args: &BaselineArgs) -> ExitStatus {
    match &args.action {
        Action::Save(args) => run_save(args),
        Action::List(args) => run_list(args),
        Action::Show(args) => run_show(args),
        Action::Remove(args) => run_remove(args),
    }
}

fn run_save(args: &SaveArgs) -> ExitStatus {
    let mut printer = Printer::new(Messages { verbose: args.verbose }, args.json);
    match save(args) {
        Ok(Some(report)) => printed(&report, &mut printer, saved_text),
        Ok(None) => {
            printer.messages.print("\ninterrupted: nothing was saved\n");
            ExitStatus::Interrupted
        }
        Err(error) => printer.error(&args.name, &error),
    }
}

fn saved_text(report: &BaselineReport) -> String {
    let runs = count(report.baseline.runs.len() as u64, "run");
    format!("saved {runs} as {}\n\n{}", report.path.display(), text::show(report))
}

fn run_show(args: &ShowArgs) -> ExitStatus {
    let mut printer = Printer::new(Messages::default(), args.json);
    match args.name.path().and_then(read) {
        Ok(report) => printed(&report, &mut printer, text::show),
        Err(error) => printer.error(&args.name.name, &error),
    }
}

fn run_list(args: &ListArgs) -> ExitStatus {
    let mut printer = Printer::new(Messages::default(), args.json);
    let paths = match stored_baselines() {
        Ok(paths) => paths,
        Err(error) => return printer.error("baseline", &error),
    };
    let mut status = ExitStatus::Success;
    let mut reports = Vec::new();
    for path in paths {
        match read(path.clone()) {
            Ok(report) => reports.push(report),
            Err(error) => status = status.max(printer.error(&path.display().to_string(), &error)),
        }
    }
    let printed = match (args.json, reports.is_empty()) {
        (true, _) => reports.iter().map(|report| object(report, &mut printer)).max().unwrap_or(ExitStatus::Success),
        (false, true) if status == ExitStatus::Success => printer.text("no baselines in this folder\n"),
        (false, _) => printer.text(&text::list(&reports)),
    };
    status.max(printed)
}

fn run_remove(args: &RemoveArgs) -> ExitStatus {
    let printer = Printer::new(Messages::default(), false);
    // Only a baseline is removed, also if the name is the path of any file.
    let removed = args.name.path().and_then(|path| {
        BaselineFile::read(&path)?;
        std::fs::remove_file(&path).map_err(|cause| UserError::at(&path, format!("cannot remove: {cause}")))
    });
    match removed {
        Ok(()) => ExitStatus::Success,
        Err(error) => printer.messages.refuse(&error),
    }
}

fn read(path: PathBuf) -> Result<BaselineReport, UserError> {
    BaselineFile::read(&path).map(|baseline| BaselineReport::new(path, baseline))
}

fn printed(report: &BaselineReport, printer: &mut Printer, text: fn(&BaselineReport) -> String) -> ExitStatus {
    if printer.is_json { object(report, printer) } else { printer.text(&text(report)) }
}

fn object(report: &BaselineReport, printer: &mut Printer) -> ExitStatus {
    let file = report.path.display().to_string();
    printer.object(&BaselineObject::new(report, &file))
}
