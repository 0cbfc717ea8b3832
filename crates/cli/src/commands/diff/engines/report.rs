//! Profiles of the two engines, and their comparison.

use super::args::EnginesArgs;
use crate::input::paths::{self, Folders, Input};
use crate::input::source::{Passes, Source};
use crate::render::messages::Messages;
use crate::render::units::number;
use crate::render::{limits, recorder};
use crate::user_error::UserError;
use ferrum_trace_analyze::{
    EngineComparison, EngineProfile, Nesting, Rules, Sides, compare_engines, names_device, profile, profile_args,
};
use ferrum_trace_format::chrome::read::Losses;
use std::path::{Path, PathBuf};

/// Results for two engines.
pub(crate) struct EnginesReport {
    pub(crate) rules: Rules,
    /// The file of `--rules`.
    pub(crate) rules_file: Option<String>,
    pub(crate) sides: Sides<SideReport>,
    pub(crate) comparison: EngineComparison,
}

/// Results for one engine.
pub(crate) struct SideReport {
    /// Name in JSON.
    pub(crate) file: String,
    /// Name in messages.
    pub(crate) label: String,
    pub(crate) profile: EngineProfile,
    pub(crate) losses: Losses,
    pub(crate) notes: Vec<String>,
}

/// An error, and the file that it is about.
pub(crate) struct Failure {
    pub(crate) file: String,
    pub(crate) error: UserError,
}

impl EnginesReport {
    /// Reads the rules and both traces, and compares them.
    pub(crate) fn of(args: &EnginesArgs, messages: &Messages) -> Result<Self, Failure> {
        let rules = match &args.rules {
            Some(path) => read_rules(path).map_err(|error| Failure { file: path.display().to_string(), error })?,
            None => Rules::built_in(),
        };
        let [base, new] = &args.files[..] else { return Err(not_two(&args.files)) };
        let side = |path: &PathBuf| {
            let failure = |error| Failure { file: path.display().to_string(), error };
            SideReport::of(path, &rules, messages).map_err(failure)
        };
        let sides = Sides { base: side(base)?, new: side(new)? };
        let comparison = compare_engines(&sides.base.profile, &sides.new.profile);
        let rules_file = args.rules.as_ref().map(|path| path.display().to_string());
        Ok(Self { rules, rules_file, sides, comparison })
    }
}

fn read_rules(path: &Path) -> Result<Rules, UserError> {
    let text = std::fs::read_to_string(path).map_err(|cause| UserError::at(path, format!("cannot read: {cause}")))?;
    let hint = "`ferrum-trace diff --print-rules` prints the built-in rules; docs/taxonomy.md describes the format";
    Rules::with_own(&text).map_err(|error| UserError::at(path, error.to_string()).hint(hint))
}

fn not_two(files: &[PathBuf]) -> Failure {
    let what = format!("expected two traces, the base and the new one, found {}", number(files.len() as u64));
    Failure { file: "diff".to_owned(), error: UserError::new("--engines", what) }
}

impl SideReport {
    /// Loads a trace and profiles it. The trace is dropped then, so that only one is in memory.
    fn of(path: &Path, rules: &Rules, messages: &Messages) -> Result<Self, UserError> {
        let source = Source::of(one_input(path)?, Passes::One, messages)?;
        let (loaded, facts) = source.load(profile_args())?;
        let nesting = Nesting::of(&loaded.trace);
        let profile = profile(&loaded.trace, &nesting, rules, names_device(&loaded.fields));
        let mut notes = facts.notes();
        notes.extend(limits::notes(&loaded.trace));
        notes.extend(recorder::notes(&loaded.recordings));
        Ok(Self { file: source.name, label: source.label, profile, losses: loaded.losses, notes })
    }
}

/// Returns the trace that a path or a glob stands for.
fn one_input(path: &Path) -> Result<Input, UserError> {
    let mut inputs = paths::expand(&[path.to_owned()], Folders::Reject);
    let n_inputs = inputs.len();
    match inputs.pop() {
        Some(input) if n_inputs == 1 => input.map_err(|invalid| invalid.error),
        _ => Err(UserError::at(path, format!("expected one trace, found {}", number(n_inputs as u64)))),
    }
}
