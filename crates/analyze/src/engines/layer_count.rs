//! Estimate of the number of layers of a model.

use crate::figures::layer_search::{LayerSource, NONE, find_layers};
use crate::ops::{ClassId, Rules};
use crate::steps::{Step, Work};
use crate::structure::nesting::Nesting;
use ferrum_trace_model::vocab::Op;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::{HashMap, HashSet};

/// Estimated number of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerCount {
    /// The number.
    pub n: u64,
    /// The evidence.
    pub evidence: LayerEvidence,
}

/// Evidence for a number of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerEvidence {
    /// Slices state their layer, in an argument, a name or the id of the track.
    Stated,
    /// Kernels that store to the KV cache, per step and device.
    CacheKernels,
    /// Attention kernels, per step and device.
    AttentionKernels,
}

/// Parts of the names of attention kernels that run beside the one of a layer.
const AUXILIARY: [&str; 6] = ["combine", "reduce", "merge", "metadata", "prepare", "indexer"];

/// Estimates the number of layers; `None` if there is no evidence.
pub(super) fn estimate(
    trace: &Trace,
    nesting: &Nesting,
    rules: &Rules,
    classes: &[Option<ClassId>],
    steps: &[Step],
    works: &[Work],
) -> Option<LayerCount> {
    stated(trace, nesting).or_else(|| {
        let counts = KernelCounts { trace, rules, classes, steps, works };
        let cache = counts.per_step(Op::KvCache, |_, by_name| by_name.values().copied().max());
        let cache = cache.map(|n| LayerCount { n, evidence: LayerEvidence::CacheKernels });
        cache.or_else(|| {
            let n = counts.per_step(Op::Attention, |trace, by_name| {
                let is_main = |name: &StringId| {
                    let name = trace.strings.get(*name).to_lowercase();
                    !AUXILIARY.iter().any(|word| name.split('<').next().unwrap_or(&name).contains(word))
                };
                Some(by_name.iter().filter(|(name, _)| is_main(name)).map(|(_, n)| n).sum())
            })?;
            Some(LayerCount { n, evidence: LayerEvidence::AttentionKernels })
        })
    })
}

fn stated(trace: &Trace, nesting: &Nesting) -> Option<LayerCount> {
    let (_, layer_of) = find_layers(trace, nesting, LayerSource::Auto);
    let layers: HashSet<u32> = layer_of.into_iter().filter(|&layer| layer != NONE).collect();
    let n = layers.len() as u64;
    (n > 1).then_some(LayerCount { n, evidence: LayerEvidence::Stated })
}

/// Inputs for counting the kernels of steps.
struct KernelCounts<'a> {
    trace: &'a Trace,
    rules: &'a Rules,
    classes: &'a [Option<ClassId>],
    steps: &'a [Step],
    works: &'a [Work],
}

impl KernelCounts<'_> {
    /// Returns the median over complete steps and their devices of a figure of the kernels of an operation, by name.
    /// `None` if it is at most 1.
    fn per_step(&self, op: Op, figure: impl Fn(&Trace, &HashMap<StringId, u64>) -> Option<u64>) -> Option<u64> {
        let mut figures = Vec::new();
        for of_step in self.works.chunk_by(|one, other| (one.step, one.device) == (other.step, other.device)) {
            let is_complete = |work: &Work| self.steps.get(work.step as usize).is_some_and(|it| !it.is_incomplete);
            if !of_step.first().is_some_and(is_complete) {
                continue;
            }
            let mut by_name: HashMap<StringId, u64> = HashMap::new();
            for work in of_step.iter().filter(|work| self.op(work) == Some(op)) {
                *by_name.entry(self.trace.slices.name[work.slice as usize]).or_default() += 1;
            }
            figures.extend(figure(self.trace, &by_name).filter(|&n| n > 0));
        }
        figures.sort_unstable();
        figures.get(figures.len() / 2).copied().filter(|&n| n > 1)
    }

    fn op(&self, work: &Work) -> Option<Op> {
        let class = self.classes.get(work.slice as usize).copied().flatten()?;
        self.rules.op(class)
    }
}
