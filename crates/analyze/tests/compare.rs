//! Comparisons of traces: parts that sum to the change, names, concerns, and figures of other tools.

use ferrum_trace_analyze::compare::{
    Attribution, Cause, CompareOptions, Comparison, SideRuns, Verdict, attribute, compare,
};
use ferrum_trace_analyze::runs::{MeasureOptions, MeasuredTrace, Place, Profile, Run, TraceInfo, measure};
use ferrum_trace_analyze::{LAYER_ARG, Nesting, REQUEST_ARGS, STEP_ARGS, Selected};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

fn measured(input: impl Read + Send + 'static) -> Option<MeasuredTrace> {
    let args = STEP_ARGS.into_iter().chain(REQUEST_ARGS).chain([LAYER_ARG]).map(str::to_owned).collect();
    let loaded = load(open(input).ok()?, &LoadOptions { args, ..LoadOptions::default() }).ok()?;
    let (nesting, selected) = (Nesting::of(&loaded.trace), Selected::all(&loaded.trace));
    let info = TraceInfo { name: "trace".to_owned(), ..TraceInfo::default() };
    Some(measure(&loaded.trace, &nesting, &selected, info, &MeasureOptions::default()))
}

/// One decode step: its batch, and its operations with layer and duration in microseconds.
type StepOf<'a> = (u64, &'a [(&'a str, u32, u64)]);

/// Writes steps as this recorder does, one after the other with a gap of 1 us between operations.
fn engine_trace(steps: &[StepOf]) -> String {
    let mut text = String::from("[");
    let mut now = 0;
    for (batch, ops) in steps {
        let start = now;
        for (name, layer, duration) in *ops {
            now += 1;
            write!(
                text,
                r#"{{"ph":"X","cat":"gemm","name":"{name}","pid":1,"tid":1,"ts":{now},"dur":{duration},"args":{{"layer":{layer}}}}},"#
            )
            .unwrap();
            now += duration;
        }
        now += 1;
        write!(
            text,
            r#"{{"ph":"X","cat":"step","name":"decode","pid":1,"tid":1,"ts":{start},"dur":{},"args":{{"phase":"decode","batch":{batch},"decode_tokens":{batch}}}}},"#,
            now - start
        )
        .unwrap();
        now += 5;
    }
    text.pop();
    text + "]"
}

fn side(text: String) -> MeasuredTrace {
    measured(std::io::Cursor::new(text.into_bytes())).unwrap()
}

fn compared(base: &[MeasuredTrace], new: &[MeasuredTrace]) -> Comparison {
    let runs = |side: &[MeasuredTrace]| side.iter().map(|it| it.run.clone()).collect::<Vec<Run>>();
    let profile = |side: &[MeasuredTrace]| {
        let mut all = Profile::default();
        side.iter().for_each(|it| all.add(&it.profile));
        all
    };
    let (base_runs, new_runs, base_profile, new_profile) = (runs(base), runs(new), profile(base), profile(new));
    compare(
        SideRuns { runs: &base_runs, profile: &base_profile },
        SideRuns { runs: &new_runs, profile: &new_profile },
        &CompareOptions::default(),
    )
}

fn attributed(base: String, new: String) -> Attribution {
    let attribution = compared(&[side(base)], &[side(new)]).attribution.unwrap();
    assert_eq!(attribution.sum_of_parts(), attribution.change_ns);
    attribution
}

fn cause<'a>(attribution: &'a Attribution, name: &str) -> &'a Cause {
    attribution.causes.iter().find(|cause| cause.name == name).unwrap()
}

const USUAL: &[(&str, u32, u64)] =
    &[("qkv", 0, 100), ("mlp", 0, 200), ("qkv", 1, 100), ("mlp", 1, 200), ("qkv", 2, 100), ("mlp", 2, 200)];

#[test]
fn the_slower_operation_of_one_layer_is_the_first_cause() {
    let slower: &[(&str, u32, u64)] =
        &[("qkv", 0, 100), ("mlp", 0, 200), ("qkv", 1, 100), ("mlp", 1, 240), ("qkv", 2, 100), ("mlp", 2, 200)];
    let attribution = attributed(engine_trace(&[(4, USUAL); 10]), engine_trace(&[(4, slower); 10]));
    let first = &attribution.causes[0];
    assert_eq!(
        (first.name.as_str(), first.layer, first.change_ns, first.calls_ns, first.longer_ns),
        ("mlp", Some(1), 40_000, 0, 40_000)
    );
    assert_eq!(attribution.change_ns, 40_000);
}

#[test]
fn more_calls_are_told_from_longer_calls() {
    let more: Vec<(&str, u32, u64)> = USUAL.iter().copied().chain([("mlp", 2, 200)]).collect();
    let attribution = attributed(engine_trace(&[(4, USUAL); 10]), engine_trace(&[(4, &more[..]); 10]));
    let mlp = cause(&attribution, "mlp");
    assert_eq!((mlp.change_ns, mlp.calls_ns, mlp.longer_ns, mlp.calls), (200_000, 200_000, 0, (3.0, 4.0)));
    let gap = attribution.causes.iter().find(|cause| cause.place == Place::Gap).unwrap();
    assert_eq!(gap.change_ns, 1_000, "one more gap of a microsecond");
}

#[test]
fn names_that_are_new_gone_or_renamed_are_listed() {
    let renamed: Vec<(&str, u32, u64)> = USUAL
        .iter()
        .map(|&(name, layer, time)| (if name == "qkv" { "fused_qkv" } else { name }, layer, time))
        .collect();
    let other: Vec<(&str, u32, u64)> = renamed.iter().copied().chain([("sample", 2, 50)]).collect();
    let names = compared(&[side(engine_trace(&[(4, USUAL); 10]))], &[side(engine_trace(&[(4, &other[..]); 10]))]).names;
    let pairs: Vec<_> = names.renamed.iter().map(|it| (it.base.name.as_str(), it.new.name.as_str())).collect();
    assert_eq!(pairs, [("qkv", "fused_qkv")]);
    assert_eq!(names.new.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["sample"]);
    assert!(names.gone.is_empty());
}

#[test]
fn another_batch_mix_is_told_from_a_slower_step() {
    let small: &[(&str, u32, u64)] = &[("mlp", 0, 100), ("mlp", 1, 100)];
    let large: &[(&str, u32, u64)] = &[("mlp", 0, 400), ("mlp", 1, 400)];
    let steps = |n_small: usize, n_large: usize| -> Vec<StepOf<'static>> {
        [vec![(1, small); n_small], vec![(8, large); n_large]].concat()
    };
    let base = side(engine_trace(&steps(90, 10)));
    let new = side(engine_trace(&steps(10, 90)));
    let comparison = compared(&[base], &[new]);
    let attribution = comparison.attribution.unwrap();
    assert_eq!(attribution.mix_ns, attribution.change_ns);
    assert!(attribution.causes.iter().all(|cause| cause.change_ns == 0), "{:?}", attribution.causes);
    assert!(comparison.concerns.iter().any(|concern| concern.code == "batch-mix"));
    let step = &comparison.metrics[0];
    assert!((step.ratio.unwrap() - 1.0).abs() < 1e-9, "{step:?}");
}

#[test]
fn an_interrupted_step_does_not_hide_the_cause() {
    let slower: Vec<(&str, u32, u64)> =
        USUAL.iter().map(|&(name, layer, time)| (name, layer, if name == "qkv" { time + 5 } else { time })).collect();
    let interrupted: Vec<(&str, u32, u64)> =
        slower.iter().map(|&(name, layer, time)| (name, layer, if name == "mlp" { 9_000 } else { time })).collect();
    let mut steps = vec![(4, &slower[..]); 40];
    steps[17] = (4, &interrupted);
    let attribution = attributed(engine_trace(&[(4, USUAL); 40]), engine_trace(&steps));
    assert_eq!(attribution.causes[0].name, "qkv");
    assert_eq!(attribution.n_outliers, (0, 1));
    assert!(attribution.outliers_ns > 500_000);
}

#[test]
fn models_with_different_numbers_of_layers_are_not_compared() {
    let two: Vec<(&str, u32, u64)> = USUAL.iter().copied().filter(|(_, layer, _)| *layer < 2).collect();
    let comparison = compared(&[side(engine_trace(&[(4, USUAL); 10]))], &[side(engine_trace(&[(4, &two[..]); 10]))]);
    assert!(comparison.is_refused());
    assert_eq!((comparison.concerns[0].code, comparison.concerns[0].is_refusal), ("layers", true));
    assert!(comparison.metrics.iter().all(|metric| metric.ratio.is_none() && metric.verdict == Verdict::NotComparable));
    assert!(comparison.attribution.is_none());
}

#[test]
fn one_run_per_side_is_never_a_difference() {
    let slower: Vec<(&str, u32, u64)> = USUAL.iter().map(|&(name, layer, time)| (name, layer, 2 * time)).collect();
    let comparison = compared(&[side(engine_trace(&[(4, USUAL); 50]))], &[side(engine_trace(&[(4, &slower[..]); 50]))]);
    assert!(comparison.metrics.iter().chain(&comparison.details).all(|metric| metric.verdict == Verdict::OneRun));
    assert!(comparison.metrics.iter().all(|metric| metric.p_value.is_none() && metric.interval.is_none()));
}

/// Returns a run whose steps take `percent` more than usual, and a little more from run to run.
fn run(percent: u64, number: u64) -> MeasuredTrace {
    let ops: Vec<(&str, u32, u64)> =
        USUAL.iter().map(|&(name, layer, time)| (name, layer, (time * (1000 + 10 * percent + number)) / 10)).collect();
    side(engine_trace(&[(4, &ops[..]); 30]))
}

#[test]
fn several_runs_are_tested() {
    let runs = |percent: u64, n: u64| (0..n).map(|number| run(percent, number)).collect::<Vec<_>>();
    let verdict = |base: &[MeasuredTrace], new: &[MeasuredTrace]| compared(base, new).metrics[0].verdict.clone();
    assert_eq!(verdict(&runs(0, 5), &runs(5, 5)), Verdict::Slower);
    assert_eq!(verdict(&runs(5, 5), &runs(0, 5)), Verdict::Faster);
    assert!(matches!(verdict(&runs(0, 5), &runs(0, 5)), Verdict::Same { within } if within < 0.01));
    assert!(matches!(verdict(&runs(0, 3), &runs(5, 3)), Verdict::CannotTell { runs_needed: Some(4..) }));
}

fn shared(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn the_parts_sum_to_the_change_for_every_pair_of_traces() {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/corpus-small"), &mut paths);
    files(&shared("corpus"), &mut paths);
    files(&shared("reference/pairs"), &mut paths);
    paths.retain(|path| !path.to_string_lossy().ends_with(".expected.json"));
    paths.sort();
    let profiles: Vec<Profile> =
        paths.iter().filter_map(|path| Some(measured(File::open(path).ok()?)?.profile)).collect();
    assert!(profiles.len() >= 10, "the small set is missing");
    for profile in &profiles {
        for (stratum, sums) in &profile.strata {
            let parts: i64 = sums.parts.values().map(|part| part.time_ns).sum();
            assert_eq!(parts, sums.typical_ns, "{stratum}");
        }
    }
    let mut n_pairs = 0;
    for (base, new) in profiles.iter().flat_map(|base| profiles.iter().map(move |new| (base, new))) {
        let Some(attribution) = attribute(base, new) else { continue };
        assert_eq!(attribution.sum_of_parts(), attribution.change_ns);
        for cause in &attribution.causes {
            assert_eq!(cause.calls_ns + cause.longer_ns, cause.change_ns);
        }
        n_pairs += 1;
    }
    assert!(n_pairs >= 50, "{n_pairs}");
}

/// Figures of TraceLens for one model on two devices, in microseconds: operation, count, H100, MI300X.
const TRACELENS: [(&str, f64, f64, f64); 5] = [
    ("aten::addmm", 73.0, 735.037, 942.326),
    ("aten::_flash_attention_forward", 12.0, 122.848, 374.687),
    ("aten::native_layer_norm", 25.0, 111.201, 139.695),
    ("aten::add", 25.0, 57.313, 130.034),
    ("aten::gelu", 12.0, 60.541, 65.657),
];

#[test]
fn kernel_times_by_operation_are_those_of_another_tool() {
    let open = |name: &str| File::open(shared("reference/pairs").join(name)).ok();
    let (Some(h100), Some(mi300)) = (open("h100_vit_nsfw.json.gz"), open("mi300_vit_nsfw.json.gz")) else { return };
    let comparison = compared(&[measured(h100).unwrap()], &[measured(mi300).unwrap()]);
    let attribution = comparison.attribution.unwrap();
    // Its times are floats in steps of 1/1024 us.
    let is_close = |ns: i64, us: f64| (ns as f64 / 1000.0 - us).abs() < 0.1;
    for (name, count, h100, mi300) in TRACELENS {
        let cause = attribution.causes.iter().find(|it| it.place == Place::Device && it.name == name).unwrap();
        assert_eq!(cause.calls, (count, count), "{name}");
        assert!(is_close(cause.time_ns.0, h100) && is_close(cause.time_ns.1, mi300), "{cause:?}");
    }
    let busy = comparison.metrics.iter().find(|metric| metric.name == "device_busy").unwrap();
    assert!(is_close(busy.base.unwrap() as i64, 1225.309) && is_close(busy.new.unwrap() as i64, 1716.299), "{busy:?}");
}
