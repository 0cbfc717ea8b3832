//! Finds reasons why two sides cannot be compared, or only with care.

use super::attribution::Attribution;
use super::sides::{SideRuns, Sides};
use crate::runs::{LossCounts, RunFacts, Unit};
use std::fmt::Write as _;

/// Reason for care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    /// Stable code, such as `layers`.
    pub code: &'static str,
    /// True if ratios would be meaningless.
    pub is_refusal: bool,
    /// Description, with the facts of both sides.
    pub text: String,
}

/// Difference of the coverage from which it is reported.
const COVERAGE_MAX: f64 = 0.1;
/// Share of the change of the mean step that may come from the batch mix without a note.
const MIX_MAX: f64 = 0.01;
/// Ratio of the mean contexts from which it is reported.
const CONTEXT_MAX: f64 = 1.1;
/// Ratio of the kernels per step from which it is reported.
const KERNELS_MAX: f64 = 1.5;

/// Returns the concerns about two sides, refusals first.
pub(super) fn concerns(sides: &Sides) -> Vec<Concern> {
    let [base, new] = [&sides.base, &sides.new].map(Summary::of);
    let mut concerns = Vec::new();
    concerns.extend(units(sides));
    concerns.extend(layers(&base.facts, &new.facts));
    concerns.extend(sources(&base.facts, &new.facts));
    concerns.extend(devices(&base.facts, &new.facts));
    concerns.extend(kernels(&base, &new));
    concerns.extend(incomplete(&base, &new));
    concerns.extend(coverage(&base.facts, &new.facts));
    concerns.extend(contexts(&base.facts, &new.facts));
    concerns.extend(losses(&base.facts, &new.facts));
    concerns.extend(ranks(sides));
    concerns.sort_by_key(|concern| !concern.is_refusal);
    concerns
}

/// Returns a concern if the sides have different batches.
pub(super) fn batch_mix(attribution: &Attribution) -> Option<Concern> {
    let base = attribution.mean_ns.0;
    if attribution.unit == Unit::Trace || base == 0 {
        return None;
    }
    let share = attribution.mix_ns as f64 / base as f64;
    if share.abs() < MIX_MAX && attribution.one_sided.is_empty() {
        return None;
    }
    let ratio = |(base, new): (i64, i64)| new as f64 / base.max(1) as f64;
    let mut text = format!(
        "the batch mix differs: mean step {:.3} of base as it is, {:.3} at a common mix",
        ratio(attribution.mean_ns),
        ratio(attribution.common_mean_ns)
    );
    if let Some((stratum, base, new)) = attribution.one_sided.first() {
        let more = attribution.one_sided.len() - 1;
        // Writing to a string cannot fail.
        let _ = write!(text, "; only one side has {stratum} ({base} and {new} steps)");
        if more > 0 {
            let _ = write!(text, " and {more} more");
        }
    }
    Some(Concern { code: "batch-mix", is_refusal: false, text })
}

/// Facts of all runs of a side.
struct Summary {
    facts: RunFacts,
    n_steps: u64,
}

impl Summary {
    fn of(side: &SideRuns) -> Self {
        let mut facts = RunFacts::default();
        side.runs.iter().for_each(|run| facts.join(run.facts.clone()));
        Self { facts, n_steps: side.runs.iter().map(|run| run.n_steps()).fold(0, u64::saturating_add) }
    }

    fn kernels_per_step(&self) -> f64 {
        self.facts.n_kernels as f64 / self.n_steps.max(1) as f64
    }
}

fn concern(code: &'static str, text: String) -> Option<Concern> {
    Some(Concern { code, is_refusal: false, text })
}

fn refusal(code: &'static str, text: String) -> Option<Concern> {
    Some(Concern { code, is_refusal: true, text })
}

fn units(sides: &Sides) -> Option<Concern> {
    let what = |side: &SideRuns| match side.profile.unit {
        Some(Unit::Step) => "steps",
        Some(Unit::Trace) => "no steps",
        None => "no slices",
    };
    let (base, new) = (what(&sides.base), what(&sides.new));
    if base == new {
        return None;
    }
    refusal("steps", format!("base has {base}, new has {new}"))
}

fn layers(base: &RunFacts, new: &RunFacts) -> Option<Concern> {
    let (one, two) = (base.layers?, new.layers?);
    if one.count == two.count {
        return None;
    }
    let how = match one.is_estimate || two.is_estimate {
        true => " (estimated from the stores to the KV cache of a step)",
        false => "",
    };
    refusal("layers", format!("not one model: base has {} layers, new has {}{how}", one.count, two.count))
}

fn sources(base: &RunFacts, new: &RunFacts) -> Option<Concern> {
    let is_lacking = base.step_sources.is_empty() || new.step_sources.is_empty();
    if is_lacking || base.step_sources == new.step_sources {
        return None;
    }
    let (one, two) = (base.step_sources.join(", "), new.step_sources.join(", "));
    concern("step-marks", format!("steps are marked by different tools: {one} in base, {two} in new"))
}

fn devices(base: &RunFacts, new: &RunFacts) -> Option<Concern> {
    if base.devices == new.devices {
        return None;
    }
    let list = |facts: &RunFacts| match &facts.devices[..] {
        [] => "none listed".to_owned(),
        devices => devices.join(", "),
    };
    concern("device", format!("different devices: base {}; new {}", list(base), list(new)))
}

fn kernels(base: &Summary, new: &Summary) -> Option<Concern> {
    let (one, two) = (base.facts.n_kernels, new.facts.n_kernels);
    match (one, two) {
        (0, 0) => None,
        (0, _) => refusal("kernels", format!("base has no kernels, new has {two}")),
        (_, 0) => refusal("kernels", format!("new has no kernels, base has {one}")),
        _ => {
            let (one, two) = (base.kernels_per_step(), new.kernels_per_step());
            let is_close = base.n_steps == 0 || one.max(two) <= KERNELS_MAX * one.min(two);
            if is_close {
                return None;
            }
            concern("kernels", format!("kernels per step differ: {one:.0} in base, {two:.0} in new"))
        }
    }
}

fn incomplete(base: &Summary, new: &Summary) -> Option<Concern> {
    let describe = |name: &str, summary: &Summary| match summary.facts.n_incomplete_steps {
        0 => None,
        n_steps => Some(format!(
            "device work of {n_steps} steps of {name} is not in the file ({} launches without a kernel): left out",
            summary.facts.n_unanswered_launches
        )),
    };
    let found: Vec<String> = [describe("base", base), describe("new", new)].into_iter().flatten().collect();
    if found.is_empty() { None } else { concern("incomplete-steps", found.join("; ")) }
}

fn coverage(base: &RunFacts, new: &RunFacts) -> Option<Concern> {
    let (one, two) = (base.coverage()?, new.coverage()?);
    if (one - two).abs() <= COVERAGE_MAX {
        return None;
    }
    let text = format!("slices cover {:.0} % of the steps of base and {:.0} % of new", 100.0 * one, 100.0 * two);
    concern("coverage", text)
}

fn contexts(base: &RunFacts, new: &RunFacts) -> Option<Concern> {
    let (one, two) = (base.mean_context()?, new.mean_context()?);
    if one.max(two) <= CONTEXT_MAX * one.min(two) {
        return None;
    }
    concern("context", format!("mean context of decode steps: {one:.0} tokens in base, {two:.0} in new"))
}

fn losses(base: &RunFacts, new: &RunFacts) -> Option<Concern> {
    let found: Vec<String> = [("base", &base.losses), ("new", &new.losses)]
        .into_iter()
        .filter(|(_, losses)| !losses.is_none())
        .map(|(name, losses)| format!("{name}: {}", list_losses(losses)))
        .collect();
    if found.is_empty() { None } else { concern("losses", format!("data is missing, {}", found.join("; "))) }
}

fn list_losses(losses: &LossCounts) -> String {
    let all = [
        (losses.places, "unreadable places"),
        (losses.dropped, "dropped events"),
        (losses.overwritten_chunks, "overwritten chunks"),
        (losses.stopped, "recordings that stopped early"),
    ];
    let present = all.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    present.collect::<Vec<_>>().join(", ")
}

fn ranks(sides: &Sides) -> Option<Concern> {
    let ranks = |side: &SideRuns| {
        let mut counts: Vec<usize> = side.runs.iter().map(|run| run.ranks.len().max(1)).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    };
    let (one, two) = (ranks(&sides.base), ranks(&sides.new));
    if one == two && one.len() <= 1 {
        return None;
    }
    let list = |counts: &[usize]| counts.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
    concern("ranks", format!("runs have different numbers of ranks: {} in base, {} in new", list(&one), list(&two)))
}
