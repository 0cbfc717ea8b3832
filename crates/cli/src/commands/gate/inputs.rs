//! The sides of the gate.

use crate::sides::{BaselineFile, Conditions, Measuring, Side, SideSpec};
use crate::user_error::UserError;
use ferrum_trace_analyze::runs::Run;
use std::path::Path;

/// A side, with the runs that it has so far.
#[derive(Debug)]
pub(crate) struct SideInput {
    /// `base` or `new`.
    pub(crate) label: &'static str,
    /// Kind in JSON: `command`, `traces` or `baseline`.
    pub(crate) kind: &'static str,
    /// The value of the flag.
    pub(crate) name: String,
    /// The command to run, if any.
    pub(crate) command: Option<String>,
    /// Its runs.
    pub(crate) side: Side,
}

impl SideInput {
    /// Returns the number of its steps.
    pub(crate) fn n_steps(&self) -> u64 {
        self.side.runs.iter().map(Run::n_steps).fold(0, u64::saturating_add)
    }

    /// Returns the number of its runs.
    pub(crate) fn n_runs(&self) -> usize {
        self.side.runs.len()
    }
}

/// Both sides as the user named them.
#[derive(Debug)]
pub(crate) struct Specs {
    base: Option<(String, SideSpec)>,
    new: (String, SideSpec),
}

impl Specs {
    /// Decides what the values of the flags mean.
    pub(crate) fn of(base: Option<&str>, new: &str) -> Result<Self, UserError> {
        let spec = |typed: &str| Ok((typed.to_owned(), SideSpec::of(typed)?));
        Ok(Self { base: base.map(spec).transpose()?, new: spec(new)? })
    }

    /// Returns true if a command has to be run.
    pub(crate) fn has_command(&self) -> bool {
        self.base.iter().chain([&self.new]).any(|(_, spec)| matches!(spec, SideSpec::Command(_)))
    }

    /// Reads what exists already: traces and baselines.
    pub(crate) fn open(self, measuring: &Measuring, force: bool) -> Result<Inputs, UserError> {
        let opening = Opening { measuring, conditions: Conditions::current(self.has_command()), force };
        let base = self.base.map(|(typed, spec)| opening.side("base", typed, spec)).transpose()?;
        Ok(Inputs { base, new: opening.side("new", self.new.0, self.new.1)? })
    }
}

/// Both sides.
#[derive(Debug)]
pub(crate) struct Inputs {
    /// The base side; `None` if only limits are checked.
    pub(crate) base: Option<SideInput>,
    /// The new side.
    pub(crate) new: SideInput,
}

impl Inputs {
    /// Returns both sides, base first.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &SideInput> {
        self.base.iter().chain([&self.new])
    }

    /// Returns both sides, base first.
    pub(crate) fn sides_mut(&mut self) -> impl Iterator<Item = &mut SideInput> {
        self.base.iter_mut().chain([&mut self.new])
    }
}

/// Conditions of reading the sides.
struct Opening<'a> {
    measuring: &'a Measuring,
    conditions: Conditions,
    force: bool,
}

impl Opening<'_> {
    fn side(&self, label: &'static str, name: String, spec: SideSpec) -> Result<SideInput, UserError> {
        let (kind, command, side) = match spec {
            SideSpec::Command(command) => ("command", Some(command), Side::default()),
            SideSpec::Traces(path) => ("traces", None, self.measuring.side(&[path])?),
            SideSpec::Baseline(path) => ("baseline", None, self.baseline(label, &path)?),
        };
        Ok(SideInput { label, kind, name, command, side })
    }

    fn baseline(&self, label: &str, path: &Path) -> Result<Side, UserError> {
        let baseline = BaselineFile::read(path)?;
        let differences = baseline.differences(&self.conditions);
        let lines: String = differences.iter().map(|line| format!("\n  {line}")).collect();
        if !differences.is_empty() && !self.force {
            return Err(UserError::at(path, format!("incompatible baseline:{lines}"))
                .hint("save it again under these conditions, or use `--force` to compare anyway"));
        }
        let name = baseline.name.clone();
        let mut side = baseline.into_side();
        side.notes.push(format!(
            "{label} is the baseline `{name}`: its runs are of another time, so they are not paired with others, and a \
             change of the machine since then counts as a change of the program"
        ));
        side.notes.extend(differences.into_iter().map(|line| format!("{label}: {line}")));
        Ok(side)
    }
}
