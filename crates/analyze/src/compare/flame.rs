//! Difference of the call stacks of two sides.

use super::mix::common_weights;
use crate::runs::{StackSums, Stacks, Unit};

/// Call stacks of both sides as one tree, with the time of both.
///
/// Each side is taken at the common mix of batches and without outlier steps, as the causes of
/// [`Attribution`](super::Attribution). So the change of the root is the sum of the changes of all causes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlameDiff {
    /// The unit of the times: a step, or a whole trace.
    pub unit: Unit,
    /// The nodes, parents before children. The first one is the root.
    pub nodes: Vec<FlameNode>,
}

/// A call stack, aligned by path: calls of unequal names are separate nodes. Each pair has base and new.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlameNode {
    /// Index of the node around it; `None` for the root.
    pub parent: Option<usize>,
    /// Indices of the nodes in it, in the order of their first occurrence.
    pub children: Vec<usize>,
    /// Category of the innermost call.
    pub category: String,
    /// Name of the innermost call.
    pub name: String,
    /// Nanoseconds per step in the call itself.
    pub self_ns: (f64, f64),
    /// Nanoseconds per step in the call and the calls in it.
    pub total_ns: (f64, f64),
    /// Calls per step.
    pub calls: (f64, f64),
}

impl FlameNode {
    /// Returns true if only the base has it.
    pub fn is_gone(&self) -> bool {
        self.total_ns.0 > 0.0 && self.total_ns.1 <= 0.0
    }

    /// Returns the ratio of the new time to that of the base; infinite if only the new side has it.
    pub fn ratio(&self) -> f64 {
        match self.total_ns {
            (base, new) if base > 0.0 => new / base,
            (_, new) if new > 0.0 => f64::INFINITY,
            _ => 1.0,
        }
    }
}

impl FlameDiff {
    /// Compares the stacks of two sides. `None` if they have no stratum in common.
    pub fn of(base: &Stacks, new: &Stacks) -> Option<Self> {
        let unit = base.unit().filter(|_| base.unit() == new.unit())?;
        let mut both = Stacks::default();
        // The new side decides on the order.
        let of_new = both.graft(new);
        let of_base = both.graft(base);
        let mut diff = Self { unit, nodes: tree(&both) };
        for (weight, [one, two]) in common_strata(base, new)? {
            diff.add(one, weight, &of_base, |pair| &mut pair.0);
            diff.add(two, weight, &of_new, |pair| &mut pair.1);
        }
        diff.sum_up();
        Some(diff)
    }

    /// Returns the names from the outermost call to a node, without the root.
    pub fn path(&self, node: usize) -> Vec<&str> {
        let around = |&node: &usize| self.nodes.get(node).and_then(|node| node.parent);
        let nodes = std::iter::successors(Some(node), around).filter_map(|node| self.nodes.get(node));
        let mut names: Vec<&str> = nodes.filter(|node| node.parent.is_some()).map(|node| node.name.as_str()).collect();
        names.reverse();
        names
    }

    fn add(&mut self, stratum: &StackSums, weight: f64, places: &[u32], side: fn(&mut (f64, f64)) -> &mut f64) {
        let factor = weight / stratum.n_typical.max(1) as f64;
        for (&stack, sum) in &stratum.sums {
            let Some(&place) = places.get(stack as usize) else { continue };
            let Some(node) = self.nodes.get_mut(place as usize + 1) else { continue };
            *side(&mut node.self_ns) += factor * sum.self_ns as f64;
            *side(&mut node.calls) += factor * sum.count as f64;
        }
    }

    /// Computes totals, from the innermost calls outwards.
    fn sum_up(&mut self) {
        for idx in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[idx];
            node.total_ns = (node.total_ns.0 + node.self_ns.0, node.total_ns.1 + node.self_ns.1);
            let (total, parent) = (node.total_ns, node.parent);
            if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent)) {
                parent.total_ns = (parent.total_ns.0 + total.0, parent.total_ns.1 + total.1);
            }
        }
    }
}

/// Returns the nodes of all stacks below a root. The node of a stack has its index plus 1.
fn tree(stacks: &Stacks) -> Vec<FlameNode> {
    let mut nodes = vec![FlameNode::default()];
    for (stack, idx) in stacks.stacks().zip(1..) {
        let parent = stack.parent.map_or(0, |parent| parent as usize + 1);
        let (category, name) = (stack.category.to_owned(), stack.name.to_owned());
        nodes.push(FlameNode { parent: Some(parent), category, name, ..FlameNode::default() });
        nodes[parent].children.push(idx);
    }
    nodes
}

/// Returns the strata that both sides have, with their weights.
fn common_strata<'a>(base: &'a Stacks, new: &'a Stacks) -> Option<Vec<(f64, [&'a StackSums; 2])>> {
    let typical = |sums: &&StackSums| sums.n_typical > 0;
    let pair = |(stratum, one): (_, &'a StackSums)| Some([one, new.strata().get(stratum)?]);
    let pairs: Vec<[&StackSums; 2]> =
        base.strata().iter().filter_map(pair).filter(|it| it.iter().all(typical)).collect();
    let n_steps: Vec<[u64; 2]> = pairs.iter().map(|pair| pair.map(|sums| sums.n_steps)).collect();
    (!pairs.is_empty()).then(|| common_weights(&n_steps).into_iter().zip(pairs).collect())
}

#[cfg(test)]
mod tests {
    use super::super::attribute;
    use super::*;
    use crate::runs::{MeasureOptions, StackSum, Stratum, TraceInfo, measure};
    use crate::steps::BatchRange;
    use crate::structure::nesting::Nesting;
    use crate::structure::select::Selected;
    use crate::test_traces;

    fn stratum(batch: u64) -> Stratum {
        Stratum { batch: Some(BatchRange { from: batch, to: batch }), ..Stratum::default() }
    }

    /// Makes stacks of batch size, number of steps, path and time.
    fn stacks(entries: &[(u64, u64, &[&str], i64)]) -> Stacks {
        let mut stacks = Stacks::new(Unit::Step);
        for &(batch, n_steps, path, self_ns) in entries {
            let node = path.iter().fold(None, |parent, name| Some(stacks.child(parent, "", name)));
            let sum = node.map(|node| (node, StackSum { self_ns, count: n_steps }));
            stacks.add_sums(stratum(batch), (n_steps, n_steps), sum);
        }
        stacks
    }

    fn totals(diff: &FlameDiff) -> Vec<(String, (f64, f64))> {
        (0..diff.nodes.len()).map(|node| (diff.path(node).join(">"), diff.nodes[node].total_ns)).collect()
    }

    fn entry(path: &str, base: f64, new: f64) -> (String, (f64, f64)) {
        (path.to_owned(), (base, new))
    }

    #[test]
    fn stacks_are_aligned_by_path() {
        let base = stacks(&[(1, 2, &["a", "x"], 20), (1, 0, &["a"], 10), (1, 0, &["b", "y"], 4)]);
        let new = stacks(&[(1, 4, &["a", "x"], 80), (1, 0, &["a", "z"], 8), (1, 0, &["y"], 8)]);
        let diff = FlameDiff::of(&base, &new).unwrap();
        let expected = [
            entry("", 17.0, 24.0),
            entry("a", 15.0, 22.0),
            entry("a>x", 10.0, 20.0),
            entry("a>z", 0.0, 2.0),
            entry("y", 0.0, 2.0),
            entry("b", 2.0, 0.0),
            entry("b>y", 2.0, 0.0),
        ];
        assert_eq!(totals(&diff), expected);
        assert_eq!(diff.nodes[1].children, [2, 3]);
        assert_eq!(diff.nodes[2].calls, (1.0, 1.0));
        assert!(diff.nodes[5].is_gone() && !diff.nodes[4].is_gone());
        assert_eq!((diff.nodes[2].ratio(), diff.nodes[4].ratio()), (2.0, f64::INFINITY));
    }

    #[test]
    fn another_batch_mix_alone_is_no_difference() {
        let base = stacks(&[(1, 90, &["a"], 900), (8, 10, &["a"], 400)]);
        let new = stacks(&[(1, 10, &["a"], 100), (8, 90, &["a"], 3600), (9, 7, &["a"], 7777)]);
        let diff = FlameDiff::of(&base, &new).unwrap();
        let (one, two) = diff.nodes[0].total_ns;
        assert!((one - two).abs() < 1e-9 && (one - 25.0).abs() < 1e-9, "{one} {two}");
    }

    #[test]
    fn the_change_of_the_root_is_the_sum_of_the_causes() {
        let side = |slices: &[(&str, &str, &str, &str, i64, i64)]| {
            let trace = test_traces::trace(slices);
            let (nesting, selected) = (Nesting::of(&trace), Selected::all(&trace));
            let options = MeasureOptions { stacks: true, ..MeasureOptions::default() };
            measure(&trace, &nesting, &selected, TraceInfo::default(), &options)
        };
        let base = side(&[
            ("1", "1", "step", "decode", 0, 100_000),
            ("1", "1", "gemm", "up", 10_000, 70_000),
            ("1", "1", "norm", "rms", 20_000, 30_000),
            ("1", "1", "step", "prefill", 100_000, 400_000),
        ]);
        let new = side(&[
            ("1", "1", "step", "decode", 0, 120_000),
            ("1", "1", "gemm", "up", 10_000, 95_000),
            ("1", "1", "step", "decode", 120_000, 250_000),
            ("1", "1", "step", "prefill", 250_000, 560_000),
        ]);
        let attribution = attribute(&base.profile, &new.profile).unwrap();
        let diff = FlameDiff::of(&base.stacks.unwrap(), &new.stacks.unwrap()).unwrap();
        let causes: i64 = attribution.causes.iter().map(|cause| cause.change_ns).sum();
        let (one, two) = diff.nodes[0].total_ns;
        assert!(causes != 0 && (two - one - causes as f64).abs() <= 1.0, "{one} {two} {attribution:?}");
    }

    #[test]
    fn sides_without_a_common_stratum_have_no_difference() {
        let one = stacks(&[(1, 1, &["a"], 1)]);
        assert_eq!(FlameDiff::of(&one, &stacks(&[(2, 1, &["a"], 1)])), None);
        assert_eq!(FlameDiff::of(&one, &Stacks::default()), None);
    }
}
