//! Compares every figure of every sample with the expected value, to the nanosecond.
//!
//! `NAME.expected.json` has the figures of `NAME`, in the schema of the collection of real traces that these figures
//! were first compared with; a `NAME` without one is not a trace and must be refused. The small set in `tests/data` is
//! always compared, the collection only if present: `FERRUM_TRACE_CORPUS`, or `../shared/corpus` beside the workspace.
//!
//! Self time is that of [`Nesting`], which is `self_clip_us` where a file has it, and `self_us` elsewhere. Categories
//! only have `self_us`; where that differs it is computed here, slowly.

use ferrum_trace_analyze::{
    AsyncCount, Device, GroupBy, Nesting, Row, Selected, SummaryOptions, async_ops, count_asyncs, count_flows,
    counters, devices, summarize, summarize_asyncs,
};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open;
use ferrum_trace_model::{ProcessId, StringId, Trace, TrackId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const EXPECTED: &str = ".expected.json";

#[test]
fn figures_of_the_small_set_are_as_expected() {
    let compared = compare_folder(&workspace().join("tests/data/corpus-small"));
    assert!(compared.n_files >= 10, "the small set is missing");
    compared.report();
}

#[test]
fn figures_of_the_collection_are_as_expected() {
    let named = std::env::var_os("FERRUM_TRACE_CORPUS").map(PathBuf::from);
    let folder = named.clone().unwrap_or_else(|| workspace().join("../shared/corpus"));
    let compared = if named.is_some() || folder.is_dir() { compare_folder(&folder) } else { Compared::default() };
    assert!(named.is_none() || compared.n_files > 0, "FERRUM_TRACE_CORPUS has no samples");
    compared.report();
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Result of the comparison of files.
#[derive(Default)]
struct Compared {
    n_files: usize,
    n_figures: usize,
    differences: Vec<String>,
}

impl Compared {
    #[expect(clippy::print_stdout, reason = "a test that finds no samples should not look like one that compared many")]
    fn report(self) {
        println!("compared {} figures of {} files", self.n_figures, self.n_files);
        let n = self.differences.len();
        assert!(n == 0, "{n} differences:\n{}", self.differences.join("\n"));
    }
}

fn compare_folder(folder: &Path) -> Compared {
    let mut compared = Compared::default();
    let mut paths = Vec::new();
    list(folder, &mut paths);
    paths.sort();
    for path in paths.iter().filter(|path| is_sample(path)) {
        let file = path.strip_prefix(folder).unwrap().display().to_string();
        let mut figures = Figures { file, n: 0, differences: Vec::new() };
        let mut expected = path.clone().into_os_string();
        expected.push(EXPECTED);
        match fs::read(&expected) {
            Ok(json) => compare(path, &serde_json::from_slice(&json).unwrap(), &mut figures),
            Err(_) => expect_refusal(path, &mut figures),
        }
        compared.n_files += 1;
        compared.n_figures += figures.n;
        compared.differences.append(&mut figures.differences);
    }
    compared
}

fn list(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { list(&path, paths) } else { paths.push(path) }
    }
}

fn is_sample(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.ends_with(EXPECTED) && !name.ends_with(".md")
}

fn expect_refusal(path: &Path, figures: &mut Figures) {
    let loaded = open(File::open(path).unwrap()).and_then(|input| load(input, &LoadOptions::default()));
    let refused = loaded.err().map(|error| error.is_wrong_format());
    figures.equal("refused", &Some(true), &refused);
}

/// Figures of one file.
struct Figures {
    file: String,
    n: usize,
    differences: Vec<String>,
}

impl Figures {
    fn equal<T: PartialEq + Debug>(&mut self, what: &str, expected: &T, found: &T) {
        self.n += 1;
        if expected != found {
            self.differences.push(format!("{}: {what}: expected {expected:?}, found {found:?}", self.file));
        }
    }

    fn time(&mut self, what: &str, expected: &Value, found: i64) {
        self.equal(what, &nanos(expected), &Some(found));
    }

    fn count(&mut self, what: &str, expected: &Value, found: usize) {
        self.equal(what, &expected.as_u64(), &Some(found as u64));
    }
}

/// Converts microseconds, as a number or as its text, to nanoseconds.
fn nanos(microseconds: &Value) -> Option<i64> {
    let Some(text) = microseconds.as_str() else {
        return microseconds.as_f64().map(|number| (number * 1000.0).round() as i64);
    };
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{decimals:0<3}").parse().ok()
}

/// Returns the elements of a list; empty for a figure that a file does not have.
fn each(list: &Value) -> impl ExactSizeIterator<Item = &Value> {
    list.as_array().map_or(&[][..], Vec::as_slice).iter()
}

fn compare(path: &Path, expected: &Value, figures: &mut Figures) {
    let loaded = open(File::open(path).unwrap()).and_then(|input| load(input, &LoadOptions::default()));
    let trace = match loaded {
        Ok(loaded) => loaded.trace,
        Err(error) => return figures.differences.push(format!("{}: refused: {error}", figures.file)),
    };
    let nesting = Nesting::of(&trace);
    compare_census(&trace, expected, figures);
    compare_slices(&trace, &nesting, &expected["slices"], figures);
    compare_anomalies(&trace, &expected["slices"]["anomalies"], figures);
    compare_names(&trace, &nesting, expected, figures);
    compare_categories(&trace, &nesting, expected, figures);
    compare_tracks(&trace, &nesting, &expected["tracks"], figures);
    compare_devices(&trace, &expected["gpu"], figures);
    compare_flows(&trace, &expected["flows"], figures);
    compare_asyncs(&trace, &expected["async"], figures);
    compare_counters(&trace, &expected["counters"], figures);
}

fn compare_census(trace: &Trace, expected: &Value, figures: &mut Figures) {
    let census = &trace.census;
    figures.equal("events", &expected["read"]["n_events"].as_u64(), &Some(census.events));
    let phases: BTreeMap<String, u64> = (1_u8..)
        .zip(&census.phases[1..])
        .filter(|(_, n)| **n > 0)
        .map(|(letter, n)| (char::from(letter).to_string(), *n))
        .collect();
    let expected_phases = expected["read"]["phases"].as_object().into_iter().flatten();
    let expected_phases = expected_phases.map(|(letter, n)| (letter.clone(), n.as_u64().unwrap())).collect();
    figures.equal("phases", &expected_phases, &phases);
    figures.time("span", &expected["span_us"], census.span());
    figures.equal("first time", &nanos(&expected["first_ts_us"]), &census.first);
}

fn compare_slices(trace: &Trace, nesting: &Nesting, expected: &Value, figures: &mut Figures) {
    let (slices, tracks) = (&trace.slices, &nesting.tracks);
    let used = || tracks.iter().filter(|track| track.n_slices > 0);
    let sum = |times: &[i64]| times.iter().sum::<i64>();
    let n_overlaps = tracks.iter().map(|track| track.n_partial_overlaps).sum();
    figures.count("slices", &expected["n"], slices.len());
    figures.time("total of slices", &expected["total_us"], sum(&slices.duration));
    figures.time("self time by containment", &expected["self_us"], sum(&self_by_containment(trace, nesting)));
    figures.equal("self time is busy time", &sum(&nesting.self_time), &nesting.total_self());
    figures.count("partial overlaps", &expected["partial_overlaps"], n_overlaps);
    figures.count("depth", &expected["max_depth"], used().map(|track| track.depth_max).max().unwrap_or(0));
    figures.count("tracks with slices", &expected["n_tracks"], used().count());
    let first = used().map(|track| track.first).min();
    let span = used().map(|track| track.last).max().zip(first).map(|(last, first)| last - first);
    figures.equal("span of slices", &nanos(&expected["slices_span_us"]), &span);
}

fn compare_anomalies(trace: &Trace, expected: &Value, figures: &mut Figures) {
    let anomalies = &trace.census.anomalies;
    let known = [
        ("X without usable dur", anomalies.unusable),
        ("B without E", anomalies.unclosed),
        ("E without B", anomalies.unopened),
        ("E name differs from B", anomalies.misnamed),
        ("tracks with B/E out of ts order", anomalies.unordered_tracks),
    ];
    for (what, found) in known {
        figures.equal(what, &expected[what].as_u64().unwrap_or(0), &found);
    }
    for (what, _) in expected.as_object().into_iter().flatten() {
        figures.equal(what, &true, &known.iter().any(|(known, _)| known == what));
    }
}

/// Self time by the other convention: duration minus the union of the slices wholly inside.
fn self_by_containment(trace: &Trace, nesting: &Nesting) -> Vec<i64> {
    let slices = &trace.slices;
    let mut self_time = nesting.self_time.clone();
    for (track, _) in trace.tracks.iter().filter(|(track, _)| nesting.tracks[track.index()].n_partial_overlaps > 0) {
        let of_track = nesting.of_track(track);
        for (place, outer) in of_track.iter().map(|&outer| outer as usize).enumerate() {
            let (mut covered_to, end) = (slices.start[outer], slices.end(outer));
            self_time[outer] = slices.duration[outer];
            for inner in of_track[place + 1..].iter().map(|&inner| inner as usize) {
                if slices.start[inner] >= end {
                    break;
                }
                if slices.end(inner) <= end {
                    self_time[outer] -= (slices.end(inner) - slices.start[inner].max(covered_to)).max(0);
                    covered_to = covered_to.max(slices.end(inner));
                }
            }
        }
    }
    self_time
}

/// Returns the rows of a summary, by name.
fn rows<K: Ord>(trace: &Trace, nesting: &Nesting, by: &[GroupBy], name: impl Fn(&Row) -> K) -> BTreeMap<K, Row> {
    let options = SummaryOptions { by: by.to_vec(), ..SummaryOptions::default() };
    let summary = summarize(trace, nesting, &Selected::all(trace), &options);
    summary.rows.into_iter().map(|row| (name(&row), row)).collect()
}

fn compare_names(trace: &Trace, nesting: &Nesting, expected: &Value, figures: &mut Figures) {
    let found = rows(trace, nesting, &[GroupBy::Name], |row| text(trace, row.key.name).to_owned());
    figures.count("names", &expected["slices"]["n_names"], found.len());
    for expected in each(&expected["by_name"]) {
        let name = expected["name"].as_str().unwrap();
        let row = found.get(name).copied().unwrap_or_default();
        let what = |figure: &str| format!("name `{name}`: {figure}");
        figures.equal(&what("count"), &expected["count"].as_u64(), &Some(row.count));
        figures.time(&what("total"), &expected["total_us"], row.total);
        let self_time = expected.get("self_clip_us").unwrap_or(&expected["self_us"]);
        figures.time(&what("self"), self_time, row.self_time);
        figures.time(&what("min"), &expected["min_us"], row.durations.min);
        figures.time(&what("max"), &expected["max_us"], row.durations.max);
        figures.time(&what("p50"), &expected["p50_nearest_us"], row.durations.p50);
        figures.time(&what("p95"), &expected["p95_nearest_us"], row.durations.p95);
        figures.time(&what("p99"), &expected["p99_nearest_us"], row.durations.p99);
    }
}

fn compare_categories(trace: &Trace, nesting: &Nesting, expected: &Value, figures: &mut Figures) {
    let mut by_containment = nesting.clone();
    by_containment.self_time = self_by_containment(trace, nesting);
    let category = |row: &Row| match text(trace, row.key.category) {
        "" => "None".to_owned(),
        category => category.to_owned(),
    };
    let found = rows(trace, &by_containment, &[GroupBy::Category], category);
    figures.equal("categories", &each(&expected["by_cat"]).len(), &found.len());
    for expected in each(&expected["by_cat"]) {
        let category = expected["cat"].as_str().unwrap();
        let row = found.get(category).copied().unwrap_or_default();
        compare_sums(&format!("category `{category}`"), expected, &row, figures);
    }
    let by = [GroupBy::Name, GroupBy::Category];
    let found = rows(trace, &by_containment, &by, |row| [category(row), text(trace, row.key.name).to_owned()]);
    for expected in each(&expected["by_cat_name"]) {
        let key = ["cat", "name"].map(|part| expected[part].as_str().unwrap().to_owned());
        let row = found.get(&key).copied().unwrap_or_default();
        compare_sums(&format!("category and name {key:?}"), expected, &row, figures);
    }
}

fn compare_sums(what: &str, expected: &Value, row: &Row, figures: &mut Figures) {
    figures.equal(&format!("{what}: count"), &expected["count"].as_u64(), &Some(row.count));
    figures.time(&format!("{what}: total"), &expected["total_us"], row.total);
    figures.time(&format!("{what}: self"), &expected["self_us"], row.self_time);
}

fn compare_tracks(trace: &Trace, nesting: &Nesting, expected: &Value, figures: &mut Figures) {
    let found: BTreeMap<[String; 2], TrackId> = trace.tracks.iter().map(|(id, _)| (ids(trace, id), id)).collect();
    for expected in each(expected) {
        let key = ["pid", "tid"].map(|id| expected[id].as_str().unwrap_or("None").to_owned());
        let what = |figure: &str| format!("track {key:?}: {figure}");
        let Some(&id) = found.get(&key) else {
            figures.equal(&what("is there"), &true, &false);
            continue;
        };
        let track = &nesting.tracks[id.index()];
        figures.count(&what("slices"), &expected["n_slices"], track.n_slices);
        figures.time(&what("busy"), &expected["busy_us"], track.busy);
        figures.time(&what("span"), &expected["span_us"], track.span());
        figures.count(&what("depth"), &expected["max_depth"], track.depth_max);
        let track = trace.tracks.get(id);
        let named = |name: Option<StringId>| name.map(|name| trace.strings.get(name));
        figures.equal(&what("name"), &expected["thread"].as_str(), &named(track.name));
        let process = trace.tracks.get_process(track.process);
        figures.equal(&what("process"), &expected["process"].as_str(), &named(process.name));
    }
}

fn compare_devices(trace: &Trace, expected: &Value, figures: &mut Figures) {
    let found: BTreeMap<String, Device> =
        devices(trace).into_iter().map(|device| (pid(trace, device.process), device)).collect();
    figures.equal("devices", &each(expected).len(), &found.len());
    for expected in each(expected) {
        let pid = expected["pid"].as_str().unwrap();
        let what = |figure: &str| format!("device {pid}: {figure}");
        let Some(device) = found.get(pid) else {
            figures.equal(&what("is there"), &true, &false);
            continue;
        };
        figures.count(&what("n"), &expected["n"], device.n_slices);
        figures.count(&what("kernels"), &expected["n_kernels"], device.n_kernels);
        figures.count(&what("comm kernels"), &expected["n_comm"], device.n_comm);
        figures.time(&what("sum of kernels"), &expected["kernel_sum_us"], device.kernel_total);
        figures.time(&what("span"), &expected["span_us"], device.span);
        figures.time(&what("busy"), &expected["busy_us"], device.busy);
        figures.time(&what("idle"), &expected["idle_us"], device.idle);
        figures.time(&what("comm"), &expected["comm_us"], device.comm);
        figures.time(&what("comp"), &expected["comp_us"], device.comp);
        figures.time(&what("overlap"), &expected["overlap_us"], device.overlap);
        figures.time(&what("exposed comm"), &expected["exposed_comm_us"], device.exposed_comm);
        let streams: BTreeMap<String, _> = (device.streams.iter())
            .map(|stream| (ids(trace, stream.track)[1].clone(), (Some(stream.n_slices as u64), Some(stream.busy))))
            .collect();
        let expected_streams = (expected["streams"].as_object().into_iter().flatten())
            .map(|(tid, stream)| (tid.clone(), (stream["n"].as_u64(), nanos(&stream["busy_us"]))))
            .collect();
        figures.equal(&what("streams"), &expected_streams, &streams);
    }
}

fn compare_flows(trace: &Trace, expected: &Value, figures: &mut Figures) {
    let found = count_flows(trace);
    let figure = |key: &str| expected[key].as_u64().unwrap_or(0);
    figures.equal("flows: groups", &figure("groups"), &found.groups);
    figures.equal("flows: complete", &figure("complete"), &found.complete);
    figures.equal("flows: s", &figure("s"), &found.begins);
    figures.equal("flows: t", &figure("t"), &found.steps);
    figures.equal("flows: f", &figure("f"), &found.finishes);
}

fn compare_asyncs(trace: &Trace, expected: &Value, figures: &mut Figures) {
    let found = count_asyncs(trace);
    let figure = |key: &str| expected[key].as_u64().unwrap_or(0);
    figures.equal("async: groups", &figure("groups"), &found.groups);
    figures.equal("async: groups balanced", &figure("groups_balanced"), &found.balanced);
    figures.equal("async: b", &figure("b"), &found.begins);
    figures.equal("async: n", &figure("n"), &found.steps);
    figures.equal("async: e", &figure("e"), &found.finishes);
    compare_async_operations(trace, &found, figures);
}

/// Checks that every begin is an operation, and that the ends of nestable events finish all operations of balanced
/// groups.
fn compare_async_operations(trace: &Trace, found: &AsyncCount, figures: &mut Figures) {
    let ops = async_ops(trace);
    let legacy_begins = trace.census.phases[usize::from(b'S')];
    figures.equal("async: operations", &(found.begins + legacy_begins), &(ops.len() as u64));
    let summary = summarize_asyncs(trace, &ops, &SummaryOptions::default());
    figures.equal("async: operations of all names", &(ops.len() as u64), &summary.all.count);
    let n_unfinished = ops.iter().filter(|op| op.end.is_none()).count() as u64;
    figures.equal("async: unfinished of all names", &n_unfinished, &summary.all.n_unfinished);
    if found.groups == found.balanced && legacy_begins == 0 {
        figures.equal("async: unfinished", &0, &n_unfinished);
    }
    let backwards = ops.iter().filter(|op| op.duration().is_some_and(|duration| duration < 0)).count();
    figures.equal("async: operations that end before they begin", &0, &backwards);
}

fn compare_counters(trace: &Trace, expected: &Value, figures: &mut Figures) {
    let text = |id: StringId| trace.strings.get(id).to_owned();
    let found: BTreeMap<[String; 3], _> = counters(trace)
        .into_iter()
        .map(|counter| {
            let key = [pid(trace, counter.process), text(counter.name), text(counter.series)];
            (key, (Some(counter.count), [counter.min, counter.max, counter.last].map(Some)))
        })
        .collect();
    let expected = each(expected)
        .map(|counter| {
            let key = ["pid", "name", "series"].map(|key| counter[key].as_str().unwrap().to_owned());
            (key, (counter["n"].as_u64(), ["min", "max", "last"].map(|key| counter[key].as_f64())))
        })
        .collect();
    figures.equal("counters", &expected, &found);
}

fn text(trace: &Trace, id: Option<StringId>) -> &str {
    id.map_or("", |id| trace.strings.get(id))
}

fn pid(trace: &Trace, process: ProcessId) -> String {
    trace.tracks.get_process(process).pid.map_or("None", |pid| trace.strings.get(pid)).to_owned()
}

fn ids(trace: &Trace, track: TrackId) -> [String; 2] {
    let track = trace.tracks.get(track);
    [pid(trace, track.process), track.tid.map_or("None", |tid| trace.strings.get(tid)).to_owned()]
}
