//! vLLM's layerwise profiles: the output is validated against the schema, and read back.

use crate::with_text;
use ferrum_trace_analyze::convert::{Error, LayerwiseOptions, Summary, layerwise};
use ferrum_trace_analyze::{GroupBy, Nesting, Selected, SummaryOptions, summarize};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Entry of `model_stats` as vLLM's tools parse it: they raise an error for any additional or missing field.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelEntry {
    name: String,
    cpu_time_us: f64,
    cuda_time_us: f64,
    pct_cuda_time: f64,
    trace: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SummaryEntry {
    name: String,
    cuda_time_us: f64,
    pct_cuda_time: f64,
    invocations: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Node<E> {
    entry: E,
    children: Vec<Node<E>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    num_running_seqs: Option<u64>,
    /// Our extension: the trace has nothing of this phase.
    #[serde(default)]
    missing: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Phase {
    metadata: Metadata,
    summary_stats: Vec<Node<SummaryEntry>>,
    model_stats: Vec<Node<ModelEntry>>,
}

struct Profile {
    context: Value,
    phases: BTreeMap<String, Phase>,
}

/// Reads a profile as strictly as vLLM's tools do.
fn read_strictly(json: &[u8]) -> Profile {
    assert!(json.starts_with(b"{\"context\":"), "the plot requires `context` first");
    let mut fields: BTreeMap<String, Value> = serde_json::from_slice(json).unwrap();
    let context = fields.remove("context").unwrap();
    assert!(
        context["engine_args"]["model"].is_string() && context["batch_size"].is_u64() && context["num_steps"].is_u64()
    );
    for number in [&context["engine_args"]["tensor_parallel_size"], &context["prompt_len"]] {
        assert!(number.is_u64() || number.is_null(), "{context}");
    }
    assert!(fields.keys().all(|key| key == "prefill" || key.starts_with("decode_")));
    // Times are spelled as floats, as Python writes them.
    let spelled = String::from_utf8_lossy(json);
    for part in spelled.split("_time_us\":").skip(1).chain(spelled.split("pct_cuda_time\":").skip(1)) {
        let number = part.split([',', '}']).next().unwrap();
        assert!(number.contains(['.', 'e']), "{number}");
    }
    let n_with = |word: &str| fields.keys().filter(|key| key.contains(word)).count();
    assert!(n_with("prefill") == 1 && n_with("decode") > 0, "the plot requires both phases");
    let phases = fields.into_iter().map(|(name, phase)| (name, serde_json::from_value(phase).unwrap())).collect();
    let profile = Profile { context, phases };
    for phase in profile.phases.values() {
        phase.check();
    }
    profile
}

/// Panics unless vLLM's tools would accept a profile.
pub(crate) fn assert_strict(json: &[u8]) {
    read_strictly(json);
}

impl Phase {
    fn check(&self) {
        assert!(!self.model_stats.is_empty() && !self.summary_stats.is_empty());
        let total = |times: &mut dyn Iterator<Item = f64>| times.sum::<f64>();
        let model = total(&mut self.model_stats.iter().map(|node| node.entry.cuda_time_us));
        let summary = total(&mut self.summary_stats.iter().map(|node| node.entry.cuda_time_us));
        let part = total(&mut self.summary_stats.iter().map(|node| node.entry.pct_cuda_time));
        assert!(close(model, summary) && (close(part, 100.0) || model == 0.0), "{model} {summary} {part}");
        assert!(
            self.summary_stats.iter().all(is_shown) && self.model_stats.iter().all(is_shown),
            "the plot omits entries"
        );
        self.model_stats.iter().for_each(|node| sums_up(node, &|entry: &ModelEntry| entry.cuda_time_us));
        self.summary_stats.iter().for_each(|node| sums_up(node, &|entry: &SummaryEntry| entry.cuda_time_us));
    }

    /// The tree of modules, one line each: depth, name and time.
    fn spelled(&self) -> String {
        fn spell(node: &Node<ModelEntry>, depth: usize, out: &mut String) {
            let ModelEntry { name, cpu_time_us, cuda_time_us, pct_cuda_time, trace } = &node.entry;
            let trace = if trace.is_empty() { String::new() } else { format!(" from {trace}") };
            *out +=
                &format!("{}{name} {cuda_time_us} {pct_cuda_time:.0}% cpu {cpu_time_us}{trace}\n", "  ".repeat(depth));
            node.children.iter().for_each(|child| spell(child, depth + 1, out));
        }
        let mut out = String::new();
        self.model_stats.iter().for_each(|node| spell(node, 0, &mut out));
        out
    }

    fn spelled_summary(&self) -> String {
        fn spell(node: &Node<SummaryEntry>, depth: usize, out: &mut String) {
            let SummaryEntry { name, cuda_time_us, pct_cuda_time, invocations } = &node.entry;
            *out += &format!("{}{name} {cuda_time_us} {pct_cuda_time:.0}% x{invocations}\n", "  ".repeat(depth));
            node.children.iter().for_each(|child| spell(child, depth + 1, out));
        }
        let mut out = String::new();
        self.summary_stats.iter().for_each(|node| spell(node, 0, &mut out));
        out
    }
}

/// Returns true if the plot of modules, which shows modules with nothing but leaves below them, contains all of a tree.
fn is_shown<E>(node: &Node<E>) -> bool {
    let is_leaf = |node: &Node<E>| node.children.is_empty();
    node.children.iter().all(is_leaf) || node.children.iter().all(|child| !is_leaf(child) && is_shown(child))
}

/// Checks that every node with children has the sum of their times.
fn sums_up<E>(node: &Node<E>, time: &dyn Fn(&E) -> f64) {
    let inside: f64 = node.children.iter().map(|child| time(&child.entry)).sum();
    assert!(node.children.is_empty() || close(inside, time(&node.entry)));
    node.children.iter().for_each(|child| sums_up(child, time));
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6 * one.abs().max(1.0)
}

fn written(json: &str) -> (Vec<u8>, Summary) {
    let mut out = Vec::new();
    let options = LayerwiseOptions { model: "a model".to_owned() };
    let summary = with_text(json, |open| layerwise(open, &mut out, &options)).unwrap();
    (out, summary)
}

/// A prefill and a decode step of a model with two layers, on the host alone.
const HOST: &str = r#"[
{"ph":"X","name":"prefill","cat":"step","pid":1,"tid":1,"ts":0,"dur":100,"args":{"phase":"prefill","batch":2,"prefill_tokens":64}},
{"ph":"X","name":"layer","cat":"layer","pid":1,"tid":1,"ts":10,"dur":40,"args":{"layer":0}},
{"ph":"X","name":"qkv","cat":"gemm","pid":1,"tid":1,"ts":10,"dur":30},
{"ph":"X","name":"layer","cat":"layer","pid":1,"tid":1,"ts":50,"dur":40,"args":{"layer":1}},
{"ph":"X","name":"qkv","cat":"gemm","pid":1,"tid":1,"ts":50,"dur":40},
{"ph":"X","name":"decode","cat":"step","pid":1,"tid":1,"ts":200,"dur":10,"args":{"phase":"decode","batch":2}},
{"ph":"X","name":"layer","cat":"layer","pid":1,"tid":1,"ts":200,"dur":10,"args":{"layer":0}},
{"ph":"X","name":"decode","cat":"step","pid":1,"tid":1,"ts":300,"dur":10,"args":{"phase":"decode","batch":1}},
{"ph":"X","name":"sampling","cat":"sampling","pid":1,"tid":2,"ts":301,"dur":4},
{"ph":"X","name":"idle","cat":"scheduler","pid":1,"tid":1,"ts":150,"dur":5},
{"ph":"X","name":"loop","cat":"scheduler","pid":1,"tid":1,"ts":0,"dur":400}]"#;

#[test]
fn without_devices_the_time_is_that_of_the_host() {
    let (json, summary) = written(HOST);
    let profile = read_strictly(&json);
    let expected = "\
layer 0 40 40% cpu 40
  qkv 30 30% cpu 30 from layer 0
  layer (self) 10 10% cpu 10 from layer 0
layer 1 40 40% cpu 40
  qkv 40 40% cpu 40 from layer 1
prefill (self) 20 20% cpu 20
";
    assert_eq!(profile.phases["prefill"].spelled(), expected);
    let expected = "\
layer 80 80% x2
  qkv 70 70% x2
  layer (self) 10 10% x1
prefill (self) 20 20% x1
";
    assert_eq!(profile.phases["prefill"].spelled_summary(), expected);
    assert_eq!(profile.phases["decode_1"].spelled(), "layer 0 10 100% cpu 10\n");
    assert_eq!(profile.phases["decode_2"].spelled(), "sampling 4 29% cpu 4\ndecode (self) 10 71% cpu 10\n");
    assert_eq!(profile.phases["decode_2"].metadata.num_running_seqs, Some(1));
    let context = &profile.context;
    assert_eq!(
        (&context["prompt_len"], &context["batch_size"], &context["num_steps"]),
        (&32.into(), &2.into(), &3.into())
    );
    assert_eq!((summary.left.outside_steps, summary.has_no_steps, profile.phases.len()), (2, false, 3));
}

/// The same engine with a stream: the times are device times, independent of the time on the host.
const DEVICE: &str = r#"[
{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / stream 7"}},
{"ph":"X","name":"decode","cat":"step","pid":1,"tid":1,"ts":0,"dur":10,"args":{"phase":"decode","batch":1}},
{"ph":"X","name":"layer","cat":"layer","pid":1,"tid":1,"ts":1,"dur":4,"args":{"layer":0}},
{"ph":"s","name":"flow","cat":"flow","id":1,"pid":1,"tid":1,"ts":2},
{"ph":"X","name":"layer","cat":"layer","pid":1,"tid":1,"ts":6,"dur":3,"args":{"layer":1}},
{"ph":"s","name":"flow","cat":"flow","id":2,"pid":1,"tid":1,"ts":7},
{"ph":"X","name":"prefill","cat":"step","pid":1,"tid":1,"ts":20,"dur":10,"args":{"phase":"mixed","batch":3}},
{"ph":"X","name":"gemm","cat":"gemm","pid":1,"tid":9,"ts":5,"dur":20},
{"ph":"f","bp":"e","name":"flow","cat":"flow","id":1,"pid":1,"tid":9,"ts":5},
{"ph":"X","name":"group","cat":"layer","pid":1,"tid":9,"ts":40,"dur":30},
{"ph":"f","bp":"e","name":"flow","cat":"flow","id":2,"pid":1,"tid":9,"ts":40},
{"ph":"X","name":"gemm","cat":"gemm","pid":1,"tid":9,"ts":40,"dur":10},
{"ph":"X","name":"softmax","cat":"attention","pid":1,"tid":9,"ts":50,"dur":15},
{"ph":"X","name":"late","cat":"gemm","pid":1,"tid":9,"ts":26,"dur":5},
{"ph":"X","name":"nowhere","cat":"gemm","pid":1,"tid":9,"ts":90,"dur":5}]"#;

#[test]
fn kernels_are_below_the_module_that_launched_them() {
    let (json, summary) = written(DEVICE);
    let profile = read_strictly(&json);
    let expected = "\
layer 0 20 44% cpu 4
  gemm 20 44% cpu 0 from layer 0
layer 1 25 56% cpu 3
  gemm 10 22% cpu 0 from layer 1
  softmax 15 33% cpu 0 from layer 1
";
    assert_eq!(profile.phases["decode_1"].spelled(), expected);
    assert_eq!(profile.phases["prefill"].spelled(), "late 5 100% cpu 0\n");
    assert_eq!(summary.left.outside_steps, 1);
}

#[test]
fn modules_of_torch_are_modules_and_calls_join_their_kernels() {
    let json = r#"[
{"ph":"X","cat":"user_annotation","name":"execute_context_0(0)_generation_2(2)","pid":5,"tid":5,"ts":0,"dur":50},
{"ph":"X","cat":"gpu_user_annotation","name":"execute_context_0(0)_generation_2(2)","pid":0,"tid":7,"ts":30,"dur":50},
{"ph":"X","cat":"python_function","name":"nn.Module: Model_0","pid":5,"tid":5,"ts":1,"dur":40},
{"ph":"X","cat":"python_function","name":"layer.py(3): forward","pid":5,"tid":5,"ts":2,"dur":30},
{"ph":"X","cat":"python_function","name":"nn.Module: DecoderLayer_0","pid":5,"tid":5,"ts":3,"dur":10},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":5,"tid":5,"ts":4,"dur":8},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":5,"ts":5,"dur":1,"args":{"correlation":1}},
{"ph":"X","cat":"python_function","name":"nn.Module: DecoderLayer_1","pid":5,"tid":5,"ts":15,"dur":10},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":5,"ts":16,"dur":1,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":60,"dur":3,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":70,"dur":7,"args":{"correlation":2}}]"#;
    let profile = read_strictly(&written(json).0);
    let expected = "\
Model_0 10 100% cpu 40
  DecoderLayer_0 3 30% cpu 10
    gemm 3 30% cpu 0 from DecoderLayer_0 <- Model_0
  DecoderLayer_1 7 70% cpu 10
    gemm 7 70% cpu 0 from DecoderLayer_1 <- Model_0
";
    assert_eq!(profile.phases["decode_1"].spelled(), expected);
    let expected = "Model 10 100% x1\n  DecoderLayer 10 100% x2\n    gemm 10 100% x2\n";
    assert_eq!(profile.phases["decode_1"].spelled_summary(), expected);
    assert_eq!(profile.phases.len(), 2);
    assert!(profile.phases["prefill"].metadata.missing);
}

/// A layer with kernels beside those of its modules, and a layer with kernels only.
const BESIDE: &str = r#"[
{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / stream 7"}},
{"ph":"X","name":"prefill","cat":"step","pid":1,"tid":1,"ts":0,"dur":90,"args":{"phase":"prefill"}},
{"ph":"X","name":"layer","cat":"layer","pid":1,"tid":1,"ts":1,"dur":50,"args":{"layer":0}},
{"ph":"X","name":"attn","cat":"attention","pid":1,"tid":1,"ts":10,"dur":10},
{"ph":"X","name":"layer","cat":"layer","pid":1,"tid":1,"ts":60,"dur":20,"args":{"layer":1}},
{"ph":"s","name":"flow","cat":"flow","id":1,"pid":1,"tid":1,"ts":5},
{"ph":"s","name":"flow","cat":"flow","id":2,"pid":1,"tid":1,"ts":15},
{"ph":"s","name":"flow","cat":"flow","id":3,"pid":1,"tid":1,"ts":70},
{"ph":"X","name":"copy","cat":"memory","pid":1,"tid":9,"ts":100,"dur":96},
{"ph":"f","bp":"e","name":"flow","cat":"flow","id":1,"pid":1,"tid":9,"ts":100},
{"ph":"X","name":"softmax","cat":"attention","pid":1,"tid":9,"ts":200,"dur":4},
{"ph":"f","bp":"e","name":"flow","cat":"flow","id":2,"pid":1,"tid":9,"ts":200},
{"ph":"X","name":"copy","cat":"memory","pid":1,"tid":9,"ts":300,"dur":100},
{"ph":"f","bp":"e","name":"flow","cat":"flow","id":3,"pid":1,"tid":9,"ts":300}]"#;

#[test]
fn kernels_beside_modules_are_in_an_extra_entry() {
    let (json, _) = written(BESIDE);
    let profile = read_strictly(&json);
    let expected = "\
layer 0 100 50% cpu 50
  attn 4 2% cpu 10
    softmax 4 2% cpu 0 from attn <- layer 0
  layer (self) 96 48% cpu 0
    copy 96 48% cpu 0 from layer 0
layer 1 100 50% cpu 20
  copy 100 50% cpu 0 from layer 1
";
    assert_eq!(profile.phases["prefill"].spelled(), expected);
    let expected = "\
layer 200 100% x2
  layer (self) 196 98% x2
    copy 196 98% x2
  attn 4 2% x1
    softmax 4 2% x1
";
    assert_eq!(profile.phases["prefill"].spelled_summary(), expected);
    // The extra entry is not a module: the reader finds the kernels in the layer.
    assert!(!rows(&json).contains_key("layer (self)"));
}

#[test]
fn a_missing_phase_takes_no_time_and_is_not_read_back() {
    let (json, summary) = written(BESIDE);
    assert_eq!(summary.missing_phase, Some(ferrum_trace_model::vocab::Phase::Decode));
    let profile = read_strictly(&json);
    assert_eq!(profile.phases["decode_1"].spelled(), "no decode in the trace 0 0% cpu 0\n");
    assert_eq!(profile.context["num_steps"], 1);
    assert!(profile.phases["decode_1"].metadata.missing && !profile.phases["prefill"].metadata.missing);
    assert!(!rows(&json).contains_key("decode_1"));
    assert_eq!(written(DEVICE).1.missing_phase, None);
}

#[test]
fn unknown_properties_of_the_run_are_null() {
    let (json, summary) = written(BESIDE);
    let context = read_strictly(&json).context;
    assert!(context["prompt_len"].is_null() && summary.has_unknown_prompts);
    assert!(context["engine_args"]["tensor_parallel_size"] == 1 && !summary.has_unknown_devices);
    let (json, summary) = written(HOST);
    let context = read_strictly(&json).context;
    assert!(context["prompt_len"] == 32 && !summary.has_unknown_prompts);
    assert!(context["engine_args"]["tensor_parallel_size"].is_null() && summary.has_unknown_devices);
}

#[test]
fn a_trace_without_steps_is_one_step_and_without_slices_is_refused() {
    let (json, summary) = written(r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":5}]"#);
    assert_eq!(read_strictly(&json).phases["prefill"].spelled(), "a 5 100% cpu 5\n");
    assert!(summary.has_no_steps);
    let refused = with_text("[]", |open| layerwise(open, &mut Vec::new(), &LayerwiseOptions::default()));
    assert!(matches!(refused, Err(Error::Nothing(_))));
}

#[test]
fn a_tree_is_not_deeper_than_readers_accept() {
    let slice = |n: usize| format!(r#"{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{n},"dur":{}}}"#, 2000 - 2 * n);
    let slices: Vec<String> = (0..900).map(slice).collect();
    let profile = read_strictly(&written(&format!("[{}]", slices.join(","))).0);
    assert_eq!(profile.phases["prefill"].model_stats[0].entry.cuda_time_us, 2000.0);
}

/// Returns count and total of all slices by name.
fn rows(json: &[u8]) -> BTreeMap<String, (u64, i64)> {
    let opened = open(std::io::Cursor::new(json.to_vec())).unwrap();
    let trace = load(opened, &LoadOptions::default()).unwrap().trace;
    let options = SummaryOptions { by: vec![GroupBy::Name], ..SummaryOptions::default() };
    let summary = summarize(&trace, &Nesting::of(&trace), &Selected::all(&trace), &options);
    let name = |row: &ferrum_trace_analyze::Row| trace.strings.get(row.key.name.unwrap()).to_owned();
    summary.rows.iter().map(|row| (name(row), (row.count, row.total))).collect()
}

#[test]
fn a_profile_is_read_back_and_written_the_same_again() {
    for trace in [HOST, DEVICE, BESIDE] {
        let (json, _) = written(trace);
        let found = rows(&json);
        for (name, phase) in read_strictly(&json).phases.iter().filter(|(_, phase)| !phase.metadata.missing) {
            let total: f64 = phase.model_stats.iter().map(|node| node.entry.cuda_time_us).sum();
            assert_eq!(found[name], (1, (total * 1000.0).round() as i64), "{name}");
        }
        let read = String::from_utf8(json).unwrap();
        let (again, _) = written_from_profile(&read);
        let (first, second) = (read_strictly(read.as_bytes()), read_strictly(&again));
        for (name, phase) in &first.phases {
            assert_eq!(phase.spelled_summary(), second.phases[name].spelled_summary(), "{name}");
        }
    }
}

fn written_from_profile(profile: &str) -> (Vec<u8>, Summary) {
    let bytes = profile.as_bytes().to_vec();
    let reopen = move || {
        let opened = open(std::io::Cursor::new(bytes.clone()))?;
        Ok(Box::new(opened) as Box<dyn std::io::Read + Send>)
    };
    let mut out = Vec::new();
    let summary = layerwise(&reopen, &mut out, &LayerwiseOptions::default()).unwrap();
    (out, summary)
}

/// A kernel may have the name of a module beside it, and a module may have nothing below it once.
#[test]
fn an_entry_with_children_has_their_time_even_if_names_collide() {
    let events = r#"[{"ph":"X","name":"mlp","cat":"act","ts":0,"dur":9,"pid":1,"tid":1},
        {"ph":"X","name":"up","cat":"gemm","ts":1,"dur":4,"pid":1,"tid":1},
        {"ph":"X","name":"mlp","cat":"act","ts":10,"dur":5,"pid":1,"tid":1}]"#;
    let mut profile = Vec::new();
    with_text(events, |open| layerwise(open, &mut profile, &LayerwiseOptions::default())).unwrap();
    assert_strict(&profile);
}
