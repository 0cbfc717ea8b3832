//! Facts that make a comparison of two engines questionable.

use super::layer_count::LayerCount;
use super::profile::{EngineProfile, PhaseProfile, TimedOn};
use super::sides::{Side, Sides};
use ferrum_trace_model::vocab::Phase;
use std::collections::BTreeSet;

/// Largest share of time without a class that is not reported.
const UNNAMED_MAX: f64 = 0.02;
/// Largest share of device time in no step that is not reported.
const OUTSIDE_MAX: f64 = 0.05;
/// Largest relative difference of batch sizes and contexts that count as equal.
const SIZE_TOLERANCE: f64 = 0.1;

/// A fact that makes a comparison questionable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EngineConcern {
    /// The models have different numbers of layers, so they are different models. There are no ratios.
    Layers(Sides<LayerCount>),
    /// One trace has steps, and the other is taken as a whole. There are no ratios.
    StepsOnOneSide(Side),
    /// Both traces have no steps and are taken as a whole. Only classes with equally many slices have ratios.
    NoSteps,
    /// Only this side has steps of a phase.
    PhaseOnOneSide(Option<Phase>, Side),
    /// Classes are timed on a device on one side, and on the host on the other. They have no ratios.
    TimedOn(Sides<TimedOn>),
    /// No step of the phase has all its device work in the file. Classes have no ratios.
    AllIncomplete(Option<Phase>, Side),
    /// Some steps of a phase are left out, because their device work is not completely in the file.
    SomeIncomplete(Option<Phase>, Side, u64),
    /// Mean batch sizes differ. There are no ratios per step.
    Batch(Option<Phase>, Sides<f64>),
    /// The batch size is known on one side only. There are no ratios per step.
    BatchUnknown(Option<Phase>, Side),
    /// Mean contexts of sequences differ.
    Context(Option<Phase>, Sides<f64>),
    /// The number of tokens is unknown. There are no figures per token.
    TokensUnknown(Option<Phase>, Side),
    /// Devices that work, whose times are summed, differ in number.
    Devices(Sides<u64>),
    /// The number of layers is unknown, so it is not known whether the models are the same.
    LayersUnknown(Side),
    /// Share of the time in steps without a class.
    Unnamed(Side, f64),
    /// Share of device time that belongs to no step.
    OutsideSteps(Side, f64),
}

impl EngineConcern {
    /// Returns a stable name of the kind.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Layers(_) => "layers",
            Self::StepsOnOneSide(_) => "steps-on-one-side",
            Self::NoSteps => "no-steps",
            Self::PhaseOnOneSide(..) => "phase-on-one-side",
            Self::TimedOn(_) => "timed-on",
            Self::AllIncomplete(..) => "all-incomplete",
            Self::SomeIncomplete(..) => "some-incomplete",
            Self::Batch(..) => "batch",
            Self::BatchUnknown(..) => "batch-unknown",
            Self::Context(..) => "context",
            Self::TokensUnknown(..) => "tokens-unknown",
            Self::Devices(_) => "devices",
            Self::LayersUnknown(_) => "layers-unknown",
            Self::Unnamed(..) => "unnamed",
            Self::OutsideSteps(..) => "outside-steps",
        }
    }

    /// Returns true if ratios are left out because of it.
    pub fn is_refusal(&self) -> bool {
        let phase = self.phase();
        let forbids_some = self.forbids_ratios() || matches!(self, Self::NoSteps);
        forbids_some || self.forbids_class_ratios(phase) || self.forbids_step_ratios(phase)
    }

    /// Returns true if no ratio has a meaning.
    pub(super) fn forbids_ratios(&self) -> bool {
        matches!(self, Self::Layers(_) | Self::StepsOnOneSide(_))
    }

    /// Returns the phase that it is about, if it is about one.
    fn phase(&self) -> Option<Phase> {
        match self {
            Self::AllIncomplete(phase, _) | Self::Batch(phase, _) | Self::BatchUnknown(phase, _) => *phase,
            _ => None,
        }
    }

    /// Returns true if ratios of classes have no meaning in a phase.
    pub(super) fn forbids_class_ratios(&self, phase: Option<Phase>) -> bool {
        match self {
            Self::TimedOn(_) => true,
            Self::AllIncomplete(of, _) => *of == phase,
            _ => false,
        }
    }

    /// Returns true if ratios per step have no meaning in a phase.
    pub(super) fn forbids_step_ratios(&self, phase: Option<Phase>) -> bool {
        matches!(self, Self::Batch(of, _) | Self::BatchUnknown(of, _) if *of == phase)
    }
}

/// Returns the facts that make a comparison questionable, the most serious first.
pub(super) fn concerns(profiles: &Sides<&EngineProfile>) -> Vec<EngineConcern> {
    let mut found: Vec<EngineConcern> = Vec::new();
    let layers = profiles.map(|profile| profile.layers);
    found.extend(layers.both().filter(|it| it.base.n != it.new.n).map(EngineConcern::Layers));
    found.extend(about_steps(profiles));
    let timed_on = profiles.map(|profile| profile.timed_on);
    found.extend((timed_on.base != timed_on.new).then_some(EngineConcern::TimedOn(timed_on)));
    let phases: BTreeSet<Option<Phase>> =
        profiles.iter().flat_map(|profile| profile.phases.iter().map(|it| it.phase)).collect();
    for phase in phases {
        let of_phase = profiles.map(|profile| profile.phases.iter().find(|it| it.phase == phase));
        found.extend(about_phase(phase, &of_phase));
    }
    let devices = profiles.map(|profile| profile.n_devices as u64);
    let is_on_devices = timed_on.iter().all(|it| *it == TimedOn::Device);
    found.extend((is_on_devices && devices.base != devices.new).then_some(EngineConcern::Devices(devices)));
    for side in Side::ALL {
        found.extend(about_side(side, profiles.get(side)));
    }
    found
}

/// Returns true if a trace has steps.
fn has_steps(profile: &EngineProfile) -> bool {
    !profile.sources.is_empty()
}

fn about_steps(profiles: &Sides<&EngineProfile>) -> Option<EngineConcern> {
    match (has_steps(profiles.base), has_steps(profiles.new)) {
        (true, true) => None,
        (true, false) => Some(EngineConcern::StepsOnOneSide(Side::Base)),
        (false, true) => Some(EngineConcern::StepsOnOneSide(Side::New)),
        (false, false) => Some(EngineConcern::NoSteps),
    }
}

fn about_phase(phase: Option<Phase>, phases: &Sides<Option<&PhaseProfile>>) -> Vec<EngineConcern> {
    let mut found = Vec::new();
    for side in Side::ALL {
        let Some(profile) = phases.get(side).filter(|it| it.n_steps > 0) else { continue };
        if profile.sums_incomplete {
            found.push(EngineConcern::AllIncomplete(phase, side));
        } else if profile.n_incomplete > 0 {
            found.push(EngineConcern::SomeIncomplete(phase, side, profile.n_incomplete));
        }
        found.extend(profile.tokens().is_none().then_some(EngineConcern::TokensUnknown(phase, side)));
    }
    match (phases.base, phases.new) {
        (Some(base), Some(new)) => found.extend(about_sizes(phase, &Sides { base, new })),
        (Some(base), None) if base.n_steps > 0 => found.push(EngineConcern::PhaseOnOneSide(phase, Side::Base)),
        (None, Some(new)) if new.n_steps > 0 => found.push(EngineConcern::PhaseOnOneSide(phase, Side::New)),
        _ => {}
    }
    found
}

/// Compares batch sizes and contexts.
fn about_sizes(phase: Option<Phase>, phases: &Sides<&PhaseProfile>) -> Vec<EngineConcern> {
    let mut found = Vec::new();
    let batch = phases.map(|phase| phase.mean_batch());
    match (batch.base, batch.new) {
        (Some(base), Some(new)) if differ(base, new) => found.push(EngineConcern::Batch(phase, Sides { base, new })),
        (Some(_), None) => found.push(EngineConcern::BatchUnknown(phase, Side::New)),
        (None, Some(_)) => found.push(EngineConcern::BatchUnknown(phase, Side::Base)),
        _ => {}
    }
    let context = phases.map(|phase| phase.mean_context()).both();
    found.extend(context.filter(|it| differ(it.base, it.new)).map(|it| EngineConcern::Context(phase, it)));
    found
}

fn differ(one: f64, other: f64) -> bool {
    (one - other).abs() > SIZE_TOLERANCE * one.max(other)
}

fn about_side(side: Side, profile: &EngineProfile) -> Vec<EngineConcern> {
    let mut found = Vec::new();
    found.extend(profile.layers.is_none().then_some(EngineConcern::LayersUnknown(side)));
    let add = |sum: i64, time: i64| sum.saturating_add(time);
    let whole = profile.phases.iter().map(|it| it.times.total()).fold(0, add);
    let unnamed = profile.phases.iter().map(|it| it.times.unnamed_sum().1).fold(0, add);
    found.extend(share_above(unnamed, whole, UNNAMED_MAX).map(|share| EngineConcern::Unnamed(side, share)));
    let outside = if has_steps(profile) { profile.outside_steps } else { 0 };
    let outside = share_above(outside, profile.device.total(), OUTSIDE_MAX);
    found.extend(outside.map(|share| EngineConcern::OutsideSteps(side, share)));
    found
}

fn share_above(part: i64, whole: i64, limit: f64) -> Option<f64> {
    let share = part as f64 / whole.max(1) as f64;
    (share > limit).then_some(share)
}
