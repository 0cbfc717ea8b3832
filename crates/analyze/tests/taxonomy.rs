//! Classes of operations in real traces of the corpus, if it is present.

use ferrum_trace_analyze::{EngineProfile, Nesting, Rules, TimedOn, names_device, profile, profile_args};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open;
use ferrum_trace_model::vocab::Phase;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Largest share of device time without a class.
const UNNAMED_MAX: f64 = 0.02;

/// Returns the folder of the corpus; `None` if it is not present.
fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("FERRUM_TRACE_CORPUS").map(PathBuf::from);
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus"));
    named.or_else(|| beside.is_dir().then_some(beside))
}

/// Returns the profile of a trace; `None` if the file is not a trace.
fn profile_of(path: &Path, rules: &Rules) -> Option<EngineProfile> {
    let options = LoadOptions { args: profile_args(), ..LoadOptions::default() };
    let loaded = load(open(File::open(path).unwrap()).ok()?, &options).ok()?;
    Some(profile(&loaded.trace, &Nesting::of(&loaded.trace), rules, names_device(&loaded.fields)))
}

/// Returns the traces in a folder.
fn traces_in(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_trace = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        (name.ends_with(".json") || name.ends_with(".json.gz")) && !name.ends_with(".expected.json")
    };
    let mut traces: Vec<PathBuf> = files.filter(is_trace).collect();
    traces.sort();
    traces
}

#[test]
fn at_most_two_percent_of_device_time_have_no_class() {
    let Some(corpus) = corpus() else { return };
    let folders = ["torch-hta", "torch-kineto-2021", "torch-tracelens", "../reference/pairs"];
    let rules = Rules::built_in();
    let mut n_with_devices = 0;
    for path in folders.iter().map(|folder| corpus.join(folder)).filter(|it| it.is_dir()).flat_map(|it| traces_in(&it))
    {
        let Some(profile) = profile_of(&path, &rules) else { continue };
        let device = &profile.device;
        n_with_devices += usize::from(profile.timed_on == TimedOn::Device);
        let first: Vec<&str> = device.unnamed.iter().take(3).map(|name| name.name.as_str()).collect();
        assert!(device.unnamed_share() <= UNNAMED_MAX, "{}: {:.4}, {first:?}", path.display(), device.unnamed_share());
    }
    assert!(n_with_devices >= 12, "{n_with_devices}");
}

/// Returns count and time in microseconds of a class of the first phase.
fn figure(profile: &EngineProfile, rules: &Rules, class: &str) -> (u64, f64) {
    let time = profile.phases[0].times.get(rules.class(class).unwrap());
    time.map_or((0, 0.0), |time| (time.count, time.total as f64 / 1000.0))
}

#[test]
fn a_decode_step_of_vllm_has_the_reference_figures() {
    let Some(corpus) = corpus() else { return };
    let rules = Rules::built_in();
    let path = corpus.join("torch-tracelens/inference_vllm_decode_full_graph_execution.json.gz");
    let profile = profile_of(&path, &rules).unwrap();
    let [decode] = &profile.phases[..] else { panic!("{:?}", profile.phases) };
    assert_eq!((decode.phase, decode.n_steps, decode.tokens()), (Some(Phase::Decode), 1, Some(32)));
    assert_eq!(profile.layers.map(|layers| layers.n), Some(24));
    // The reference counts 24 attention operations; 12 of them reduce their result with a second kernel.
    let expected = [
        ("moe", 72, 7171.53),
        ("moe_sort", 72, 375.12),
        ("moe_topk", 24, 119.81),
        ("gemm", 72, 953.88),
        ("lm_head", 1, 276.68),
        ("attention", 36, 724.36),
        ("kv_cache", 24, 136.41),
        ("norm", 49, 332.0),
        ("rope", 24, 149.74),
    ];
    for (class, count, us) in expected {
        let found = figure(&profile, &rules, class);
        assert_eq!(found.0, count, "{class}");
        assert!((found.1 - us).abs() <= 0.05, "{class}: {} instead of {us}", found.1);
    }
    let own = Rules::with_own("class matmul_ogs in moe\nmatmul_ogs contains _matmul_ogs").unwrap();
    let (count, us) = figure(&profile_of(&path, &own).unwrap(), &own, "matmul_ogs");
    assert!(count == 48 && (us - 7034.6).abs() < 0.02, "{count} {us}");
}

#[test]
fn one_model_on_two_devices_has_the_reference_figures() {
    let Some(folder) = corpus().map(|corpus| corpus.join("../reference/pairs")).filter(|it| it.is_dir()) else {
        return;
    };
    let rules = Rules::built_in();
    let [h100, mi300] =
        ["h100", "mi300"].map(|device| profile_of(&folder.join(format!("{device}_vit_nsfw.json.gz")), &rules).unwrap());
    for (class, count, base, new) in [
        ("gemm", 73, 735.037, 942.326),
        ("attention", 12, 122.848, 374.687),
        ("norm", 25, 111.201, 139.695),
        ("act", 12, 60.541, 65.657),
    ] {
        for (profile, us) in [(&h100, base), (&mi300, new)] {
            let found = figure(profile, &rules, class);
            assert!(found.0 == count && (found.1 - us).abs() < 0.02, "{class}: {found:?} instead of {us}");
        }
    }
}
