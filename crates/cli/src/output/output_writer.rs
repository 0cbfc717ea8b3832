//! Making a file of a trace: where it goes, and that it is whole or not there.

use super::packed::{Packed, bare_name};
use super::pending_file::Existing;
use super::target::{Failure, Target};
use crate::flags::OutputArgs;
use crate::input::paths::{Input, Inputs};
use crate::input::source::Source;
use crate::user_error::UserError;
use std::io::Write;

/// Where files go.
pub struct OutputWriter {
    target: Option<Target>,
    existing: Existing,
}

impl OutputWriter {
    /// What the flags ask for, if they agree with each other and with the files.
    pub fn new(inputs: &Inputs, output: &OutputArgs, is_json: bool) -> Result<Self, UserError> {
        let target = output.output.as_deref().map(Target::of);
        if target.is_some() && inputs.len() > 1 {
            let what = format!("needs exactly one FILE, found {}", inputs.len());
            return Err(UserError::new("-o", what).hint("without `-o`, each file is written next to its trace"));
        }
        let has_stdin = inputs.iter().flatten().any(|input| *input == Input::Stdin);
        if is_json && (target == Some(Target::Stdout) || (target.is_none() && has_stdin)) {
            let error = UserError::new("--json", "standard output is already used for the trace");
            return Err(error.hint("write the trace to a file: `-o PATH`"));
        }
        let existing = if output.force { Existing::Replace } else { Existing::Keep };
        Ok(Self { target, existing })
    }

    /// Whether nobody says where files go.
    pub fn is_by_itself(&self) -> bool {
        self.target.is_none()
    }

    /// Where the file of a trace goes; beside it, with this ending, if nobody says otherwise.
    pub fn target(&self, source: &Source, ending: &str) -> Target {
        match (&self.target, &source.path) {
            (Some(target), _) => target.clone(),
            (None, None) => Target::Stdout,
            (None, Some(path)) => Target::File(path.with_file_name(format!("{}.{ending}", bare_name(path)))),
        }
    }

    /// Makes a file. `None` if whoever was reading it has seen enough.
    pub fn make<T>(
        &self,
        source: &Source,
        target: &Target,
        write: impl FnOnce(&mut dyn Write) -> Result<T, String>,
    ) -> Result<Option<T>, UserError> {
        let error = |what| UserError::new(source.label.clone(), what);
        write_to(target, self.existing, |output| write(output).map_err(error))
    }
}

/// Makes a file. `None` if whoever was reading it has seen enough.
pub fn write_to<T>(
    target: &Target,
    existing: Existing,
    write: impl FnOnce(&mut dyn Write) -> Result<T, UserError>,
) -> Result<Option<T>, UserError> {
    let name = target.label();
    let cannot = |cause: std::io::Error| UserError::new(name.clone(), format!("cannot write: {cause}"));
    let mut output = Packed::new(target.begin(existing)?, target.form().packing).map_err(cannot)?;
    let failure = match write(&mut output) {
        Ok(made) => match output.commit(&name) {
            Ok(()) => return Ok(Some(made)),
            Err(failure) => failure,
        },
        Err(error) => output.failure().unwrap_or(Failure::Error(error)),
    };
    match failure {
        Failure::ClosedPipe => Ok(None),
        Failure::Error(error) => Err(error),
    }
}
