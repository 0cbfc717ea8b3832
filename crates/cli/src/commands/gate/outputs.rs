//! Writes the report in all forms that the flags ask for.

use super::args::GateArgs;
use super::json::GateObject;
use super::junit::{junit, junit_of_error};
use super::report::GateReport;
use super::text::parts;
use crate::exit_status::ExitStatus;
use crate::output::pending_file::{Existing, PendingFile};
use crate::render::parts::{to_markdown, to_text};
use crate::render::printer::Printer;
use crate::user_error::UserError;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The variable with the file of the summary of a job of GitHub Actions.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Writes the files, and prints the report.
pub(super) fn write(args: &GateArgs, report: &GateReport, printer: &mut Printer) -> Result<ExitStatus, UserError> {
    let parts = parts(report);
    if let Some(path) = &args.junit {
        replace(path, &junit(report))?;
    }
    let destination = args.markdown.as_ref().map(|path| Destination::of(path.as_deref()));
    match &destination {
        Some(Destination::Replace(path)) => replace(path, &to_markdown(&parts))?,
        Some(Destination::Append(path)) => append(path, &format!("{}\n", to_markdown(&parts)))?,
        Some(Destination::Print) | None => {}
    }
    Ok(if printer.is_json {
        printer.object(&GateObject::new(report))
    } else if matches!(destination, Some(Destination::Print)) {
        printer.text(&to_markdown(&parts))
    } else {
        printer.text(&to_text(&parts))
    })
}

/// Writes the error that ended the gate to the file of `--junit`, so that a file of an earlier gate is not taken for
/// the result.
pub(super) fn write_error(args: &GateArgs, error: &UserError) -> Result<(), UserError> {
    args.junit.as_ref().map_or(Ok(()), |path| replace(path, &junit_of_error(error)))
}

/// Destination of the Markdown.
enum Destination {
    Replace(PathBuf),
    Append(PathBuf),
    Print,
}

impl Destination {
    /// Returns the destination for the value of `--markdown`.
    fn of(path: Option<&Path>) -> Self {
        let summary = std::env::var_os(STEP_SUMMARY).filter(|path| !path.is_empty());
        match (path, summary) {
            (Some(path), _) => Self::Replace(path.to_owned()),
            (None, Some(summary)) => Self::Append(summary.into()),
            (None, None) => Self::Print,
        }
    }
}

fn replace(path: &Path, text: &str) -> Result<(), UserError> {
    let write = || {
        let mut file = PendingFile::create(path)?;
        file.write_all(text.as_bytes())?;
        file.commit(Existing::Replace)
    };
    write().map_err(|cause: io::Error| UserError::at(path, format!("cannot write: {cause}")))
}

fn append(path: &Path, text: &str) -> Result<(), UserError> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|cause| UserError::at(path, format!("cannot write: {cause}")))
}
