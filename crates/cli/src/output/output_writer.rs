//! Picks the output path of a trace, and writes the file atomically.

use super::packed::{Packed, bare_name};
use super::pending_file::Existing;
use super::target::{Failure, Target};
use crate::flags::OutputArgs;
use crate::user_error::UserError;
use std::io::Write;
use std::path::Path;

/// Output of a command that writes one file per trace.
pub(crate) struct OutputWriter {
    /// The path of `-o`, if any.
    target: Option<Target>,
    existing: Existing,
}

/// Inputs of a command, as far as they limit its output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputCount {
    pub(crate) n_inputs: usize,
    pub(crate) has_stdin: bool,
}

impl OutputWriter {
    /// Checks that `-o` and `--json` agree with the inputs.
    pub(crate) fn new(inputs: InputCount, output: &OutputArgs, is_json: bool) -> Result<Self, UserError> {
        let hint = "without `-o`, each file is written next to its trace";
        let target = checked_target(inputs, output.output.as_deref(), is_json, hint)?;
        Ok(Self { target, existing: Existing::of_force(output.force) })
    }

    /// Returns true if there is no `-o`.
    pub(crate) fn is_default(&self) -> bool {
        self.target.is_none()
    }

    /// Returns the output for a trace at this path. Without `-o`, it is next to the trace and has this extension.
    pub(crate) fn target(&self, trace: Option<&Path>, extension: &str) -> Target {
        match (&self.target, trace) {
            (Some(target), _) => target.clone(),
            (None, None) => Target::Stdout,
            (None, Some(path)) => Target::File(path.with_file_name(format!("{}.{extension}", bare_name(path)))),
        }
    }

    /// Writes a file made from the trace `label`. Returns `None` if the reader has closed the pipe.
    pub(crate) fn write<T>(
        &self,
        label: &str,
        target: &Target,
        write: impl FnOnce(&mut dyn Write) -> Result<T, String>,
    ) -> Result<Option<T>, UserError> {
        write_to(target, self.existing, |output| write(output).map_err(|what| UserError::new(label, what)))
    }
}

/// Returns the target of `-o`. It needs a single input, and `--json` needs standard output for itself. `hint` is for
/// the user who names several inputs.
pub(crate) fn checked_target(
    inputs: InputCount,
    output: Option<&Path>,
    is_json: bool,
    hint: &str,
) -> Result<Option<Target>, UserError> {
    let target = output.map(Target::of);
    if target.is_some() && inputs.n_inputs > 1 {
        let what = format!("needs exactly one FILE, found {}", inputs.n_inputs);
        return Err(UserError::new("-o", what).hint(hint));
    }
    if is_json && (target == Some(Target::Stdout) || (target.is_none() && inputs.has_stdin)) {
        return Err(stdout_is_used());
    }
    Ok(target)
}

/// Returns the error for `--json` together with a trace on standard output.
pub(crate) fn stdout_is_used() -> UserError {
    UserError::new("--json", "standard output is already used for the trace")
        .hint("write the trace to a file: `-o PATH`")
}

/// Writes a file, compressed if its name asks for it. Returns `None` if the reader has closed the pipe.
pub(crate) fn write_to<T>(
    target: &Target,
    existing: Existing,
    write: impl FnOnce(&mut dyn Write) -> Result<T, UserError>,
) -> Result<Option<T>, UserError> {
    let name = target.label();
    let cannot = |cause: std::io::Error| UserError::new(name.clone(), format!("cannot write: {cause}"));
    let mut output = Packed::new(target.begin(existing)?, target.form().packing).map_err(cannot)?;
    let failure = match write(&mut output) {
        Ok(written) => match output.commit(&name) {
            Ok(()) => return Ok(Some(written)),
            Err(failure) => failure,
        },
        Err(error) => output.failure().unwrap_or(Failure::Error(error)),
    };
    match failure {
        Failure::ClosedPipe => Ok(None),
        Failure::Error(error) => Err(error),
    }
}
