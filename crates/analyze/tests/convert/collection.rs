//! Converts every sample to a Perfetto trace and back: same number and total duration of slices of each name, to the
//! nanosecond, same number of async events, and no errors for viewers.
//!
//! The small set in `tests/data` is always converted, and left for the step `viewers`; the collection of real traces
//! only if present: `FERRUM_TRACE_CORPUS`, or `../shared/corpus` beside the workspace.

use ferrum_trace_analyze::check::check;
use ferrum_trace_analyze::convert::{Summary, Target, convert};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open;
use ferrum_trace_model::{End, Trace};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

#[test]
fn the_small_set_keeps_its_slices_and_is_left_for_the_viewers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/corpus-small");
    let n_converted = convert_all(&folder, &mut |name, pftrace, summary| {
        let Summary { n_slices, n_instants, n_counter_values, left, .. } = summary;
        let expectation =
            format!("slices={}\nunended={}\ncounters={n_counter_values}\n", n_slices + n_instants, left.unclosed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("small-{name}.pftrace"));
        fs::write(&path, pftrace).unwrap();
        fs::write(path.with_extension("pftrace.expect"), expectation).unwrap();
    });
    assert!(n_converted >= 10, "the small set is missing");
}

#[test]
fn the_collection_keeps_its_slices() {
    let named = std::env::var_os("FERRUM_TRACE_CORPUS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"));
    let n_converted = if folder.is_dir() { convert_all(&folder, &mut |_, _, _| {}) } else { 0 };
    println!("{n_converted} files of the collection converted");
}

/// Converts every trace below a folder, and returns their number.
fn convert_all(folder: &Path, look: &mut dyn FnMut(&str, &[u8], &Summary)) -> usize {
    let mut n_converted = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            n_converted += convert_all(&path, look);
        } else if let Some((pftrace, summary)) = to_perfetto(&path) {
            assert_same(&path, &pftrace, &summary);
            look(&name, &pftrace, &summary);
            n_converted += 1;
        }
    }
    n_converted
}

/// Converts a file; `None` if it is not a trace.
fn to_perfetto(path: &Path) -> Option<(Vec<u8>, Summary)> {
    let open = || Ok(Box::new(open(File::open(path).unwrap())?) as Box<dyn Read + Send>);
    let mut pftrace = Vec::new();
    let summary = convert(Target::Perfetto, &open, &mut pftrace).ok()?;
    Some((pftrace, summary))
}

fn assert_same(path: &Path, pftrace: &[u8], summary: &Summary) {
    let before = load(open(File::open(path).unwrap()).unwrap(), &LoadOptions::default()).unwrap().trace;
    let reopen = || Ok(Box::new(open(Cursor::new(pftrace.to_vec()))?) as Box<dyn Read + Send>);
    let after = load(reopen().unwrap(), &LoadOptions::default()).unwrap().trace;
    let path = path.display();
    assert_eq!(sums(&after), sums(&before), "{path}");
    let (asyncs_before, asyncs_after) = (asyncs(&before), asyncs(&after));
    assert_eq!(asyncs_after.0, asyncs_before.0, "{path}");
    assert_eq!(asyncs_after.1 + summary.left.unopened, asyncs_before.1 + before.census.anomalies.unopened, "{path}");
    assert_eq!(after.counters.value.len() as u64, summary.n_counter_values, "{path}");
    let report = check(&reopen).unwrap().of_perfetto();
    let errors: Vec<_> = report.errors().map(|finding| (finding.rule.code, &finding.first)).collect();
    assert!(errors.is_empty(), "{path}: {errors:?}");
    let n_unfinished = report.get("unfinished").map_or(0, |finding| finding.n);
    assert_eq!(n_unfinished, summary.left.unclosed, "{path}");
}

/// Begins and points of async events, by category and name.
type AsyncCounts<'t> = BTreeMap<(&'t str, &'t str), (u64, u64)>;

/// Returns begins and points of async events by name, and the number of ends.
fn asyncs(trace: &Trace) -> (AsyncCounts<'_>, u64) {
    let asyncs = &trace.asyncs;
    let (mut counts, mut n_ends): (BTreeMap<_, (u64, u64)>, u64) = (BTreeMap::new(), 0);
    for n in 0..asyncs.end.len() {
        let count =
            counts.entry((trace.strings.get(asyncs.category[n]), trace.strings.get(asyncs.name[n]))).or_default();
        match asyncs.end[n] {
            End::Begin => count.0 += 1,
            End::Step => count.1 += 1,
            End::Finish => n_ends += 1,
        }
    }
    counts.retain(|_, count| *count != (0, 0));
    (counts, n_ends)
}

/// Returns the number and the total duration of slices by name.
fn sums(trace: &Trace) -> BTreeMap<&str, (u64, i128)> {
    let mut sums = BTreeMap::new();
    for n in 0..trace.slices.len() {
        let sum: &mut (u64, i128) = sums.entry(trace.strings.get(trace.slices.name[n])).or_default();
        sum.0 += 1;
        sum.1 += i128::from(trace.slices.duration[n]);
    }
    sums
}
