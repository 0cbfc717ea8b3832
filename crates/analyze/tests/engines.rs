//! Profiles of engines, and comparisons of two of them.

use ferrum_trace_analyze::{
    EngineComparison, EngineConcern, EngineProfile, LayerEvidence, Nesting, PhaseComparison, RowSubject, Rules, Side,
    TimedOn, compare_engines, profile, profile_args,
};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_model::vocab::Phase;
use std::fmt::Write as _;

fn profile_of(events: &str, rules: &Rules) -> EngineProfile {
    let options = LoadOptions { args: profile_args(), ..LoadOptions::default() };
    let json = format!("[{}]", events.trim_end().trim_end_matches(','));
    let trace = load(std::io::Cursor::new(json.into_bytes()), &options).unwrap().trace;
    profile(&trace, &Nesting::of(&trace), rules, false)
}

/// Kernels of a layer of the engine with a device: name and microseconds.
const KERNELS: [(&str, u32); 3] = [("nvjet_tst_64x64", 30), ("flash_fwd_kernel", 10), ("reshape_and_cache_flash", 5)];

/// Decode steps of vLLM with these kernels in each layer, and one kernel whose name says nothing: `aten::mm` launches
/// it within the function that computes logits.
fn vllm(n_steps: u32, batch: u32, n_layers: u32) -> String {
    let mut events = String::new();
    for step in 0..n_steps {
        let at = step * 10_000;
        let slice = |name: &str, category: &str, start: u32, length: u32, args: &str| {
            format!(
                r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":9,"tid":9,"ts":{start},"dur":{length},"args":{{{args}}}}},"#
            )
        };
        let mark = format!("execute_context_0(0)_generation_{batch}({batch})");
        events += &slice(&mark, "user_annotation", at, 90, "");
        events += &slice("cudaGraphLaunch", "cuda_runtime", at + 1, 5, &format!(r#""correlation":{}"#, at + 1));
        events += &slice("llama.py(7): compute_logits", "python_function", at + 10, 30, "");
        events += &slice("aten::mm", "cpu_op", at + 11, 20, "");
        events += &slice("cudaLaunchKernel", "cuda_runtime", at + 12, 5, &format!(r#""correlation":{}"#, at + 2));
        let mut start = at + 100;
        for (name, length) in (0..n_layers).flat_map(|_| KERNELS) {
            let _ = write!(
                events,
                r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{start},"dur":{length},"args":{{"correlation":{}}}}},"#,
                at + 1
            );
            start += length;
        }
        let _ = write!(
            events,
            r#"{{"ph":"X","cat":"kernel","name":"kernel_7","pid":0,"tid":7,"ts":{start},"dur":50,"args":{{"correlation":{}}}}},"#,
            at + 2
        );
    }
    events
}

/// Decode steps of an engine on a CPU with two operations in each layer, and an output head.
fn ours(n_steps: u32, batch: u32, n_layers: u32) -> String {
    let mut events = String::new();
    let mut push = |name: &str, category: &str, start: u32, length: u32, args: &str| {
        let _ = write!(
            events,
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":1,"ts":{start},"dur":{length},"args":{{{args}}}}},"#
        );
    };
    for step in 0..n_steps {
        let at = step * 10_000;
        let length = n_layers * 100 + 80;
        let args = format!(r#""phase":"decode","batch":{batch},"prefill_tokens":0,"decode_tokens":{batch}"#);
        push("decode", "step", at, length, &args);
        for layer in 0..n_layers {
            let start = at + layer * 100;
            push("layer", "layer", start, 100, &format!(r#""layer":{layer}"#));
            push("qkv", "gemm", start, 70, "");
            push("attention", "attention", start + 70, 28, "");
        }
        push("lm_head", "gemm", at + length - 80, 80, "");
    }
    events
}

/// Times of a row per token, in microseconds, then its ratios per step and per token.
type Row = (Option<f64>, Option<f64>, Option<f64>, Option<f64>);

/// Returns a row of a phase.
fn row(phase: &PhaseComparison, subject: RowSubject) -> Row {
    let row = phase.rows.iter().find(|row| row.subject == subject).unwrap();
    let per_token = row.figures.map(|figures| figures.and_then(|it| it.per_token).map(|ns| ns / 1000.0));
    (per_token.base, per_token.new, row.step_ratio, row.token_ratio)
}

fn compare(base: &str, new: &str) -> (Rules, EngineComparison) {
    let rules = Rules::built_in();
    let comparison = compare_engines(&profile_of(base, &rules), &profile_of(new, &rules));
    (rules, comparison)
}

fn codes(comparison: &EngineComparison) -> Vec<&'static str> {
    comparison.concerns.iter().map(EngineConcern::code).collect()
}

#[test]
fn a_profile_has_device_time_by_phase_and_class() {
    let rules = Rules::built_in();
    let profile = profile_of(&vllm(2, 4, 3), &rules);
    assert_eq!((profile.timed_on, profile.n_devices), (TimedOn::Device, 1));
    let layers = profile.layers.unwrap();
    assert_eq!((layers.n, layers.evidence), (3, LayerEvidence::CacheKernels));
    let [decode] = &profile.phases[..] else { panic!("{:?}", profile.phases) };
    assert_eq!((decode.phase, decode.n_steps, decode.tokens()), (Some(Phase::Decode), 2, Some(8)));
    let time = |class: &str| decode.times.get(rules.class(class).unwrap()).map(|it| (it.count, it.total));
    assert_eq!(time("gemm"), Some((6, 180_000)));
    assert_eq!(time("lm_head"), Some((2, 100_000)), "a name that says nothing has the class of its operation");
    assert_eq!(time("attention"), Some((6, 60_000)));
    assert_eq!(time("kv_cache"), Some((6, 30_000)));
    assert_eq!(decode.device_busy, 370_000);
    assert_eq!(decode.times.unnamed_sum(), (0, 0));
}

#[test]
fn a_profile_of_a_cpu_has_self_times_of_the_host() {
    let rules = Rules::built_in();
    let profile = profile_of(&ours(1, 4, 3), &rules);
    assert_eq!((profile.timed_on, profile.layers.map(|it| it.n)), (TimedOn::Host, Some(3)));
    let times = &profile.phases[0].times;
    let time = |class: &str| times.get(rules.class(class).unwrap()).map(|it| it.total);
    assert_eq!([time("gemm"), time("lm_head"), time("attention")], [210_000, 80_000, 84_000].map(Some));
    assert_eq!((times.unnamed[0].name.as_str(), times.unnamed_sum()), ("layer", (3, 6_000)));
}

#[test]
fn equal_batches_have_ratios_per_step_and_per_token() {
    let slower = vllm(3, 4, 3).replace(r#""dur":30,"args":{"correlation"#, r#""dur":60,"args":{"correlation"#);
    let (rules, comparison) = compare(&vllm(2, 4, 3), &slower);
    assert_eq!(codes(&comparison), [""; 0]);
    let [decode] = &comparison.phases[..] else { panic!("{:?}", comparison.phases) };
    let gemm = row(decode, RowSubject::Class(rules.class("gemm").unwrap()));
    // Three products of 30, then of 60, in a step of 4 tokens.
    assert_eq!(gemm, (Some(22.5), Some(45.0), Some(2.0), Some(2.0)));
    let attention = row(decode, RowSubject::Class(rules.class("attention").unwrap()));
    assert_eq!((attention.2, attention.3), (Some(1.0), Some(1.0)));
}

#[test]
fn different_models_are_not_divided() {
    let (_, comparison) = compare(&vllm(2, 4, 3), &vllm(2, 4, 5));
    assert_eq!(codes(&comparison), ["layers"]);
    let rows = &comparison.phases[0].rows;
    assert!(rows.iter().all(|row| row.step_ratio.is_none() && row.token_ratio.is_none()), "{rows:?}");
    let per_layer = rows[0].figures.map(|figures| figures.and_then(|it| it.per_layer).is_some());
    assert!(per_layer.base && per_layer.new);
}

#[test]
fn different_batches_have_ratios_per_token_only() {
    let (_, comparison) = compare(&vllm(2, 4, 3), &vllm(2, 8, 3));
    assert_eq!(codes(&comparison), ["batch"]);
    let step = row(&comparison.phases[0], RowSubject::Step);
    assert_eq!((step.2, step.3), (None, Some(0.5)));
}

#[test]
fn times_of_a_device_and_of_a_host_are_not_divided() {
    let (rules, comparison) = compare(&ours(2, 4, 3), &vllm(2, 4, 3));
    assert_eq!(codes(&comparison), ["timed-on"]);
    let gemm = row(&comparison.phases[0], RowSubject::Class(rules.class("gemm").unwrap()));
    assert_eq!((gemm.2, gemm.3), (None, None));
    assert!(row(&comparison.phases[0], RowSubject::Step).3.is_some(), "durations of steps are comparable");
}

#[test]
fn a_trace_without_steps_is_one_unit() {
    let kernels = r#"{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":0,"dur":10}"#;
    let (rules, comparison) = compare(kernels, &kernels.replace("10", "20"));
    assert_eq!(codes(&comparison)[0], "no-steps");
    let gemm = row(&comparison.phases[0], RowSubject::Class(rules.class("gemm").unwrap()));
    assert_eq!(gemm, (None, None, Some(2.0), None), "as many on both sides");
    assert_eq!(row(&comparison.phases[0], RowSubject::Step).2, None, "the work may be different");
    let (_, comparison) = compare(kernels, &format!("{kernels},{kernels}"));
    assert!(comparison.phases[0].rows.iter().all(|row| row.step_ratio.is_none()), "{:?}", comparison.phases);
    let (_, comparison) = compare(kernels, &vllm(1, 4, 3));
    assert!(comparison.concerns.contains(&EngineConcern::StepsOnOneSide(Side::New)), "{:?}", comparison.concerns);
    assert!(comparison.phases.iter().flat_map(|phase| &phase.rows).all(|row| row.step_ratio.is_none()));
}

#[test]
fn marks_without_tokens_and_phases_of_one_side_are_reported() {
    let unknown = vllm(2, 4, 3).replace("execute_context_0(0)_generation_4(4)", "decode_step");
    let (_, comparison) = compare(&vllm(2, 4, 3), &unknown);
    assert_eq!(codes(&comparison), ["tokens-unknown", "batch-unknown"]);
    let step = row(&comparison.phases[0], RowSubject::Step);
    assert_eq!((step.2, step.3), (None, None));
    let prefill = vllm(2, 4, 3).replace("context_0(0)_generation_4(4)", "context_1(64)_generation_0(0)");
    let (_, comparison) = compare(&vllm(2, 4, 3), &prefill);
    assert_eq!(codes(&comparison), ["phase-on-one-side", "phase-on-one-side"]);
}

#[test]
fn steps_without_their_kernels_are_left_out() {
    let launch = r#"{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":9,"tid":9,"ts":90001,"dur":5,"args":{"correlation":77}},"#;
    let mark = r#"{"ph":"X","cat":"user_annotation","name":"execute_context_0(0)_generation_4(4)","pid":9,"tid":9,"ts":90000,"dur":90},"#;
    let (_, comparison) = compare(&vllm(2, 4, 3), &format!("{}{mark}{launch}", vllm(2, 4, 3)));
    assert_eq!(codes(&comparison), ["some-incomplete"]);
    assert_eq!(row(&comparison.phases[0], RowSubject::Step).2, Some(1.0));
    let (_, comparison) = compare(&vllm(2, 4, 3), &format!("{mark}{launch}"));
    assert!(codes(&comparison).contains(&"all-incomplete"), "{:?}", comparison.concerns);
}

#[test]
fn empty_traces_are_compared_without_figures() {
    let (_, comparison) = compare("", "");
    assert_eq!(codes(&comparison), ["no-steps", "layers-unknown", "layers-unknown"]);
    assert_eq!(comparison.phases.len(), 1);
}
