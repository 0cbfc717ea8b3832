//! Measures the traces of sides, one after the other.

use super::load_ahead::load_ahead;
use super::trace_info::{rotating_recording, trace_info};
use super::traces::{OneTrace, join};
use crate::input::paths::{Folders, Input, InvalidInput, expand};
use crate::input::source::{Passes, Source, TraceFacts};
use crate::render::messages::Messages;
use crate::user_error::UserError;
use ferrum_trace_analyze::compare::SideRuns;
use ferrum_trace_analyze::runs::{MeasureOptions, Profile, Run, Stacks, measure};
use ferrum_trace_analyze::{LAYER_ARG, Nesting, REQUEST_ARGS, STEP_ARGS, Selection};
use ferrum_trace_format::chrome::read::Loaded;
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

/// A loaded trace with the facts that its file states.
struct LoadedTrace {
    source: Source,
    loaded: Loaded,
    facts: TraceFacts,
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
        let [side] = self.sides([typed])?;
        Ok(side)
    }

    /// Measures the traces of several sides. Each trace is loaded while the one before is measured.
    pub(crate) fn sides<const N: usize>(&self, typed: [&[PathBuf]; N]) -> Result<[Side; N], UserError> {
        let mut traces: [Vec<OneTrace>; N] = std::array::from_fn(|_| Vec::new());
        let mut notes: [Vec<String>; N] = std::array::from_fn(|_| Vec::new());
        let of_side = |(side, typed)| expand(typed, Folders::ListTraces).into_iter().map(move |input| (side, input));
        let load = |(side, input): (usize, Result<Input, InvalidInput>)| {
            let input = input.map_err(|InvalidInput { error, .. }| error)?;
            let source = Source::of(input, Passes::One, &self.messages)?;
            let (loaded, facts) = source.load(arguments())?;
            Ok((side, LoadedTrace { source, loaded, facts }))
        };
        load_ahead(typed.into_iter().enumerate().flat_map(of_side), load, |(side, trace)| {
            traces[side].push(self.trace(trace, &mut notes[side])?);
            Ok(())
        })?;
        let mut notes = notes.into_iter();
        Ok(traces.map(|traces| {
            let (runs, profile, stacks) = join(traces);
            Side { runs, profile, stacks, notes: notes.next().unwrap_or_default() }
        }))
    }

    fn trace(&self, trace: LoadedTrace, notes: &mut Vec<String>) -> Result<OneTrace, UserError> {
        let LoadedTrace { source, loaded, facts } = trace;
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
