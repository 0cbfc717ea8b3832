//! Writes the profile as JSON.

use super::super::error::Error;
use super::LayerwiseOptions;
use super::context::Context;
use super::forest::{DEPTH_MAX, Forest};
use super::phases::{ProfilePhase, Steps};
use super::roles::{MODULE_PREFIX, NONE, Role};
use crate::figures::layer_search::LAYER_ARG;
use ferrum_trace_format::chrome::push_text;
use ferrum_trace_model::vocab::{Phase, layer};
use ferrum_trace_model::{ArgColumn, StringId, Strings, Trace};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;

/// Number of bytes that are written at once.
const BUFFER_BYTES: usize = 256 << 10;
/// Suffix of the entry with the time of a slice that belongs to none of its children.
const SELF: &str = " (self)";
/// Separator between a kernel and the modules that launched it.
const FROM: &str = " <- ";

/// Profile that is being written.
pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    json: Vec<u8>,
    trace: &'a Trace,
    forest: &'a Forest,
    layers: Option<&'a ArgColumn>,
    n_entries: u64,
    result: std::io::Result<()>,
}

/// State of the current phase.
struct InPhase {
    total: i64,
    sums: Sums,
}

/// Entries with the same path of names, summed up.
struct Sums {
    names: Strings,
    nodes: Vec<Sum>,
    /// Index by parent, name, and whether the entry has children: an entry with children has just their time.
    places: HashMap<(usize, StringId, bool), usize>,
}

#[derive(Default)]
struct Sum {
    name: StringId,
    time: i64,
    n_invocations: u64,
    below: Vec<usize>,
}

/// Root of all names.
const ROOT: usize = 0;

impl Sums {
    fn new() -> Self {
        Self { names: Strings::default(), nodes: vec![Sum::default()], places: HashMap::new() }
    }

    fn add(&mut self, above: usize, name: &str, has_below: bool, time: i64) -> usize {
        let name = self.names.intern(name);
        let Self { nodes, places, .. } = self;
        let place = *places.entry((above, name, has_below)).or_insert_with(|| {
            nodes.push(Sum { name, ..Sum::default() });
            let place = nodes.len() - 1;
            nodes[above].below.push(place);
            place
        });
        let sum = &mut self.nodes[place];
        sum.time = sum.time.saturating_add(time);
        sum.n_invocations += 1;
        place
    }

    /// Wraps leaves beside modules into an extra entry, as in the trees that are summed up.
    fn wrap_leaves(&mut self) {
        for place in (0..self.nodes.len()).filter(|&place| place != ROOT) {
            let below = std::mem::take(&mut self.nodes[place].below);
            let (leaves, mut modules): (Vec<usize>, Vec<usize>) =
                below.iter().partition(|&&below| self.nodes[below].below.is_empty());
            if leaves.is_empty() || modules.is_empty() {
                self.nodes[place].below = below;
                continue;
            }
            let Sum { name, n_invocations, .. } = self.nodes[place];
            let name = self.names.intern(&format!("{}{SELF}", self.names.get(name)));
            let time = leaves.iter().fold(0, |time: i64, &leaf| time.saturating_add(self.nodes[leaf].time));
            modules.push(self.nodes.len());
            self.nodes[place].below = modules;
            self.nodes.push(Sum { name, time, n_invocations, below: leaves });
        }
    }
}

impl<'a> Writer<'a> {
    /// Begins a profile.
    pub(super) fn new(out: &'a mut dyn Write, trace: &'a Trace, forest: &'a Forest) -> Self {
        let layers = trace.args.iter().find(|column| column.key == LAYER_ARG);
        Self { out, json: Vec::new(), trace, forest, layers, n_entries: 0, result: Ok(()) }
    }

    /// Writes the properties of the run. vLLM's tools require them first.
    pub(super) fn context(&mut self, options: &LayerwiseOptions, context: &Context, phases: &[ProfilePhase]) {
        let n_decodes = phases.iter().filter(|phase| phase.name.starts_with(Phase::Decode.as_str())).count();
        self.json.extend_from_slice(b"{\"context\":{\"engine_args\":{\"model\":");
        push_text(&mut self.json, &options.model);
        let [n_devices, prompt_len] = [context.n_devices, context.prompt_len].map(or_null);
        self.push(format_args!(
            ",\"tensor_parallel_size\":{n_devices}}},\"prompt_len\":{prompt_len},\"batch_size\":{},\"output_len\":{n_decodes},\
             \"num_steps\":{},\"complete_num_requests_per_step\":null}}",
            context.batch.unwrap_or(1),
            phases.len(),
        ));
    }

    /// Writes a phase of which the trace has no step: one entry that takes no time. vLLM's plot fails if there is no
    /// such phase, or if it is empty.
    pub(super) fn stand_in(&mut self, name: &str) {
        let kind = name.split('_').next().unwrap_or(name);
        let nothing = format!("no {kind} in the trace");
        self.json.extend_from_slice(b",\n");
        push_text(&mut self.json, name);
        self.json
            .extend_from_slice(b":{\"metadata\":{\"num_running_seqs\":null,\"missing\":true},\n\"model_stats\":[\n");
        self.entry(&nothing, 0, 0, "", 0);
        self.n_entries -= 1;
        self.json.extend_from_slice(b",\"children\":[]}],\n\"summary_stats\":[\n{\"entry\":{\"name\":");
        push_text(&mut self.json, &nothing);
        self.push(format_args!(",\"cuda_time_us\":0.0,\"pct_cuda_time\":0.0,\"invocations\":0}},\"children\":[]}}]}}"));
    }

    /// Writes a phase: every module and kernel, then the sums by name.
    pub(super) fn phase(&mut self, phase: &ProfilePhase, steps: &Steps) -> Result<(), Error> {
        let slices = phase.slices(steps);
        let batch = phase.steps.iter().filter_map(|&place| steps.list[place].batch).max();
        let mut within = InPhase { total: self.total(&slices), sums: Sums::new() };
        self.json.extend_from_slice(b",\n");
        push_text(&mut self.json, &phase.name);
        let batch = or_null(batch);
        self.push(format_args!(":{{\"metadata\":{{\"num_running_seqs\":{batch}}},\n\"model_stats\":["));
        let mut is_first = true;
        for &step in &slices {
            self.nodes_below(step, "", ROOT, 1, &mut within, &mut is_first)?;
        }
        self.json.extend_from_slice(b"],\n\"summary_stats\":[");
        within.sums.wrap_leaves();
        self.summary_below(ROOT, &within);
        self.json.extend_from_slice(b"]}");
        self.hand_over()
    }

    /// Closes the profile, and returns the number of entries.
    pub(super) fn finish(mut self) -> Result<u64, Error> {
        self.json.extend_from_slice(b"}\n");
        self.flush();
        self.result.and_then(|()| self.out.flush()).map_err(Error::Write)?;
        Ok(self.n_entries)
    }

    fn total(&self, steps: &[u32]) -> i64 {
        let of_step = |&step: &u32| {
            let below = self.forest.below(step).map(|slice| self.forest.time[slice as usize]);
            let itself = if step == NONE { 0 } else { self.forest.self_time(step) };
            below.fold(itself, i64::saturating_add)
        };
        steps.iter().map(of_step).fold(0, i64::saturating_add)
    }

    /// Writes the children of a slice, and its own time. vLLM's plot of modules shows only entries whose children are
    /// all leaves, so leaves beside modules are wrapped in an extra entry; at the root it shows all.
    fn nodes_below(
        &mut self,
        above: u32,
        path: &str,
        sum: usize,
        depth: usize,
        within: &mut InPhase,
        is_first: &mut bool,
    ) -> Result<(), Error> {
        let forest = self.forest;
        let is_leaf = |slice: &u32| depth >= DEPTH_MAX || forest.below(*slice).len() == 0;
        let rest = if above == NONE { 0 } else { forest.self_time(above) };
        let (leaves, modules): (Vec<u32>, Vec<u32>) = forest.below(above).partition(is_leaf);
        if depth == 1 || modules.is_empty() || (leaves.is_empty() && rest == 0) {
            for slice in forest.below(above) {
                self.separate(is_first);
                self.node(slice, path, sum, depth, within)?;
            }
            self.rest(above, rest, path, sum, within, is_first);
            return Ok(());
        }
        for slice in modules {
            self.separate(is_first);
            self.node(slice, path, sum, depth, within)?;
        }
        self.separate(is_first);
        let time = leaves.iter().fold(rest, |time, &leaf| time.saturating_add(forest.time[leaf as usize]));
        let on_host = if forest.has_devices { 0 } else { time };
        self.entry(&format!("{}{SELF}", self.name(above)), on_host, time, "", within.total);
        self.json.extend_from_slice(b",\"children\":[");
        let mut is_first = true;
        for leaf in leaves {
            self.separate(&mut is_first);
            self.node(leaf, path, sum, depth, within)?;
        }
        self.rest(above, rest, path, sum, within, &mut is_first);
        self.json.extend_from_slice(b"]}");
        Ok(())
    }

    /// Writes the time of a slice that belongs to none of its children.
    fn rest(&mut self, above: u32, rest: i64, path: &str, sum: usize, within: &mut InPhase, is_first: &mut bool) {
        if rest == 0 {
            return;
        }
        let name = format!("{}{SELF}", self.name(above));
        self.separate(is_first);
        within.sums.add(sum, &name, false, rest);
        self.entry(&name, rest, rest, path, within.total);
        self.json.extend_from_slice(b",\"children\":[]}");
    }

    fn node(&mut self, slice: u32, path: &str, sum: usize, depth: usize, within: &mut InPhase) -> Result<(), Error> {
        let time = self.forest.time[slice as usize];
        let name = self.name(slice);
        let is_kernel = self.forest.roles[slice as usize] == Role::Kernel;
        let has_below = depth < DEPTH_MAX && self.forest.below(slice).len() > 0;
        let sum = within.sums.add(sum, &name, has_below, time);
        let on_host = if is_kernel { 0 } else { self.trace.slices.duration[slice as usize] };
        let called = self.full_name(slice);
        // Only leaves state their path, as in vLLM's own profiles.
        self.entry(&called, on_host, time, if has_below { "" } else { path }, within.total);
        self.json.extend_from_slice(b",\"children\":[");
        if has_below {
            let path = if path.is_empty() { called.into_owned() } else { format!("{called}{FROM}{path}") };
            self.nodes_below(slice, &path, sum, depth + 1, within, &mut true)?;
        }
        self.json.extend_from_slice(b"]}");
        self.hand_over()
    }

    /// Writes the begin of a node: its entry.
    fn entry(&mut self, name: &str, on_host: i64, time: i64, path: &str, total: i64) {
        self.n_entries += 1;
        self.json.extend_from_slice(b"{\"entry\":{\"name\":");
        push_text(&mut self.json, name);
        let (on_host, part, time) = (micros(on_host), percent(time, total), micros(time));
        self.push(format_args!(
            ",\"cpu_time_us\":{on_host:?},\"cuda_time_us\":{time:?},\"pct_cuda_time\":{part:?},\"trace\":"
        ));
        push_text(&mut self.json, path);
        self.json.push(b'}');
    }

    fn summary_below(&mut self, above: usize, within: &InPhase) {
        let mut below = within.sums.nodes[above].below.clone();
        // The longest first, as in vLLM's profiles.
        below.sort_by_key(|&place| std::cmp::Reverse(within.sums.nodes[place].time));
        for (n, place) in below.into_iter().enumerate() {
            let sum = &within.sums.nodes[place];
            self.json.extend_from_slice(if n > 0 { b",\n{\"entry\":{\"name\":" } else { b"\n{\"entry\":{\"name\":" });
            push_text(&mut self.json, within.sums.names.get(sum.name));
            let (time, part, n_invocations) = (micros(sum.time), percent(sum.time, within.total), sum.n_invocations);
            self.push(format_args!(
                ",\"cuda_time_us\":{time:?},\"pct_cuda_time\":{part:?},\"invocations\":{n_invocations}}},\"children\":["
            ));
            self.summary_below(place, within);
            self.json.extend_from_slice(b"]}");
        }
    }

    /// Returns the name by which similar slices are summed up.
    fn name(&self, slice: u32) -> Cow<'a, str> {
        let name = self.trace.strings.get(self.trace.slices.name[slice as usize]);
        if name.strip_prefix(layer::NAME).is_some_and(|rest| rest.trim_start().parse::<u64>().is_ok()) {
            return layer::NAME.into();
        }
        match name.strip_prefix(MODULE_PREFIX) {
            Some(module) => {
                module.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches('_').into()
            }
            None => name.into(),
        }
    }

    /// Returns the full name of a slice: layers with their numbers, modules with the numbers that torch gave them.
    fn full_name(&self, slice: u32) -> Cow<'a, str> {
        let name = self.trace.strings.get(self.trace.slices.name[slice as usize]);
        let layer = || self.layers?.of(self.trace.slices.order[slice as usize]);
        match layer().filter(|_| name == layer::NAME) {
            Some(number) => format!("{name} {}", number.content(&self.trace.strings)).into(),
            None => name.strip_prefix(MODULE_PREFIX).unwrap_or(name).into(),
        }
    }

    fn separate(&mut self, is_first: &mut bool) {
        self.json.extend_from_slice(if std::mem::take(is_first) { b"\n" } else { b",\n" });
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let mut spelled = String::new();
        let _ = spelled.write_fmt(text);
        self.json.extend_from_slice(spelled.as_bytes());
    }

    fn hand_over(&mut self) -> Result<(), Error> {
        if self.json.len() >= BUFFER_BYTES {
            self.flush();
        }
        std::mem::replace(&mut self.result, Ok(())).map_err(Error::Write)
    }

    fn flush(&mut self) {
        if self.result.is_ok() {
            self.result = self.out.write_all(&self.json);
        }
        self.json.clear();
    }
}

/// Returns a number as JSON, or `null`.
fn or_null(number: Option<u64>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}

fn micros(nanos: i64) -> f64 {
    nanos as f64 / 1000.0
}

/// Returns a percentage; zero if `whole` is zero.
fn percent(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}
