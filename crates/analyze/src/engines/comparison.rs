//! Comparison of the profiles of two engines.

use super::class_times::ClassTimes;
use super::concern::{EngineConcern, concerns};
use super::profile::{EngineProfile, PhaseProfile};
use super::sides::Sides;
use crate::ops::ClassId;
use ferrum_trace_model::vocab::Phase;
use std::collections::BTreeSet;

/// Comparison of two engines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineComparison {
    /// Phases that either trace has; steps without a phase, or whole traces, first.
    pub phases: Vec<PhaseComparison>,
    /// Facts that make the comparison questionable.
    pub concerns: Vec<EngineConcern>,
}

/// Comparison of one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseComparison {
    /// The phase; `None` for steps of unknown phase, and for whole traces.
    pub phase: Option<Phase>,
    /// Rows: the step, the time of its devices, then classes by their larger share, then slices without a class.
    pub rows: Vec<ComparedRow>,
}

/// One row of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRow {
    /// Subject of the row.
    pub subject: RowSubject,
    /// Figures of both engines; `None` if an engine does not have the phase or the class.
    pub figures: Sides<Option<RowFigures>>,
    /// Time per step of the new engine, divided by that of the base; `None` if that has no meaning.
    pub step_ratio: Option<f64>,
    /// The same per token.
    pub token_ratio: Option<f64>,
}

/// Subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowSubject {
    /// Duration of steps, or of the trace if it has no steps.
    Step,
    /// Time in which a device works.
    DeviceBusy,
    /// Slices of a class.
    Class(ClassId),
    /// Slices without a class.
    Unnamed,
}

/// Figures of a row for one engine. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowFigures {
    /// Number of slices, or of steps.
    pub count: u64,
    /// Time in all steps of the phase.
    pub total: i64,
    /// Time per step; the total if the trace has no steps.
    pub per_step: f64,
    /// Time per token, if the number of tokens is known.
    pub per_token: Option<f64>,
    /// Time per step and layer, if the number of layers is known.
    pub per_layer: Option<f64>,
    /// Share of the time of all classes.
    pub share: Option<f64>,
}

/// Compares two profiles that were made with the same rules.
pub fn compare_engines(base: &EngineProfile, new: &EngineProfile) -> EngineComparison {
    let profiles = Sides { base, new };
    let names: BTreeSet<Option<Phase>> = base.phases.iter().chain(&new.phases).map(|it| it.phase).collect();
    let concerns = concerns(&profiles);
    let phases = names.into_iter().map(|phase| compare_phase(phase, &profiles, &concerns)).collect();
    EngineComparison { phases, concerns }
}

/// Ratios that have a meaning.
#[derive(Clone, Copy, Debug)]
struct Meaningful {
    /// Ratios of the duration of steps.
    steps: bool,
    /// Ratios of the time of classes.
    classes: bool,
    /// Ratios per step.
    per_step: bool,
    /// Only ratios of classes with equally many slices, because the amount of work is not known otherwise.
    equal_counts: bool,
}

fn compare_phase(
    phase: Option<Phase>,
    profiles: &Sides<&EngineProfile>,
    concerns: &[EngineConcern],
) -> PhaseComparison {
    let phases = profiles.map(|profile| profile.phases.iter().find(|it| it.phase == phase));
    let steps = !concerns.iter().any(|it| it.forbids_ratios());
    let meaningful = Meaningful {
        steps,
        classes: steps && !concerns.iter().any(|it| it.forbids_class_ratios(phase)),
        per_step: !concerns.iter().any(|it| it.forbids_step_ratios(phase)),
        equal_counts: concerns.contains(&EngineConcern::NoSteps),
    };
    let layers = profiles.map(|profile| profile.layers.map(|layers| layers.n));
    let row = |subject: RowSubject| {
        let figures = phases.zip(layers).map(|&(profile, layers)| figures(subject, profile?, layers));
        compared(subject, figures, meaningful)
    };
    PhaseComparison { phase, rows: subjects(&phases).into_iter().map(row).collect() }
}

/// Returns the rows of a phase: classes by their larger share.
fn subjects(phases: &Sides<Option<&PhaseProfile>>) -> Vec<RowSubject> {
    let times: Vec<&ClassTimes> = phases.iter().flatten().map(|phase| &phase.times).collect();
    let classes: BTreeSet<ClassId> = times.iter().flat_map(|times| times.classes.iter().map(|it| it.class)).collect();
    let largest_share = |class: ClassId| {
        let shares = times.iter().map(|times| share(times.get(class).map_or(0, |it| it.total), times).unwrap_or(0.0));
        shares.fold(0.0, f64::max)
    };
    let mut classes: Vec<(ClassId, f64)> = classes.into_iter().map(|class| (class, largest_share(class))).collect();
    classes.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    let mut subjects = vec![RowSubject::Step];
    if phases.iter().flatten().any(|phase| phase.device_busy > 0) {
        subjects.push(RowSubject::DeviceBusy);
    }
    subjects.extend(classes.into_iter().map(|(class, _)| RowSubject::Class(class)));
    if times.iter().any(|times| !times.unnamed.is_empty()) {
        subjects.push(RowSubject::Unnamed);
    }
    subjects
}

fn share(total: i64, times: &ClassTimes) -> Option<f64> {
    let whole = times.total();
    (whole > 0).then(|| total as f64 / whole as f64)
}

fn figures(subject: RowSubject, phase: &PhaseProfile, layers: Option<u64>) -> Option<RowFigures> {
    let n_units = phase.n_steps.max(1);
    let (count, total) = match subject {
        RowSubject::Step => (phase.n_steps, phase.duration),
        RowSubject::DeviceBusy => Some((phase.n_steps, phase.device_busy)).filter(|&(_, busy)| busy > 0)?,
        RowSubject::Class(class) => phase.times.get(class).map(|time| (time.count, time.total))?,
        RowSubject::Unnamed => Some(phase.times.unnamed_sum()).filter(|&(count, _)| count > 0)?,
    };
    let is_part = matches!(subject, RowSubject::Class(_) | RowSubject::Unnamed);
    let per_step = total as f64 / n_units as f64;
    let n_layers = layers.filter(|&n| n > 0 && phase.n_steps > 0);
    Some(RowFigures {
        count,
        total,
        per_step,
        per_token: phase.tokens().map(|tokens| total as f64 / tokens as f64),
        per_layer: n_layers.map(|n| per_step / n as f64),
        share: share(total, &phase.times).filter(|_| is_part),
    })
}

fn compared(subject: RowSubject, figures: Sides<Option<RowFigures>>, meaningful: Meaningful) -> ComparedRow {
    let has_meaning = match subject {
        RowSubject::Step => meaningful.steps && !meaningful.equal_counts,
        RowSubject::DeviceBusy => meaningful.classes && !meaningful.equal_counts,
        RowSubject::Class(_) if meaningful.equal_counts => {
            let counts = figures.map(|figures| figures.map(|it| it.count));
            meaningful.classes && counts.base == counts.new
        }
        RowSubject::Class(_) => meaningful.classes,
        // Different names may be without a class on both sides.
        RowSubject::Unnamed => false,
    };
    let ratio = |figure: fn(&RowFigures) -> Option<f64>| {
        let [base, new] = [figures.base.as_ref().and_then(figure)?, figures.new.as_ref().and_then(figure)?];
        (has_meaning && base > 0.0 && new > 0.0).then_some(new / base)
    };
    let step_ratio = ratio(|it| Some(it.per_step)).filter(|_| meaningful.per_step);
    let token_ratio = ratio(|it| it.per_token);
    ComparedRow { subject, figures, step_ratio, token_ratio }
}
