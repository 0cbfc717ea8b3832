//! Speed and memory of reading a large trace, compared with other readers.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use ferrum_trace_analyze::check::check;
use ferrum_trace_analyze::convert::{Target, convert};
use ferrum_trace_analyze::repair::{RepairOptions, repair};
use ferrum_trace_analyze::{Nesting, Selected, SummaryOptions, summarize};
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use ferrum_trace_format::open::open_file;
use ferrum_trace_format::perfetto::write::{Encoder, Thread};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::Outcome;
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};
use crate::torch_like;

const MOST_ROUNDS: u32 = 5;
/// The trace for all comparisons: over a gigabyte, over four million events.
const LARGE_BYTES: u64 = 1_400_000_000;
/// The trace for trace_processor: a larger one does not fit into the 4 GB of WebAssembly.
const SMALL_BYTES: u64 = 140_000_000;
const GROWTH_BYTES: &[u64] = &[10_000_000, 100_000_000, 1_000_000_000, 2_000_000_000];
/// A command that takes a trace and SQL, for the comparison with trace_processor.
const TRACE_PROCESSOR: &str = "TRACE_PROCESSOR";

/// One way to read a trace.
struct Reader {
    what: &'static str,
    task: &'static str,
    threads: usize,
    file: &'static str,
}

const READERS: &[Reader] = &[
    Reader { what: "ferrum-trace summary, 1 thread", task: "summary", threads: 1, file: "large.json" },
    Reader { what: "ferrum-trace summary, 2 threads", task: "summary", threads: 2, file: "large.json" },
    Reader { what: "the same, gzip, 2 threads", task: "summary", threads: 2, file: "large.json.gz" },
    Reader { what: "gunzip alone (flate2, zlib-rs)", task: "gunzip", threads: 1, file: "large.json.gz" },
    Reader { what: "serde_json, typed, arguments kept", task: "serde", threads: 1, file: "large.json" },
    Reader { what: "serde_json, typed, arguments ignored", task: "serde-lean", threads: 1, file: "large.json" },
];

/// Results of one reader.
#[derive(Default)]
struct Speed {
    wall: Rounds,
    cpu: Rounds,
    memory: Rounds,
}

impl Speed {
    fn add(&mut self, answer: &Answer) {
        let megabytes = answer["bytes"] / 1e6;
        self.wall.push(megabytes / answer["wall_s"]);
        self.cpu.push(megabytes / answer["cpu_s"]);
        self.memory.push(answer["peak_bytes"] / answer["bytes"]);
    }
}

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let scratch = tempfile::tempdir()?;
    let dir = scratch.path();
    let events = make(&dir.join("large.json"), LARGE_BYTES)?;
    pack(dir)?;
    let mut tables = vec![readers(args, dir, events)?, rewriting(args, dir, events)?];
    std::fs::remove_file(dir.join("large.json.gz"))?;
    std::fs::remove_file(dir.join("large.json"))?;
    tables.push(growth(args, dir)?);
    if let Some(command) = std::env::var_os(TRACE_PROCESSOR) {
        tables.push(trace_processor(args, dir, Path::new(&command))?);
    }
    Ok(tables)
}

fn make(path: &Path, n_bytes: u64) -> Outcome<u64> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let events = torch_like::write(&mut file, n_bytes)?;
    file.flush()?;
    Ok(events)
}

fn pack(dir: &Path) -> Outcome {
    let packed = File::create(dir.join("large.json.gz"))?;
    let mut encoder = flate2::write::GzEncoder::new(BufWriter::new(packed), flate2::Compression::fast());
    std::io::copy(&mut File::open(dir.join("large.json"))?, &mut encoder)?;
    encoder.finish()?.flush()?;
    Ok(())
}

fn readers(args: &Args, dir: &Path, events: u64) -> Outcome<Table> {
    let mut speeds: Vec<Speed> = READERS.iter().map(|_| Speed::default()).collect();
    for _ in 0..args.rounds.min(MOST_ROUNDS) {
        for (reader, speed) in READERS.iter().zip(&mut speeds) {
            speed.add(&job(reader.task, reader.threads, &dir.join(reader.file)).run()?);
        }
    }
    let base = speeds[0].wall.max();
    let rows = READERS.iter().zip(&speeds).map(|(reader, speed)| row(reader.what, speed, base));
    Ok(Table {
        title: "Read".to_owned(),
        note: format!(
            "A trace like those of torch.profiler, {:.2} GB and {:.2} million events, from the file to the finished \
             table of names (count, total, self, percentiles). Megabytes of JSON per second of wall time, and per second \
             of CPU time of all threads (per core): the best round and the median. Memory is the highest resident memory \
             of the process, as a part of the JSON's size. The ratio is to the first row's best.",
            LARGE_BYTES as f64 / 1e9,
            events as f64 / 1e6
        ),
        columns: COLUMNS.to_vec(),
        rows: rows.collect(),
    })
}

const COLUMNS: &[&str] = &["reader", "MB/s best", "MB/s med", "MB/s/core best", "MB/s/core med", "memory/size", "x"];

fn row(what: impl Into<String>, speed: &Speed, base: Option<f64>) -> Vec<Cell> {
    vec![
        Cell::text(what),
        Cell::maybe(speed.wall.max(), 0),
        Cell::maybe(speed.wall.median(), 0),
        Cell::maybe(speed.cpu.max(), 0),
        Cell::maybe(speed.cpu.median(), 0),
        Cell::maybe(speed.memory.max(), 2),
        Cell::ratio(speed.wall.max(), base),
    ]
}

/// Commands that stream a file without keeping it.
fn rewriting(args: &Args, dir: &Path, events: u64) -> Outcome<Table> {
    let tasks = [
        ("check", "check"),
        ("repair, to Chrome JSON", "repair"),
        ("convert, to Perfetto", "perfetto"),
        ("Perfetto packets alone, from memory", "packets"),
    ];
    let mut rows = Vec::new();
    for (what, task) in tasks {
        let (mut wall, mut cpu, mut memory) = (Rounds::default(), Rounds::default(), Rounds::default());
        for _ in 0..args.rounds.min(3) {
            let answer = job(task, 1, &dir.join("large.json")).run()?;
            let events = if task == "packets" { answer["bytes"] } else { events as f64 };
            wall.push(events / 1e6 / answer["wall_s"]);
            cpu.push(events / 1e6 / answer["cpu_s"]);
            memory.push(answer["peak_bytes"] / f64::from(1 << 20));
        }
        rows.push(vec![
            Cell::text(what),
            Cell::maybe(wall.max(), 2),
            Cell::maybe(wall.median(), 2),
            Cell::maybe(cpu.max(), 2),
            Cell::maybe(cpu.median(), 2),
            Cell::maybe(memory.max(), 0),
        ]);
    }
    Ok(Table {
        title: "Rewrite".to_owned(),
        note:
            "The same trace, read twice and written to nowhere: million events per second of wall time and per second \
               of CPU time (per core), and the highest resident memory in MiB. The last row writes slices without \
               arguments, begin and end counted as one event."
                .to_owned(),
        columns: vec!["what", "M/s best", "M/s med", "M/s/core best", "M/s/core med", "MiB"],
        rows,
    })
}

fn growth(args: &Args, dir: &Path) -> Outcome<Table> {
    let path = dir.join("grown.json");
    let mut rows = Vec::new();
    let mut base = None;
    for &n_bytes in GROWTH_BYTES {
        make(&path, n_bytes)?;
        let mut speed = Speed::default();
        for _ in 0..args.rounds.min(MOST_ROUNDS) {
            speed.add(&job("summary", 2, &path).run()?);
        }
        base = base.or(speed.wall.max());
        rows.push(row(format!("{} MB", n_bytes / 1_000_000), &speed, base));
        std::fs::remove_file(&path)?;
    }
    let note = "The same on 2 threads for traces of several sizes: time grows with the size, not faster.".to_owned();
    Ok(Table { title: "Read, by size".to_owned(), note, columns: COLUMNS.to_vec(), rows })
}

/// Perfetto's own loader, which reads the whole trace into tables before a query.
fn trace_processor(args: &Args, dir: &Path, command: &Path) -> Outcome<Table> {
    let path = dir.join("small.json");
    make(&path, SMALL_BYTES)?;
    let (mut ours, mut theirs) = (Speed::default(), Rounds::default());
    for _ in 0..args.rounds.min(3) {
        ours.add(&job("summary", 2, &path).run()?);
        let began = sys::monotonic_ns();
        let query = "select count(*) from slice";
        let status = Command::new(command).arg(&path).arg(query).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("{}: {status}", command.display()).into());
        }
        theirs.push(SMALL_BYTES as f64 / 1e6 / ((sys::monotonic_ns() - began) as f64 / 1e9));
    }
    let theirs = Speed { wall: theirs, ..Speed::default() };
    let base = theirs.wall.max();
    Ok(Table {
        title: "Read, trace_processor".to_owned(),
        note: format!(
            "{} MB of the same: Perfetto's trace_processor (WebAssembly in Node), loading it and counting slices.",
            SMALL_BYTES / 1_000_000
        ),
        columns: COLUMNS.to_vec(),
        rows: vec![row("trace_processor", &theirs, base), row("ferrum-trace summary, 2 threads", &ours, base)],
    })
}

fn job(task: &str, threads: usize, path: &Path) -> Job {
    Job { threads, dir: path.to_owned(), ..Job::new(Task::Read, task) }
}

pub(crate) fn child(job: &Job) -> Outcome {
    let (began, cpu_before) = (sys::monotonic_ns(), sys::process_cpu_ns());
    let (bytes, names) = match job.contender.as_str() {
        "summary" => summary(&job.dir, job.threads)?,
        "gunzip" => gunzip(&job.dir)?,
        "check" | "repair" | "perfetto" => rewrite(&job.contender, &job.dir)?,
        "packets" => packets()?,
        "serde" => typed::<Map<String, Value>>(&job.dir)?,
        "serde-lean" => typed::<IgnoredAny>(&job.dir)?,
        other => return Err(format!("unknown reader `{other}`").into()),
    };
    let (ended, cpu_after) = (sys::monotonic_ns(), sys::process_cpu_ns());
    child::print_answer(&Answer::from([
        ("bytes".to_owned(), bytes as f64),
        ("names".to_owned(), names as f64),
        ("wall_s".to_owned(), (ended - began) as f64 / 1e9),
        ("cpu_s".to_owned(), (cpu_after - cpu_before) as f64 / 1e9),
        ("peak_bytes".to_owned(), sys::peak_resident_bytes() as f64),
    ]))
}

/// The work of the command `summary`: JSON bytes and the number of names.
fn summary(path: &Path, n_workers: usize) -> Outcome<(u64, usize)> {
    let opened = open_file(File::open(path)?)?;
    let mut bytes = 0;
    let counted = Counted { input: opened, n_bytes: &mut bytes };
    let trace = load(counted, &LoadOptions { args: Vec::new(), n_workers })?.trace;
    let nesting = Nesting::with_workers(&trace, n_workers);
    let table = summarize(&trace, &nesting, &Selected::all(&trace), &SummaryOptions::default());
    Ok((bytes, table.rows.len()))
}

fn rewrite(task: &str, path: &Path) -> Outcome<(u64, usize)> {
    let open = || -> Result<Box<dyn std::io::Read + Send>, ferrum_trace_format::Error> {
        let file = File::open(path).expect("the trace was just written");
        Ok(Box::new(open_file(file)?))
    };
    let mut nowhere = std::io::sink();
    match task {
        "check" => drop(check(&open)?),
        "repair" => drop(repair(&open, &mut nowhere, &RepairOptions::default())?),
        _ => drop(convert(Target::Perfetto, &open, &mut nowhere)?),
    }
    Ok((std::fs::metadata(path)?.len(), 0))
}

/// Encodes slices as Perfetto packets; returns their number.
fn packets() -> Outcome<(u64, usize)> {
    const SLICES: u64 = 4_000_000;
    const TRACK: u64 = 7;
    let mut encoder = Encoder::new(0);
    encoder.thread(TRACK, &Thread { process_track: 1, pid: 1, tid: 1, name: "engine", sort_index: None });
    let (name, category) = (encoder.name("rms_norm"), encoder.category("norm"));
    for n in 0..SLICES {
        encoder.begin(n * 40, TRACK, name, Some(category));
        encoder.end(n * 40 + 12, TRACK);
        if n % 4096 == 0 {
            encoder.drain(&mut std::io::sink())?;
        }
    }
    encoder.drain(&mut std::io::sink())?;
    Ok((SLICES, 0))
}

struct Counted<'a, R> {
    input: R,
    n_bytes: &'a mut u64,
}

impl<R: std::io::Read> std::io::Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n_bytes = self.input.read(buffer)?;
        *self.n_bytes += n_bytes as u64;
        Ok(n_bytes)
    }
}

fn gunzip(path: &Path) -> Outcome<(u64, usize)> {
    let mut decoder = flate2::read::MultiGzDecoder::new(File::open(path)?);
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match std::io::Read::read(&mut decoder, &mut buffer)? {
            0 => return Ok((bytes, 0)),
            n_bytes => bytes += n_bytes as u64,
        }
    }
}

/// The events as types, in a straightforward way.
#[derive(Deserialize)]
struct TypedFile<A> {
    #[serde(rename = "traceEvents")]
    events: Vec<TypedEvent<A>>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "a reader parses all fields")]
struct TypedEvent<A> {
    name: String,
    cat: Option<String>,
    ph: char,
    ts: f64,
    dur: Option<f64>,
    pid: Value,
    tid: Value,
    args: Option<A>,
}

fn typed<A: for<'de> Deserialize<'de>>(path: &Path) -> Outcome<(u64, usize)> {
    let text = std::fs::read(path)?;
    let file: TypedFile<A> = serde_json::from_slice(&text)?;
    let mut durations: HashMap<&str, Vec<f64>> = HashMap::new();
    for event in &file.events {
        if let Some(duration) = event.dur {
            durations.entry(&event.name).or_default().push(duration);
        }
    }
    for of_name in durations.values_mut() {
        of_name.sort_by(f64::total_cmp);
    }
    Ok((text.len() as u64, durations.len()))
}
