//! Measures the traces of one side, one after the other.

use super::trace_info::{rotating_recording, trace_info};
use super::traces::{OneTrace, join};
use crate::input::paths::{Folders, InvalidInput, expand};
use crate::input::source::{Passes, Source};
use crate::render::messages::Messages;
use crate::user_error::UserError;
use ferrum_trace_analyze::compare::SideRuns;
use ferrum_trace_analyze::runs::{MeasureOptions, Profile, Run, Stacks, measure};
use ferrum_trace_analyze::{LAYER_ARG, Nesting, REQUEST_ARGS, STEP_ARGS, Selection};
use std::path::{Path, PathBuf};

/// Runs of one side of a comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub(crate) runs: Vec<Run>,
    pub(crate) profile: Profile,
    /// Call stacks, if they were asked for.
    pub(crate) stacks: Stacks,
    /// Remarks about its traces.
    pub(crate) notes: Vec<String>,
}

impl Side {
    /// Returns the side for a comparison.
    pub(crate) fn as_runs(&self) -> SideRuns<'_> {
        SideRuns { runs: &self.runs, profile: &self.profile }
    }

    /// Returns the names of its traces.
    pub(crate) fn trace_names(&self) -> impl Iterator<Item = &String> {
        self.runs.iter().flat_map(|run| &run.names)
    }

    /// Adds the runs of another side.
    pub(crate) fn append(&mut self, other: Self) {
        self.runs.extend(other.runs);
        self.profile.add(&other.profile);
        self.stacks.add(&other.stacks);
        self.notes.extend(other.notes);
    }
}

/// Measures sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measuring {
    pub(crate) options: MeasureOptions,
    /// Slices that count.
    pub(crate) selection: Selection,
    pub(crate) messages: Messages,
}

impl Measuring {
    /// Measures the traces that the user named: files, globs, folders and spools.
    pub(crate) fn side(&self, typed: &[PathBuf]) -> Result<Side, UserError> {
        let mut traces = Vec::new();
        let mut notes = Vec::new();
        for input in expand(typed, Folders::ListTraces) {
            let input = input.map_err(|InvalidInput { error, .. }| error)?;
            let source = Source::of(input, Passes::One, &self.messages)?;
            traces.push(self.trace(&source, &mut notes)?);
        }
        let (runs, profile, stacks) = join(traces);
        Ok(Side { runs, profile, stacks, notes })
    }

    fn trace(&self, source: &Source, notes: &mut Vec<String>) -> Result<OneTrace, UserError> {
        let (loaded, facts) = source.load(arguments())?;
        let trace = &loaded.trace;
        if trace.slices.is_empty() && trace.asyncs.time.is_empty() {
            let events = trace.census.events;
            return Err(UserError::new(
                source.label.clone(),
                format!("expected slices to compare, found none among {events} events"),
            ));
        }
        notes.extend(facts.notes().into_iter().map(|note| format!("{}: {note}", source.label)));
        let info = trace_info(&loaded, &source.name, source.path.as_deref());
        let rank = match &info.ranks[..] {
            [rank] => Some(*rank),
            _ => None,
        };
        let nesting = Nesting::of(trace);
        let selected = self.selection.apply(trace);
        let folder = source.path.as_deref().and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
        let measured = measure(trace, &nesting, &selected, info, &self.options);
        Ok(OneTrace { measured, folder, rank, recording: rotating_recording(&loaded) })
    }
}

/// Returns the arguments that measuring needs.
fn arguments() -> Vec<String> {
    let mut names: Vec<String> =
        STEP_ARGS.into_iter().chain(REQUEST_ARGS).chain([LAYER_ARG]).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}
