//! Mutates files of all formats: the readable part can be written, all JSON output is valid, and repaired or converted
//! files have no errors.

use ferrum_trace_analyze::check::{Report, check};
use ferrum_trace_analyze::convert::{LayerwiseOptions, Target, TorchOptions, convert, layerwise, torch};
use ferrum_trace_analyze::merge::{Input, MergeOptions, MergedForm, merge};
use ferrum_trace_analyze::repair::{ChromeOptions, OutputForm, RepairOptions, chrome, repair};
use ferrum_trace_format::Error;
use ferrum_trace_format::open::open;
use std::io::{Cursor, Read, Write};
use std::sync::Arc;

/// Number of mutants of each sample.
const MUTANTS: u64 = 150;

/// A trace with events of every kind.
const TRACE: &str = r#"{"displayTimeUnit":"ns","otherData":{"version":1.25,"list":[10,-3]},"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"engine"}},
{"ph":"M","name":"thread_name","pid":1,"tid":10,"args":{"name":"main"}},
{"ph":"X","name":"step","cat":"step","ts":87.830,"dur":100,"pid":1,"tid":10,"args":{"n":1,"list":[1,{"a":null}],"text":"é\n"}},
{"ph":"X","name":"layer","cat":"layer","ts":87.830,"dur":50,"pid":1,"tid":10,"args":{"layer":10,"float":0.5}},
{"ph":"B","name":"op","cat":"gemm","ts":140,"pid":1,"tid":10,"args":{"a":1}},
{"ph":"E","name":"op","cat":"gemm","ts":150,"pid":1,"tid":10,"args":{"b":20}},
{"ph":"X","name":"kernel","cat":"kernel","ts":110,"dur":20,"pid":2,"tid":"stream 7","args":{"correlation":100,"stream":7}},
{"ph":"X","name":"later kernel","cat":"kernel","ts":120,"dur":20,"pid":2,"tid":"stream 7"},
{"ph":"b","name":"request","cat":"serve","id":"0x10","ts":90,"pid":1,"tid":10},
{"ph":"b","name":"prefill","cat":"serve","id":"0x10","ts":91,"pid":1,"tid":10},
{"ph":"n","name":"token","cat":"serve","id":"0x10","ts":92,"pid":1,"tid":10},
{"ph":"e","name":"prefill","cat":"serve","id":"0x10","ts":93,"pid":1,"tid":10},
{"ph":"e","name":"request","cat":"serve","id":"0x10","ts":100,"pid":1,"tid":10},
{"ph":"S","name":"old","cat":"serve","id":7,"ts":110,"pid":1,"tid":10},
{"ph":"F","name":"old","cat":"serve","id":7,"ts":112,"pid":1,"tid":10},
{"ph":"i","name":"mark","ts":95,"pid":1,"tid":10,"s":"t"},
{"ph":"i","name":"everybody's","ts":96,"pid":1,"tid":10,"s":"g"},
{"ph":"C","name":"memory","ts":101,"pid":1,"args":{"used":10,"free":2.5}},
{"ph":"s","name":"launch","cat":"ac2g","id":100,"ts":90,"pid":1,"tid":10},
{"ph":"f","name":"launch","cat":"ac2g","id":100,"ts":115,"pid":2,"tid":"stream 7","bp":"e"},
{"ph":"X","name":"out","cat":"c","ts":300,"dur":1,"pid":1,"tid":12,"bind_id":"0x1","flow_out":true},
{"ph":"X","name":"in","cat":"c","ts":310,"dur":1,"pid":1,"tid":12,"bind_id":"0x1","flow_in":true},
{"ph":"N","name":"object","ts":100,"pid":1,"tid":10,"id":"0x1"},
{"ph":"P","name":"sample","ts":100,"pid":1,"tid":10,"id":"0x1","args":{}}
],"systemTraceEvents":"","stackFrames":{"5":{"category":"c","name":"main"}}}"#;

const PROFILE: &str = r#"{"context":{"engine_args":{"model":"m","tensor_parallel_size":1},"prompt_len":100,"batch_size":1,"num_steps":null},
"prefill":{"metadata":{"num_running_seqs":null},"summary_stats":[{"entry":{"name":"Model","cuda_time_us":10.5,"pct_cuda_time":100.0,"invocations":1},"children":[]}],
"model_stats":[{"entry":{"name":"Model","cpu_time_us":20.0,"cuda_time_us":10.5,"pct_cuda_time":100.0,"trace":""},"children":[
{"entry":{"name":"kernel","cpu_time_us":0,"cuda_time_us":10.5,"pct_cuda_time":100.0,"trace":"Model"},"children":[]}]}]},
"decode_1":{"metadata":{"num_running_seqs":1},"summary_stats":[],"model_stats":[{"entry":{"name":"Model","cpu_time_us":2.0,"cuda_time_us":1.5,"pct_cuda_time":100.0,"trace":""},"children":[]}]}}"#;

/// Fragments that are inserted into files.
const PIECES: &[&[u8]] = &[
    b"0",
    b"00",
    b"087.830",
    b"-00",
    b"010",
    b"+1",
    b".5",
    b"1.",
    b"0x10",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-1E+400",
    b"1e-999",
    b"99999999999999999999",
    b"9223372036854775807",
    b"\\ud800",
    b"\\udc00\\ud800",
    b"\\u0000",
    b"\\x",
    b"\\u12",
    b"\xff",
    b"\xc3",
    b"\x01",
    b"\x00",
    b"\n",
    b"\x1e",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"\"ph\":\"X\"",
    b"\"ts\":1e400",
    b"\"args\":[007]",
    b"\"traceEvents\":[",
    b"\xef\xbb\xbf",
];

/// Reproducible random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// Changes a file at one place, or at a few.
fn mutate(sample: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut bytes = sample.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        let piece = PIECES[random.below(PIECES.len())];
        match random.below(8) {
            // Replaces a number, or another value in its place.
            0..4 => {
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'-');
                let begin = bytes[at..].iter().position(u8::is_ascii_digit).map_or(at, |distance| at + distance);
                let len = bytes[begin..].iter().take_while(|byte| is_part(byte)).count();
                bytes.splice(begin..begin + len, piece.iter().copied());
            }
            4 => {
                bytes.splice(at..at, piece.iter().copied());
            }
            5 => bytes[at] ^= 1 << random.below(8),
            6 => {
                let end = (at + random.below(60)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            _ => {
                let end = (at + random.below(20)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
    bytes
}

fn opener(file: &[u8]) -> impl Fn() -> Result<Box<dyn Read + Send>, Error> + Send + Sync + 'static {
    let file = file.to_vec();
    move || Ok(Box::new(open(Cursor::new(file.clone()))?))
}

fn strict(json: &[u8], what: &str) {
    let text = std::str::from_utf8(json).unwrap_or_else(|error| panic!("{what}: {error}"));
    if let Err(error) = serde_json::from_str::<serde_json::Value>(text) {
        panic!("{what}: {error} in {text}");
    }
}

fn assert_right(report: &Report, what: &str, file: &[u8]) {
    let errors: Vec<_> = report.errors().map(|finding| (finding.rule.code, &finding.first)).collect();
    assert!(errors.is_empty(), "{what}: {errors:?} in {}", String::from_utf8_lossy(file));
}

/// Writes a file in all formats, if it can be read at all.
fn write_all(file: &[u8], what: &str) -> bool {
    let source = opener(file);
    let mut out = Vec::new();
    if repair(&source, &mut out, &RepairOptions::default()).is_err() {
        return false;
    }
    strict(&out, &format!("repair of {what}"));
    assert_right(&check(&opener(&out)).unwrap(), &format!("repair of {what}"), &out);

    for (form, as_is) in [(OutputForm::Array, false), (OutputForm::Object, true), (OutputForm::Array, true)] {
        let mut out = Vec::new();
        chrome(&source, &mut out, &ChromeOptions { form, as_is }).unwrap();
        strict(&out, &format!("{form:?}, as it is {as_is}, of {what}"));
    }

    let mut out = Vec::new();
    convert(Target::Perfetto, &source, &mut out).unwrap();
    if let Ok(report) = check(&opener(&out)) {
        assert_right(&report.of_perfetto(), &format!("Perfetto trace of {what}"), file);
    }

    let mut out = Vec::new();
    convert(Target::Speedscope, &source, &mut out).unwrap();
    strict(&out, &format!("speedscope of {what}"));

    let mut out = Vec::new();
    torch(&source, &mut out, &TorchOptions::default()).unwrap();
    strict(&out, &format!("torch of {what}"));

    let mut out = Vec::new();
    // A trace without slices has no profile.
    if layerwise(&source, &mut out, &LayerwiseOptions::default()).is_ok() {
        strict(&out, &format!("profile of {what}"));
    }
    merge_all(file, what);
    true
}

fn merge_all(file: &[u8], what: &str) {
    let input = |file: &[u8], rank| Input {
        name: format!("{rank}.json"),
        rank: Some(rank),
        rank_if_unknown: None,
        open: Arc::new(opener(file)),
    };
    let inputs = [input(file, 0), input(TRACE.as_bytes(), 1)];
    for form in [MergedForm::Chrome, MergedForm::ChromeRepaired] {
        let mut out = Vec::new();
        let options = MergeOptions { form, ..MergeOptions::default() };
        merge(&inputs, &mut out, &options).unwrap();
        strict(&out, &format!("merge of {what}"));
        if form == MergedForm::ChromeRepaired {
            assert_right(&check(&opener(&out)).unwrap(), &format!("repaired merge of {what}"), &out);
        }
    }
}

fn write_mutants(sample: &[u8], what: &str) {
    assert!(write_all(sample, what), "{what} is a trace");
    let n_read = (0..MUTANTS).filter(|&seed| write_all(&mutate(sample, seed), &format!("{what} {seed}"))).count();
    assert!(n_read > 0, "{what}: nothing of it could be read any more");
}

#[test]
fn mutated_chrome_json_is_written_as_valid_json() {
    write_mutants(TRACE.as_bytes(), "trace");
}

#[test]
fn mutated_gzip_content_is_written_as_valid_json() {
    let packed = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    write_mutants(&packed(TRACE.as_bytes()), "packed trace");
    for seed in 0..MUTANTS / 3 {
        write_all(&packed(&mutate(TRACE.as_bytes(), seed + MUTANTS)), &format!("packed {seed}"));
    }
}

#[test]
fn a_mutated_perfetto_trace_is_written_as_valid_json() {
    let mut pftrace = Vec::new();
    convert(Target::Perfetto, &opener(TRACE.as_bytes()), &mut pftrace).unwrap();
    write_mutants(&pftrace, "Perfetto trace");
}

#[test]
fn a_mutated_spool_is_written_as_valid_json() {
    write_mutants(include_bytes!("../../../tests/data/spool-v1.spool"), "spool");
}

#[test]
fn a_mutated_profile_is_written_as_valid_json() {
    write_mutants(PROFILE.as_bytes(), "profile");
}
