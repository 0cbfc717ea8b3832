//! Call stacks of the steps of one side, for flame graphs.

use super::profile::Unit;
use super::stratum::Stratum;
use ferrum_trace_model::{StringId, Strings};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Largest number of stacks. Further ones are summed in `(other)` nodes, at most one below each node.
pub const N_STACKS_MAX: usize = 20_000;
/// Name of the nodes that sum further stacks.
const OTHER: &str = "(other)";

/// Time of the steps of one side by call stack and stratum.
///
/// The stacks are nodes of a tree. The host's slices of a step have the stack `phase > slice > slice…`, its device work
/// has `phase > device > launching operation > kernel`. Every moment of a step counts once, as in a
/// [`Profile`](super::Profile), so that the nodes sum to the durations of the steps.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    unit: Option<Unit>,
    strings: Strings,
    nodes: Vec<Node>,
    places: HashMap<Node, u32>,
    /// Number of nodes that sum further stacks.
    n_others: usize,
    strata: BTreeMap<Stratum, StackSums>,
}

/// Identity of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    parent: Option<u32>,
    category: StringId,
    name: StringId,
    /// True if it sums further stacks.
    is_other: bool,
}

/// A call stack: its innermost call, and the stack around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack<'a> {
    /// Index of the stack around it.
    pub parent: Option<u32>,
    /// Category of the call.
    pub category: &'a str,
    /// Name of the call.
    pub name: &'a str,
}

/// Sums of one stratum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackSums {
    /// Number of steps, with outliers.
    pub n_steps: u64,
    /// Number of typical steps. The sums are those of typical steps.
    pub n_typical: u64,
    /// Sums by index of the stack.
    pub sums: BTreeMap<u32, StackSum>,
}

/// Sums of one stack in one stratum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackSum {
    /// Time in which its innermost call has the step, in nanoseconds.
    pub self_ns: i64,
    /// Number of calls.
    pub count: u64,
}

impl Stacks {
    /// Creates an empty set.
    pub(crate) fn new(unit: Unit) -> Self {
        Self { unit: Some(unit), ..Self::default() }
    }

    /// Returns the unit; `None` if nothing was added.
    pub fn unit(&self) -> Option<Unit> {
        self.unit
    }

    /// Returns all stacks, outer before inner.
    pub fn stacks(&self) -> impl Iterator<Item = Stack<'_>> {
        self.nodes.iter().map(|node| Stack {
            parent: node.parent,
            category: self.strings.get(node.category),
            name: self.strings.get(node.name),
        })
    }

    /// Returns the sums of each stratum.
    pub fn strata(&self) -> &BTreeMap<Stratum, StackSums> {
        &self.strata
    }

    /// Adds the steps of another trace. As in [`Profile::add`](super::Profile::add), traces of another unit are left
    /// out.
    pub fn add(&mut self, other: &Self) {
        if other.unit.is_none() || (self.unit.is_some() && self.unit != other.unit) {
            return;
        }
        self.unit = other.unit;
        let places = self.graft(other);
        for (&stratum, sums) in &other.strata {
            let moved = |(&node, &sum): (&u32, &StackSum)| Some((*places.get(node as usize)?, sum));
            self.add_sums(stratum, (sums.n_steps, sums.n_typical), sums.sums.iter().filter_map(moved));
        }
    }

    /// Adds the stacks of another set without their time. Returns the index of each.
    pub(crate) fn graft(&mut self, other: &Self) -> Vec<u32> {
        let mut places: Vec<u32> = Vec::with_capacity(other.nodes.len());
        for (node, stack) in other.nodes.iter().zip(other.stacks()) {
            let parent = stack.parent.and_then(|parent| places.get(parent as usize).copied());
            let place = match node.is_other {
                true => self.other(parent),
                false => self.child(parent, stack.category, stack.name),
            };
            places.push(place);
        }
        places
    }

    /// Returns the index of a stack, and adds it if it is new. Stacks beyond the limit are `(other)`, and so are calls
    /// in them.
    pub(crate) fn child(&mut self, parent: Option<u32>, category: &str, name: &str) -> u32 {
        if let Some(parent) = parent
            && self.nodes.get(parent as usize).is_some_and(|node| node.is_other)
        {
            return parent;
        }
        if self.nodes.len() - self.n_others >= N_STACKS_MAX {
            return self.find(parent, category, name).unwrap_or_else(|| self.other(parent));
        }
        let [category, name] = [category, name].map(|text| self.strings.intern(text));
        let node = Node { parent, category, name, is_other: false };
        self.places.get(&node).copied().unwrap_or_else(|| self.push(node))
    }

    fn find(&self, parent: Option<u32>, category: &str, name: &str) -> Option<u32> {
        let (category, name) = (self.strings.find(category)?, self.strings.find(name)?);
        self.places.get(&Node { parent, category, name, is_other: false }).copied()
    }

    fn other(&mut self, parent: Option<u32>) -> u32 {
        let name = self.strings.intern(OTHER);
        let node = Node { parent, category: StringId::EMPTY, name, is_other: true };
        match self.places.get(&node) {
            Some(&place) => place,
            None => {
                self.n_others += 1;
                self.push(node)
            }
        }
    }

    fn push(&mut self, node: Node) -> u32 {
        let place = self.nodes.len() as u32;
        self.nodes.push(node);
        self.places.insert(node, place);
        place
    }

    /// Adds steps and sums to a stratum.
    pub(crate) fn add_sums(
        &mut self,
        stratum: Stratum,
        (n_steps, n_typical): (u64, u64),
        more: impl IntoIterator<Item = (u32, StackSum)>,
    ) {
        let sums = self.strata.entry(stratum).or_default();
        sums.n_steps = sums.n_steps.saturating_add(n_steps);
        sums.n_typical = sums.n_typical.saturating_add(n_typical);
        for (node, sum) in more {
            sums.sums.entry(node).or_default().add(&sum);
        }
    }
}

impl StackSum {
    /// Adds other sums.
    pub(crate) fn add(&mut self, other: &Self) {
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.count = self.count.saturating_add(other.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(self_ns: i64, count: u64) -> StackSum {
        StackSum { self_ns, count }
    }

    fn stacks(paths: &[(&[&str], i64)]) -> Stacks {
        let mut stacks = Stacks::new(Unit::Step);
        for (path, time) in paths {
            let node = path.iter().fold(None, |parent, name| Some(stacks.child(parent, "", name)));
            stacks.add_sums(Stratum::default(), (0, 0), node.map(|node| (node, sum(*time, 1))));
        }
        stacks.add_sums(Stratum::default(), (2, 1), None);
        stacks
    }

    fn listed(stacks: &Stacks) -> Vec<(Option<u32>, &str, StackSum)> {
        let sums = &stacks.strata()[&Stratum::default()].sums;
        let sum = |node: u32| sums.get(&node).copied().unwrap_or_default();
        stacks.stacks().zip(0..).map(|(stack, node)| (stack.parent, stack.name, sum(node))).collect()
    }

    #[test]
    fn stacks_of_several_runs_add_up() {
        let mut all = stacks(&[(&["a", "b"], 5), (&["a"], 7)]);
        all.add(&stacks(&[(&["b"], 3), (&["a", "b"], 1)]));
        let expected = [(None, "a", sum(7, 1)), (Some(0), "b", sum(6, 2)), (None, "b", sum(3, 1))];
        assert_eq!(listed(&all), expected);
        let sums = &all.strata()[&Stratum::default()];
        assert_eq!((sums.n_steps, sums.n_typical), (4, 2));
    }

    #[test]
    fn traces_without_steps_are_not_added_to_steps() {
        let mut all = stacks(&[(&["a"], 5)]);
        all.add(&Stacks { unit: Some(Unit::Trace), ..stacks(&[(&["a"], 9)]) });
        assert_eq!(listed(&all), [(None, "a", sum(5, 1))]);
        let mut none = Stacks::default();
        none.add(&all);
        assert_eq!((none.unit(), listed(&none).len()), (Some(Unit::Step), 1));
    }

    #[test]
    fn stacks_beyond_the_limit_are_summed() {
        let mut all = stacks(&[(&["a"], 1)]);
        for n in 0..2 * N_STACKS_MAX {
            let parent = all.child(Some(0), "", &n.to_string());
            let leaf = all.child(Some(parent), "", "leaf");
            all.add_sums(Stratum::default(), (0, 0), [(leaf, sum(1, 1))]);
        }
        assert!(all.nodes.len() <= N_STACKS_MAX + all.n_others);
        // One below `a`, and one below its last child.
        assert_eq!(all.n_others, 2);
        assert!(all.strings.len() < N_STACKS_MAX);
        let total: i64 = listed(&all).iter().map(|(_, _, sum)| sum.self_ns).sum();
        assert_eq!(total, 1 + 2 * N_STACKS_MAX as i64);
        let mut copy = Stacks::default();
        copy.add(&all);
        assert_eq!(listed(&copy), listed(&all));
    }
}
