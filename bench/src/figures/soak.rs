//! A flight recorder at full speed on all cores for minutes: checks that memory and disk stay constant, that nothing is
//! lost, and that its triggers fire exactly when a step was slow.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::{DumpLimits, Recorder, StepLimit, Trigger, span};
use serde_json::Value;

use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::Outcome;
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};

/// Size of the ring.
const RING_BYTES: u64 = 64 << 20;
/// Duration of a planted slow step.
const SLOW: Duration = Duration::from_millis(400);
/// Limit of the trigger: far above the effect of another program on the same cores.
const TOO_SLOW: Duration = Duration::from_millis(200);
/// Interval of slow steps.
const PLANTED_EVERY: Duration = Duration::from_secs(20);
/// Post-roll of a dump.
const AFTER: Duration = Duration::from_secs(1);
/// Interval of memory and disk measurements.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LAYERS: usize = 64;

/// Runs once, for the selected duration.
pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let scratch = tempfile::tempdir()?;
    let dir = args.keep.clone().unwrap_or_else(|| scratch.path().to_owned());
    std::fs::create_dir_all(&dir)?;
    if let Some(dump) = dumps_in(&dir)?.first() {
        return Err(format!("{}: expected a folder without dumps of an earlier run", dump.display()).into());
    }
    let threads = std::thread::available_parallelism()?.get();
    let job =
        Job { threads, spans: 60 * u64::from(args.minutes), dir: dir.clone(), ..Job::new(Task::Soak, "ferrum-trace") };
    let answer = job.run()?;
    let dumps = dumps_in(&dir)?;
    let sound = dumps.iter().map(|dump| slow_steps_of(dump)).collect::<Outcome<Vec<_>>>()?;
    Ok(vec![table(&answer, &sound)])
}

fn table(answer: &Answer, dumps: &[usize]) -> Table {
    let figure = |name: &str, decimals| Cell::number(answer[name], decimals);
    let rows = [
        ("minutes at full speed", figure("minutes", 1)),
        ("threads", figure("threads", 0)),
        ("spans recorded, millions", figure("million spans", 0)),
        ("spans a second, millions", figure("million spans a second", 1)),
        ("lost", figure("lost", 0)),
        ("bytes of spool, at most, MiB", figure("spool MiB max", 1)),
        ("resident memory after the first tenth, at least, MiB", figure("resident MiB min", 1)),
        ("resident memory after the first tenth, at most, MiB", figure("resident MiB max", 1)),
        ("resident memory at the end, MiB", figure("resident MiB end", 1)),
        ("steps planted to be slow", figure("planted", 0)),
        ("steps that were slow by the engine's own clock", figure("slow", 0)),
        ("dumps written", Cell::number(dumps.len() as f64, 0)),
        (
            "dumps with exactly one step marked as their trigger",
            Cell::number(dumps.iter().filter(|&&n| n == 1).count() as f64, 0),
        ),
        ("dumps refused", figure("refused", 0)),
    ];
    Table {
        title: "Soak".to_owned(),
        note: format!(
            "A flight recorder of {} MiB, an engine's steps on one thread and spans without pause on all others. Every {} s a step takes \
             {} ms; the trigger is `step>{}ms`, and each dump is read again. Memory and disk are looked at once a second; the \
             spool's own pages count as resident.",
            RING_BYTES >> 20,
            PLANTED_EVERY.as_secs(),
            SLOW.as_millis(),
            TOO_SLOW.as_millis()
        ),
        columns: vec!["what", "figure"],
        rows: rows.into_iter().map(|(what, figure)| vec![Cell::text(what), figure]).collect(),
    }
}

fn dumps_in(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let names = std::fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    Ok(names.into_iter().filter(|path| path.to_string_lossy().contains(".dump-")).collect())
}

/// Number of steps that are marked as the reason of this dump.
fn slow_steps_of(dump: &Path) -> Outcome<usize> {
    let events: Vec<Value> = serde_json::from_slice(&std::fs::read(dump)?)?;
    let about = events
        .iter()
        .find(|event| event["name"] == "ferrum_trace")
        .ok_or("expected metadata `ferrum_trace` in the dump")?;
    if about["args"]["dropped"] != 0 {
        return Err(format!("{}: events were lost", dump.display()).into());
    }
    let is_slow = |event: &&Value| event["cat"] == "step" && event["args"]["trigger"].is_string();
    Ok(events.iter().filter(is_slow).count())
}

/// State shared by the threads of the child.
#[derive(Default)]
struct Progress {
    is_over: AtomicBool,
    spans: AtomicU64,
}

pub(crate) fn child(job: &Job) -> Outcome {
    let seconds = job.spans;
    let limits = DumpLimits { files: u32::MAX, bytes: u64::MAX, every: Duration::ZERO, after: AFTER };
    let recorder = Recorder::builder()
        .path(job.dir.join("soak.json"))
        .ring(RING_BYTES)
        .dumps(limits)
        .trigger(Trigger::Step { phase: None, over: StepLimit::Time(TOO_SLOW) })
        .start()?;
    let progress = Progress::default();
    let mut answer = Answer::new();
    let mut looks = Vec::new();
    let (planted, slow) = std::thread::scope(|scope| {
        let engine = scope.spawn(|| run_engine(&progress));
        for _ in 1..job.threads {
            scope.spawn(|| record_without_pause(&progress));
        }
        for _ in 0..seconds {
            std::thread::sleep(LOOK_EVERY);
            looks.push((sys::resident_bytes(), spool_bytes(&job.dir)));
        }
        progress.is_over.store(true, Ordering::Relaxed);
        engine.join().unwrap_or_default()
    });
    // The last dump is being written.
    std::thread::sleep(AFTER + LOOK_EVERY);
    let settled = &looks[looks.len() / 10..];
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let resident: Rounds = settled.iter().map(|look| mib(look.0)).collect();
    let stats = recorder.finish()?;
    let millions = progress.spans.load(Ordering::Relaxed) as f64 / 1e6;
    for (name, figure) in [
        ("minutes", seconds as f64 / 60.0),
        ("threads", job.threads as f64),
        ("million spans", millions),
        ("million spans a second", millions / seconds as f64),
        ("lost", stats.dropped as f64),
        ("spool MiB max", looks.iter().map(|look| mib(look.1)).fold(0.0, f64::max)),
        ("resident MiB min", resident.min().unwrap_or(0.0)),
        ("resident MiB max", resident.max().unwrap_or(0.0)),
        ("resident MiB end", looks.last().map_or(0.0, |look| mib(look.0))),
        ("planted", planted as f64),
        ("slow", slow as f64),
        ("refused", stats.dumps_refused as f64),
    ] {
        answer.insert(name.to_owned(), figure);
    }
    child::print_answer(&answer)
}

/// Disk space of the spool.
fn spool_bytes(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(dir.join("soak.json.spool")).map_or(0, |file| 512 * file.blocks())
}

/// Steps of an engine, some of them slow. Returns the number of planted slow steps, and the number that took too long
/// by the clock.
fn run_engine(progress: &Progress) -> (u64, u64) {
    let (mut planted, mut slow) = (0, 0);
    let mut next = Instant::now() + PLANTED_EVERY / 2;
    for n in 0usize.. {
        if progress.is_over.load(Ordering::Relaxed) {
            break;
        }
        let began = Instant::now();
        let is_planted = began >= next;
        {
            let _step = llm::step(Step {
                phase: Phase::Decode,
                batch: 8,
                prefill_tokens: 0,
                decode_tokens: 8,
                context_tokens: n,
            });
            for layer in 0..LAYERS {
                let _layer = llm::layer(layer);
                drop(llm::op!("qkv_proj", Gemm, layer, m = 8));
            }
            if is_planted {
                std::thread::sleep(SLOW);
            }
        }
        progress.spans.fetch_add(2 * LAYERS as u64 + 1, Ordering::Relaxed);
        slow += u64::from(began.elapsed() > TOO_SLOW);
        if is_planted {
            planted += 1;
            next += PLANTED_EVERY;
        }
    }
    (planted, slow)
}

fn record_without_pause(progress: &Progress) {
    const BATCH: u64 = 1000;
    while !progress.is_over.load(Ordering::Relaxed) {
        for i in 0..BATCH {
            let _span = span!("busy", "soak", i);
        }
        progress.spans.fetch_add(BATCH, Ordering::Relaxed);
    }
}
