//! Words for engines, phases, rows and concerns.

use super::report::{EnginesReport, SideReport};
use crate::render::units::{count, number, percent};
use ferrum_trace_analyze::{EngineConcern, LayerCount, LayerEvidence, PhaseProfile, RowSubject, Side, Sides, TimedOn};
use ferrum_trace_model::vocab::Phase;

/// Returns the name of a row of a phase.
pub(super) fn row_name(report: &EnginesReport, phase: Option<Phase>, subject: RowSubject) -> &str {
    match subject {
        RowSubject::Step if is_whole(report, phase) => "duration",
        RowSubject::Step => "step",
        RowSubject::DeviceBusy => "device busy",
        RowSubject::Class(class) => report.rules.name(class),
        RowSubject::Unnamed => "unnamed",
    }
}

/// Returns the name of a phase.
pub(super) fn phase_name(report: &EnginesReport, phase: Option<Phase>) -> &'static str {
    match phase {
        Some(phase) => phase.as_str(),
        None if is_whole(report, phase) => "whole trace",
        None => "steps of unknown phase",
    }
}

/// Returns true if a phase is the whole of a trace without steps.
pub(super) fn is_whole(report: &EnginesReport, phase: Option<Phase>) -> bool {
    let mut phases = report.sides.iter().flat_map(|side| &side.profile.phases).filter(|it| it.phase == phase);
    phases.all(|phase| phase.n_steps == 0)
}

/// Formats a mean with at most one decimal.
fn mean(value: f64) -> String {
    let tenths = (value * 10.0).round() as u64;
    let decimal = if tenths.is_multiple_of(10) { String::new() } else { format!(".{}", tenths % 10) };
    format!("{}{decimal}", number(tenths / 10))
}

/// Returns the steps, layers and devices of an engine.
pub(super) fn engine(side: &SideReport) -> String {
    let profile = &side.profile;
    let n_steps = profile.sources.iter().map(|(_, n)| n).sum();
    let marked: Vec<&str> = profile.sources.iter().map(|(source, _)| source.name()).collect();
    let steps = match n_steps {
        0 => "no steps".to_owned(),
        n_steps => format!("{} marked by {}", count(n_steps, "step"), marked.join(", ")),
    };
    let layers = profile.layers.map_or_else(|| "layers unknown".to_owned(), layers);
    let timed = match profile.timed_on {
        TimedOn::Device if profile.n_devices > 0 => format!("timed on {}", count(profile.n_devices as u64, "device")),
        timed => format!("timed on {}", place(timed)),
    };
    format!("{steps}, {layers}, {timed}")
}

fn layers(layers: LayerCount) -> String {
    let evidence = match layers.evidence {
        LayerEvidence::Stated => "as slices state",
        LayerEvidence::CacheKernels => "by its KV cache kernels",
        LayerEvidence::AttentionKernels => "by its attention kernels",
    };
    format!("{} ({evidence})", count(layers.n, "layer"))
}

fn place(timed_on: TimedOn) -> &'static str {
    match timed_on {
        TimedOn::Device => "the device",
        TimedOn::Host => "the host",
    }
}

/// Returns the numbers of steps and tokens of a phase.
pub(super) fn sizes(phase: Option<&PhaseProfile>) -> String {
    let Some(phase) = phase else { return "none".to_owned() };
    if phase.n_steps == 0 {
        return "all of it".to_owned();
    }
    let mut parts = vec![count(phase.n_steps, "step")];
    parts.extend(phase.mean_batch().map(|batch| format!("batch {}", mean(batch))));
    parts.extend(phase.mean_context().map(|context| format!("context {}", mean(context))));
    parts.push(phase.tokens().map_or_else(|| "tokens unknown".to_owned(), |tokens| count(tokens, "token")));
    parts.join(", ")
}

/// Returns a sentence about a concern.
pub(super) fn concern(report: &EnginesReport, concern: &EngineConcern) -> String {
    let of = |phase: &Option<Phase>| phase_name(report, *phase);
    let other = |side: &Side| match side {
        Side::Base => Side::New.as_str(),
        Side::New => Side::Base.as_str(),
    };
    match concern {
        EngineConcern::Layers(sides) => different_models(sides),
        EngineConcern::StepsOnOneSide(side) => {
            format!("only {} has steps, and {} is taken as a whole: no ratios", side.as_str(), other(side))
        }
        EngineConcern::NoSteps => {
            "neither trace has steps: both are taken as a whole; ratios only of operations that ran equally often"
                .to_owned()
        }
        EngineConcern::PhaseOnOneSide(phase, side) => format!("{}: only {} has it", of(phase), side.as_str()),
        EngineConcern::TimedOn(sides) => {
            let Sides { base, new } = sides.map(|it| place(*it));
            format!("operations are timed on {base} in base and on {new} in new: ratios of steps only")
        }
        EngineConcern::AllIncomplete(phase, side) => {
            format!("{}: kernels of all steps are missing in {}: no ratios of operations", of(phase), side.as_str())
        }
        EngineConcern::SomeIncomplete(phase, side, n) => {
            let steps = count(*n, "step");
            format!("{}: {steps} of {} left out, because kernels are missing", of(phase), side.as_str())
        }
        EngineConcern::Batch(phase, sides) => {
            let Sides { base, new } = sides.map(|batch| mean(*batch));
            format!("{}: mean batch {base} in base and {new} in new: no ratios per step", of(phase))
        }
        EngineConcern::BatchUnknown(phase, side) => {
            format!("{}: batch size unknown in {}: no ratios per step", of(phase), side.as_str())
        }
        EngineConcern::Context(phase, sides) => {
            let Sides { base, new } = sides.map(|context| mean(*context));
            format!("{}: mean context {base} tokens in base and {new} in new", of(phase))
        }
        EngineConcern::TokensUnknown(phase, side) => {
            format!("{}: number of tokens unknown in {}: no figures per token", of(phase), side.as_str())
        }
        EngineConcern::Devices(sides) => {
            let Sides { base, new } = sides.map(|n| number(*n));
            format!("device time is summed over {base} in base and {new} in new")
        }
        EngineConcern::LayersUnknown(side) => {
            format!("number of layers unknown in {}: the models may be different", side.as_str())
        }
        EngineConcern::Unnamed(side, share) => {
            format!("{} % of the time of {} is in no class; `--rules` adds rules", percent(*share), side.as_str())
        }
        EngineConcern::OutsideSteps(side, share) => {
            format!("{} % of the device time of {} is in no step", percent(*share), side.as_str())
        }
    }
}

fn different_models(sides: &Sides<LayerCount>) -> String {
    let Sides { base, new } = sides.map(|it| layers(*it));
    format!("different models: {base} in base, {new} in new: no ratios; times per layer are shown instead")
}
