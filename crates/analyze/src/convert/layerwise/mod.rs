//! Writer of vLLM's layerwise profiles: a tree of modules for each step of an engine, with the time of each module.
//!
//! A profile is a sum over the whole trace, so the trace is read into memory, as for the summary.

mod context;
mod forest;
mod launches;
mod phases;
mod roles;
mod writer;

use super::error::Error;
use super::summary::Summary;
use crate::figures::layer_search::LAYER_ARG;
use crate::opener::Opener;
use crate::steps::STEP_ARGS;
use crate::structure::nesting::Nesting;
use context::Context;
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_model::vocab::{Phase, request};
use forest::Forest;
use phases::{Steps, missing_phase, phases};
use roles::Roles;
use std::io::Write;
use writer::Writer;

/// The name of the phase of the first decode step.
const FIRST_DECODE: &str = "decode_1";

/// Options of [`layerwise()`].
#[derive(Clone, Debug, Default)]
pub struct LayerwiseOptions {
    /// Name of the model.
    pub model: String,
}

/// Writes the steps of a trace as vLLM's layerwise profile.
///
/// ```
/// use ferrum_trace_analyze::convert::{LayerwiseOptions, layerwise};
///
/// let trace = br#"[{"ph":"X","name":"decode","cat":"step","ts":0,"dur":9,"pid":1,"tid":1},
///     {"ph":"X","name":"layer","cat":"layer","ts":1,"dur":5,"pid":1,"tid":1,"args":{"layer":0}}]"#;
/// let mut profile = Vec::new();
/// layerwise(&|| Ok(Box::new(&trace[..])), &mut profile, &LayerwiseOptions::default())?;
/// assert!(String::from_utf8_lossy(&profile).contains(r#""decode_1":"#));
/// # Ok::<(), ferrum_trace_analyze::convert::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if the input cannot be read, is not a trace or has no slices, or if the output cannot be written.
pub fn layerwise(open: Opener<'_>, output: &mut dyn Write, options: &LayerwiseOptions) -> Result<Summary, Error> {
    let args = STEP_ARGS.into_iter().chain([LAYER_ARG, request::PROMPT_TOKENS]).map(str::to_owned).collect();
    let loaded = load(open()?, &LoadOptions { args, ..LoadOptions::default() })?;
    let trace = &loaded.trace;
    let nesting = Nesting::of(trace);
    let steps = Steps::of(trace);
    let roles = Roles::of(trace, &nesting, &steps);
    let forest = Forest::of(trace, &nesting, &steps, &roles);
    let mut phases = phases(&steps);
    // vLLM's tools fail on an empty phase.
    phases.retain(|phase| !forest.is_empty(phase, &steps));
    if phases.is_empty() {
        return Err(Error::Nothing("slices in steps"));
    }
    let mut writer = Writer::new(output, trace, &forest);
    let context = Context::of(trace, &steps, &loaded.fields);
    writer.context(options, &context, &phases);
    let missing = missing_phase(&phases);
    if missing == Some(Phase::Prefill) {
        writer.stand_in(Phase::Prefill.as_str());
    }
    for phase in &phases {
        writer.phase(phase, &steps)?;
    }
    if missing == Some(Phase::Decode) {
        writer.stand_in(FIRST_DECODE);
    }
    let (losses, recordings) = (loaded.losses.clone(), loaded.recordings.clone());
    let mut summary = Summary { n_events: trace.census.events, losses, recordings, ..Summary::default() };
    summary.n_slices = writer.finish()?;
    summary.left.outside_steps = forest.n_outside;
    summary.left.unclosed = trace.census.anomalies.unclosed;
    summary.left.unopened = trace.census.anomalies.unopened;
    summary.has_no_steps = steps.is_whole();
    summary.missing_phase = missing;
    summary.has_unknown_prompts = context.prompt_len.is_none();
    summary.has_unknown_devices = context.n_devices.is_none();
    Ok(summary)
}
