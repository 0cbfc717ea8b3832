//! The profile as JSON.

use super::super::Error;
use super::forest::{DEPTH_MAX, Forest};
use super::phases::{ProfilePhase, Steps};
use super::roles::{MODULE_PREFIX, NONE, Role};
use super::{LAYER_ARG, LayerwiseOptions};
use ferrum_trace_format::chrome::push_text;
use ferrum_trace_model::vocab::{Phase, layer};
use ferrum_trace_model::{ArgColumn, StringId, Strings, Trace};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;

/// How much is written at once.
const BUFFER_BYTES: usize = 256 << 10;
/// What the time of a slice is called in which others lie, as far as it is in none of them.
const SELF: &str = " (self)";
/// What stands between a kernel and what launched it.
const FROM: &str = " <- ";

/// A profile that is being written.
pub struct Writer<'a> {
    out: &'a mut dyn Write,
    json: Vec<u8>,
    trace: &'a Trace,
    forest: &'a Forest,
    layers: Option<&'a ArgColumn>,
    n_entries: u64,
    result: std::io::Result<()>,
}

/// What is true of a phase while its trees are written.
struct InPhase {
    total: i64,
    sums: Sums,
}

/// Entries with the same names above them, summed up.
struct Sums {
    names: Strings,
    nodes: Vec<Sum>,
    /// By what they stand below, their names, and whether anything stands below them: an entry with entries below it has just their time.
    places: HashMap<(usize, StringId, bool), usize>,
}

#[derive(Default)]
struct Sum {
    name: StringId,
    time: i64,
    n_invocations: u64,
    below: Vec<usize>,
}

/// What all names stand below.
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
}

impl<'a> Writer<'a> {
    /// Begins a profile.
    pub fn new(out: &'a mut dyn Write, trace: &'a Trace, forest: &'a Forest) -> Self {
        let layers = trace.args.iter().find(|column| column.key == LAYER_ARG);
        Self { out, json: Vec::new(), trace, forest, layers, n_entries: 0, result: Ok(()) }
    }

    /// Writes what the profile is of. vLLM's tools want it first.
    pub fn context(&mut self, options: &LayerwiseOptions, steps: &Steps, phases: &[ProfilePhase]) {
        let prompts = steps.list.iter().filter(|step| step.phase == Phase::Prefill);
        let known = prompts.filter_map(|step| Some((step.prefill_tokens?, step.batch?)));
        let (n_tokens, n_prompts) = known.fold((0_u64, 0_u64), |(tokens, prompts), (more, batch)| {
            (tokens.saturating_add(more), prompts.saturating_add(batch))
        });
        let batch = steps.list.iter().filter_map(|step| step.batch).max().unwrap_or(1);
        let n_decodes = phases.iter().filter(|phase| phase.name.starts_with(Phase::Decode.as_str())).count();
        self.json.extend_from_slice(b"{\"context\":{\"engine_args\":{\"model\":");
        push_text(&mut self.json, &options.model);
        self.push(format_args!(
            ",\"tensor_parallel_size\":1}},\"prompt_len\":{},\"batch_size\":{batch},\"output_len\":{n_decodes},\
             \"num_steps\":{},\"complete_num_requests_per_step\":null}}",
            n_tokens.checked_div(n_prompts).unwrap_or(0),
            phases.len(),
        ));
    }

    /// Writes a phase: every module and kernel by itself, then those of the same names together.
    pub fn phase(&mut self, phase: &ProfilePhase, steps: &Steps) -> Result<(), Error> {
        let slices = phase.slices(steps);
        let batch = phase.steps.iter().filter_map(|&place| steps.list[place].batch).max();
        let mut within = InPhase { total: self.total(&slices), sums: Sums::new() };
        self.json.extend_from_slice(b",\n");
        push_text(&mut self.json, &phase.name);
        let batch = batch.map_or_else(|| "null".to_owned(), |batch| batch.to_string());
        self.push(format_args!(":{{\"metadata\":{{\"num_running_seqs\":{batch}}},\n\"model_stats\":["));
        let mut is_first = true;
        for &step in &slices {
            self.nodes_below(step, "", ROOT, 1, &mut within, &mut is_first)?;
        }
        self.json.extend_from_slice(b"],\n\"summary_stats\":[");
        self.summary_below(ROOT, &within);
        self.json.extend_from_slice(b"]}");
        self.hand_over()
    }

    /// Closes the profile, and tells how many entries it has.
    pub fn finish(mut self) -> Result<u64, Error> {
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

    /// Writes what stands below a slice, and the time that is its own.
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
        for slice in forest.below(above) {
            self.separate(is_first);
            self.node(slice, path, sum, depth, within)?;
        }
        let rest = if above == NONE { 0 } else { forest.self_time(above) };
        if rest > 0 {
            let name = format!("{}{SELF}", self.name(above));
            self.separate(is_first);
            within.sums.add(sum, &name, false, rest);
            self.entry(&name, rest, rest, path, within.total);
            self.json.extend_from_slice(b",\"children\":[]}");
        }
        Ok(())
    }

    fn node(&mut self, slice: u32, path: &str, sum: usize, depth: usize, within: &mut InPhase) -> Result<(), Error> {
        let time = self.forest.time[slice as usize];
        let name = self.name(slice);
        let is_kernel = self.forest.roles[slice as usize] == Role::Kernel;
        let has_below = depth < DEPTH_MAX && self.forest.below(slice).len() > 0;
        let sum = within.sums.add(sum, &name, has_below, time);
        let on_host = if is_kernel { 0 } else { self.trace.slices.duration[slice as usize] };
        let called = self.full_name(slice);
        // Only what has nothing below it tells where it comes from, as in vLLM's own profiles.
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
        // The longest first, as vLLM has it.
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

    /// What slices of the same kind are called, to be summed up.
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

    /// What a slice is called by itself: layers with their numbers, modules with those that torch gave them.
    fn full_name(&self, slice: u32) -> Cow<'a, str> {
        let name = self.trace.strings.get(self.trace.slices.name[slice as usize]);
        let layer = || self.layers?.of(self.trace.slices.order[slice as usize]);
        match layer().filter(|_| name == layer::NAME) {
            Some(number) => format!("{name} {}", self.trace.strings.get(number)).into(),
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

fn micros(nanos: i64) -> f64 {
    nanos as f64 / 1000.0
}

/// A part of a whole, in percent; of nothing, nothing.
fn percent(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}
