//! Compares the roofline of real traces with reference figures that another tool computed, if they are present.

use ferrum_trace_analyze::{
    DeviceTable, Nesting, Roofline, RooflineOptions, RooflineRow, names_device, roofline, roofline_args,
};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Rates with which the reference computed the roofline of an MI300X: achievable ones, not those of the datasheet.
const DEVICE: &str = "[MI300X]\nmemory = 5300\nmatrix.bf16 = 708\nmatrix.fp16 = 654\nmatrix.fp8 = 1273\n";

/// Operations of the reference whose shapes are not in its trace: it takes them from the capture of a graph.
const VLLM: &str = "inference_vllm_decode_full_graph_execution";

/// Returns the folder with the reference, if it is present: `shared` beside the workspace or beside a folder around it.
fn shared() -> Option<PathBuf> {
    let around = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    around.map(|folder| folder.join("shared")).find(|folder| folder.join("reference/roofline.tsv").exists())
}

fn roofline_of(path: &Path) -> Roofline {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    let options = LoadOptions { args: roofline_args(), ..LoadOptions::default() };
    let loaded = load(&bytes[..], &options).unwrap();
    let mut table = DeviceTable::default();
    table.extend(DEVICE).unwrap();
    let names_device = names_device(&loaded.fields);
    let device = table.find("MI300X").cloned();
    let options = RooflineOptions { device, names_device, ..RooflineOptions::default() };
    roofline(&loaded.trace, &Nesting::of(&loaded.trace), &options)
}

/// A row of the reference.
struct Reference {
    trace: String,
    name: String,
    count: u64,
    flop: u64,
    bytes: Option<u64>,
    mean_us: f64,
    roofline_us: Option<f64>,
    bound: String,
}

impl Reference {
    fn parse(line: &str) -> Self {
        let cells: Vec<&str> = line.split('\t').collect();
        Self {
            trace: cells[0].to_owned(),
            name: cells[2].to_owned(),
            count: cells[3].parse().unwrap(),
            flop: cells[5].parse().unwrap(),
            bytes: cells[6].parse().ok(),
            mean_us: cells[7].parse().unwrap(),
            roofline_us: cells[10].parse().ok(),
            bound: cells[11].to_owned(),
        }
    }

    /// Returns true if a row has the same operation, number of calls, FLOP, bytes and time.
    fn is(&self, row: &RooflineRow) -> bool {
        row.name == self.name
            && (row.count, row.work.flop) == (self.count, self.flop)
            && (self.bytes.is_none() || row.work.bytes == self.bytes)
            && (row.mean_seconds() * 1e6 - self.mean_us).abs() < 0.01
    }

    /// Returns true if the trace has no shapes for this row.
    fn is_of_graph(&self) -> bool {
        let is_launched = ["aten::copy_", "aten::mm"].contains(&self.name.as_str())
            || (self.name == "vllm::rocm_unquantized_gemm" && self.count == 1);
        self.trace.contains(VLLM) && !is_launched
    }
}

#[test]
fn flop_bytes_and_times_are_those_of_the_reference() {
    let Some(shared) = shared() else { return };
    let text = std::fs::read_to_string(shared.join("reference/roofline.tsv")).unwrap();
    let mut traces: BTreeMap<String, Roofline> = BTreeMap::new();
    let (mut n_equal, mut n_of_graph, mut different) = (0, 0, Vec::new());
    for reference in text.lines().skip(1).map(Reference::parse) {
        let found =
            traces.entry(reference.trace.clone()).or_insert_with(|| roofline_of(&shared.join(&reference.trace)));
        match found.rows.iter().find(|row| reference.is(row)) {
            Some(row) => {
                n_equal += 1;
                assert_roof(&reference, row);
            }
            None if reference.is_of_graph() => n_of_graph += 1,
            None => different.push(format!("{} {} {}", reference.trace, reference.name, reference.flop)),
        }
    }
    assert_eq!(different, [""; 0]);
    assert_eq!((n_equal, n_of_graph), (67, 13), "equal rows, and rows without shapes in the trace");
}

/// Compares time and limit with the same rates.
#[track_caller]
fn assert_roof(reference: &Reference, row: &RooflineRow) {
    let Some(expected) = reference.roofline_us else { return };
    let (seconds, roof) = row.roof.and_then(|roof| roof.longest()).unwrap();
    assert!((seconds * 1e6 - expected).abs() < 1e-3, "{}: {seconds}", reference.name);
    assert_eq!(roof.name(), reference.bound, "{}", reference.name);
}

#[test]
fn all_time_is_modelled_or_listed() {
    let Some(shared) = shared() else { return };
    for name in ["h100_vit_nsfw", "mi300_vit_nsfw"] {
        let found = roofline_of(&shared.join(format!("reference/pairs/{name}.json.gz")));
        let listed: i64 = found.unmodelled.iter().map(|row| row.time).sum();
        let counted: i64 = found.rows.iter().map(|row| row.counted_time).sum();
        assert_eq!((listed, counted), (found.unmodelled_time, found.modelled_time), "{name}");
        assert!(found.unmodelled_time * 20 < found.modelled_time, "{name}: {:?}", found.unmodelled);
    }
}
