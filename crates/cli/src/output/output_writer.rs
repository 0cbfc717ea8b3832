//! Making a file of a trace: where it goes, and that it is whole or not there.

use super::packed::{Packed, bare_name};
use super::pending_file::Existing;
use super::target::{Failure, Target};
use crate::flags::OutputArgs;
use crate::input::paths::{Input, Inputs};
use crate::input::source::Source;
use crate::user_error::Trouble;
use std::io::Write;

/// Where files go.
pub struct Making {
    target: Option<Target>,
    existing: Existing,
}

impl Making {
    /// What the flags ask for, if they agree with each other and with the files.
    pub fn new(inputs: &Inputs, output: &OutputArgs, is_json: bool) -> Result<Self, Trouble> {
        let target = output.output.as_deref().map(Target::of);
        if target.is_some() && inputs.len() > 1 {
            let what = format!("needs exactly one FILE, found {}", inputs.len());
            return Err(Trouble::new("-o", what).hint("without `-o`, each file is written next to its trace"));
        }
        let has_stdin = inputs.iter().flatten().any(|input| *input == Input::Stdin);
        if is_json && (target == Some(Target::Stdout) || (target.is_none() && has_stdin)) {
            let trouble = Trouble::new("--json", "standard output is already used for the trace");
            return Err(trouble.hint("write the trace to a file: `-o PATH`"));
        }
        let existing = if output.force { Existing::IsReplaced } else { Existing::Stays };
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
    ) -> Result<Option<T>, Trouble> {
        let trouble = |what| Trouble::new(source.words.clone(), what);
        make_at(target, self.existing, |output| write(output).map_err(trouble))
    }
}

/// Makes a file. `None` if whoever was reading it has seen enough.
pub fn make_at<T>(
    target: &Target,
    existing: Existing,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Trouble>,
) -> Result<Option<T>, Trouble> {
    let name = target.words();
    let cannot = |cause: std::io::Error| Trouble::new(name.clone(), format!("cannot write: {cause}"));
    let mut output = Packed::new(target.begin(existing)?, target.form().packing).map_err(cannot)?;
    let failure = match write(&mut output) {
        Ok(made) => match output.commit(&name) {
            Ok(()) => return Ok(Some(made)),
            Err(failure) => failure,
        },
        Err(trouble) => output.failure().unwrap_or(Failure::Trouble(trouble)),
    };
    match failure {
        Failure::NobodyReads => Ok(None),
        Failure::Trouble(trouble) => Err(trouble),
    }
}
