//! Collects the call stacks of a trace.

use super::origin::Origins;
use super::profile::Unit;
use super::stacks::{StackSum, Stacks};
use super::stratum::Stratum;
use crate::ops::Ops;
use crate::steps::{MarkedSlice, TileSource, Work, inside};
use crate::structure::nesting::{Nesting, enclosing_end_min};
use crate::structure::select::Selected;
use ferrum_trace_model::vocab::{Phase, step};
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// Name of a step without a phase.
const STEP: &str = "step";
/// Name of the node above device work.
const DEVICE: &str = "device";
/// Name of the time of a step that is in no slice.
const GAP: &str = "(in no span)";
/// Name of the time in which a step waits for the device.
const WAITING: &str = "(waiting for the device)";

/// Collects the call stacks of a trace: for each step [`begin_step`](Self::begin_step) and its tiles, and
/// [`end_stratum`](Self::end_stratum) after all steps of a stratum.
pub(super) struct StackCollector<'a> {
    trace: &'a Trace,
    nesting: &'a Nesting,
    origins: &'a Origins,
    ops: Ops,
    stacks: Stacks,
    /// Stacks by the stack around them, category and name, in texts of the trace.
    known: HashMap<(Option<u32>, StringId, StringId), u32>,
    /// Stack of the step.
    step: Option<u32>,
    /// Stacks of the host's slices of the step.
    of_slices: HashMap<u32, u32>,
    /// End and stack of the slices around the current one.
    open: Vec<(i64, u32)>,
    /// Sums of the stratum.
    sums: HashMap<u32, StackSum>,
}

impl<'a> StackCollector<'a> {
    pub(super) fn new(trace: &'a Trace, nesting: &'a Nesting, origins: &'a Origins, unit: Unit) -> Self {
        Self {
            trace,
            nesting,
            origins,
            ops: Ops::of(trace),
            stacks: Stacks::new(unit),
            known: HashMap::new(),
            step: None,
            of_slices: HashMap::new(),
            open: Vec::new(),
            sums: HashMap::new(),
        }
    }

    /// Begins a step, and counts its calls. `works` is its device work. The host's slices count if `has_host`.
    pub(super) fn begin_step(&mut self, marked: &MarkedSlice, works: &[Work], has_host: bool) {
        let phase = marked.mark.phase.map_or(STEP, Phase::as_str);
        let node = self.stacks.child(None, step::CATEGORY, phase);
        self.step = Some(node);
        self.count(node);
        self.of_slices.clear();
        self.open.clear();
        if has_host {
            for &slice in inside(self.trace, self.nesting, marked) {
                let node = self.host_slice(slice);
                self.count(node);
            }
        }
        for work in works {
            let node = self.device_slice(work.slice);
            self.count(node);
        }
    }

    /// Adds the time of a tile of the step.
    pub(super) fn add_tile(&mut self, source: TileSource, time_ns: i64) {
        let node = match source {
            TileSource::Device(slice) => self.device_slice(slice),
            // The mark of the next step is not among the slices of this one.
            TileSource::Host(slice) => match self.of_slices.get(&slice) {
                Some(&node) => node,
                None => self.slice_in(self.step, slice),
            },
            TileSource::Gap => self.stacks.child(self.step, "", GAP),
            TileSource::Waiting => self.stacks.child(self.step, "", WAITING),
        };
        self.sums.entry(node).or_default().add(&StackSum { self_ns: time_ns, count: 0 });
    }

    /// Ends a stratum: the number of its steps, and of those that are typical.
    pub(super) fn end_stratum(&mut self, stratum: Stratum, n_steps: u64, n_typical: u64) {
        self.stacks.add_sums(stratum, (n_steps, n_typical), self.sums.drain());
    }

    /// Adds the self time of all selected slices, for a trace without steps.
    pub(super) fn add_whole_trace(&mut self, selected: &Selected) {
        for (track, _) in self.trace.tracks.iter() {
            self.open.clear();
            for &slice in self.nesting.of_track(track) {
                let node = match self.origins.is_device.get(slice as usize) {
                    Some(true) => self.device_slice(slice),
                    _ => self.host_slice(slice),
                };
                if selected.contains(slice as usize) {
                    let self_ns = self.nesting.self_time[slice as usize];
                    self.sums.entry(node).or_default().add(&StackSum { self_ns, count: 1 });
                }
            }
        }
        self.end_stratum(Stratum::default(), 1, 1);
    }

    /// Returns the stacks of all strata.
    pub(super) fn finish(self) -> Stacks {
        self.stacks
    }

    fn count(&mut self, node: u32) {
        self.sums.entry(node).or_default().add(&StackSum { self_ns: 0, count: 1 });
    }

    /// Returns the stack of the next slice of a track.
    fn host_slice(&mut self, slice: u32) -> u32 {
        let end_min = enclosing_end_min(&self.trace.slices, slice as usize);
        while self.open.pop_if(|(end, _)| *end < end_min).is_some() {}
        let around = self.open.last().map(|&(_, node)| node).or(self.step);
        let node = self.slice_in(around, slice);
        self.open.push((self.trace.slices.end(slice as usize), node));
        if self.step.is_some() {
            self.of_slices.insert(slice, node);
        }
        node
    }

    /// Returns the stack of a kernel or a copy.
    fn device_slice(&mut self, slice: u32) -> u32 {
        let device = self.stacks.child(self.step, "", DEVICE);
        let operation = self.origins.parent[slice as usize];
        let around = match operation {
            StringId::EMPTY => device,
            operation => self.named(Some(device), StringId::EMPTY, operation),
        };
        self.slice_in(Some(around), slice)
    }

    fn slice_in(&mut self, around: Option<u32>, slice: u32) -> u32 {
        let slices = &self.trace.slices;
        self.named(around, slices.category[slice as usize], slices.name[slice as usize])
    }

    fn named(&mut self, around: Option<u32>, category: StringId, name: StringId) -> u32 {
        let Self { trace, ops, stacks, known, .. } = self;
        *known.entry((around, category, name)).or_insert_with(|| {
            let op = if category == StringId::EMPTY { None } else { ops.get(trace, category, name) };
            let category = op.map_or_else(|| trace.strings.get(category), |op| op.as_str());
            stacks.child(around, category, trace.strings.get(name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{MeasureOptions, TraceInfo, measure};
    use crate::structure::select::Selection;
    use crate::test_traces::trace;

    /// Returns the path, self time and count of each stack with time.
    fn listed(trace: &Trace) -> Vec<(String, i64, u64)> {
        let nesting = Nesting::of(trace);
        let selected = Selection::default().apply(trace);
        let options = MeasureOptions { stacks: true, ..MeasureOptions::default() };
        let measured = measure(trace, &nesting, &selected, TraceInfo::default(), &options);
        let stacks = measured.stacks.unwrap();
        let mut paths: Vec<String> = Vec::new();
        for stack in stacks.stacks() {
            let path = match stack.parent {
                Some(parent) => format!("{} > {}", paths[parent as usize], stack.name),
                None => stack.name.to_owned(),
            };
            paths.push(path);
        }
        let mut found: Vec<(String, i64, u64)> = Vec::new();
        for sums in stacks.strata().values() {
            found.extend(sums.sums.iter().map(|(&node, sum)| (paths[node as usize].clone(), sum.self_ns, sum.count)));
        }
        let total: i64 = found.iter().map(|(_, time, _)| time).sum();
        assert_eq!(total, measured.profile.total().1, "{found:?}");
        found.sort();
        found
    }

    fn entry(path: &str, time: i64, count: u64) -> (String, i64, u64) {
        (path.to_owned(), time, count)
    }

    #[test]
    fn the_stacks_of_a_step_sum_to_its_duration() {
        let trace = trace(&[
            ("1", "1", "step", "decode", 0, 100),
            ("1", "1", "layer", "layer", 10, 60),
            ("1", "1", "gemm", "matmul", 20, 50),
            ("1", "1", "layer", "layer", 60, 90),
        ]);
        let expected = [
            entry("decode", 0, 1),
            entry("decode > (in no span)", 20, 0),
            entry("decode > layer", 50, 2),
            entry("decode > layer > matmul", 30, 1),
        ];
        assert_eq!(listed(&trace), expected);
    }

    #[test]
    fn device_work_is_apart_from_the_host() {
        let trace = trace(&[
            ("1", "1", "step", "decode", 0, 100),
            ("1", "1", "gemm", "matmul", 10, 50),
            ("1", "gpu", "kernel", "k", 40, 70),
        ]);
        let expected = [
            entry("decode", 0, 1),
            entry("decode > (in no span)", 40, 0),
            entry("decode > device > k", 30, 1),
            entry("decode > matmul", 30, 1),
        ];
        assert_eq!(listed(&trace), expected);
    }

    #[test]
    fn a_trace_without_steps_has_the_stacks_of_its_tracks() {
        let trace = trace(&[
            ("1", "1", "", "main", 0, 100),
            ("1", "1", "", "load", 10, 40),
            ("1", "2", "", "load", 0, 5),
            ("1", "1", "", "load", 50, 60),
        ]);
        let expected = [entry("load", 5, 1), entry("main", 60, 1), entry("main > load", 40, 2)];
        assert_eq!(listed(&trace), expected);
    }
}
