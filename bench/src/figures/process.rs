//! Cost of recording for the whole process until the file is finished, and the readable events after a kill.

use std::path::Path;

use crate::args::Args;
use crate::child::{self, Answer, Job, Task, first_answer};
use crate::contenders::{Contender, Outcome, Readable};
use crate::rounds::Rounds;
use crate::start::Start;
use crate::sys;
use crate::table::{Cell, Table};

/// As many as the smallest default ring of the peers holds, so that none loses spans by design.
const SPANS: u64 = 1_000_000;
/// Whole processes vary less than single spans, and the slowest takes seconds.
const MOST_ROUNDS: u32 = 3;

/// Results of one contender, one value per round.
#[derive(Default)]
struct Figures {
    cpu_ns: Rounds,
    finish_s: Rounds,
    peak_mib: Rounds,
    memory_bytes: Rounds,
    disk_bytes: Rounds,
    /// The minimum over the files of all rounds.
    readable: Option<Readable>,
}

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    [false, true].into_iter().map(|with_args| table(args, with_args)).collect()
}

fn table(args: &Args, with_args: bool) -> Outcome<Table> {
    let contenders: Vec<_> =
        args.contenders().into_iter().filter(|contender| contender.takes_args() || !with_args).collect();
    let mut figures: Vec<Figures> = Vec::new();
    figures.resize_with(contenders.len(), Figures::default);
    for _ in 0..args.rounds.min(MOST_ROUNDS) {
        for (contender, figures) in contenders.iter().zip(&mut figures) {
            measure(*contender, with_args, figures)?;
        }
    }
    let mut rows = Vec::new();
    for (contender, figures) in contenders.iter().zip(&figures) {
        let survivors = if with_args { None } else { Some(survivors(*contender)?) };
        rows.push(row(*contender, figures, survivors));
    }
    let mut columns = vec![
        "contender",
        "output",
        "cpu min",
        "cpu med",
        "finish s",
        "peak MiB",
        "RSS B/span",
        "disk B/span",
        "readable",
    ];
    if with_args {
        rows.iter_mut().for_each(|row| row.truncate(columns.len()));
    } else {
        columns.push("after kill -9");
    }
    Ok(Table {
        title: format!("Process, {} arguments", if with_args { "2 integer" } else { "no" }),
        note: format!(
            "{SPANS} spans on 1 thread, then the file is finished. Nanoseconds per span of user and system time of all threads \
             from `main` on, seconds from the last span to the finished file, highest resident memory, growth of resident memory while \
             recording, size of the files, spans found in them. Medians of {} rounds, \
             of the CPU time also the minimum.",
            args.rounds.min(MOST_ROUNDS)
        ),
        columns,
        rows,
    })
}

fn measure(contender: &dyn Contender, with_args: bool, figures: &mut Figures) -> Outcome {
    let scratch = tempfile::tempdir()?;
    let job = Job {
        spans: SPANS,
        args: with_args,
        dir: scratch.path().to_owned(),
        ..Job::new(Task::Process, contender.name())
    };
    let answer = job.run()?;
    figures.cpu_ns.push(answer["cpu_ns"]);
    figures.finish_s.push(answer["finish_s"]);
    figures.peak_mib.push(answer["peak_mib"]);
    figures.memory_bytes.push(answer["memory_bytes"]);
    figures.disk_bytes.push(size_of_files(scratch.path())? as f64 / SPANS as f64);
    let found = contender.readable(scratch.path())?;
    figures.readable = Some(match (figures.readable, found) {
        (Some(Readable::Spans(before)), Readable::Spans(now)) => Readable::Spans(before.min(now)),
        _ => found,
    });
    Ok(())
}

fn row(contender: &dyn Contender, figures: &Figures, survivors: Option<Readable>) -> Vec<Cell> {
    let writes = matches!(figures.readable, Some(Readable::Spans(_)));
    let if_file = |cell: Cell| if writes { cell } else { Cell::Absent("-") };
    vec![
        Cell::text(contender.name()),
        Cell::text(contender.output()),
        Cell::maybe(figures.cpu_ns.min(), 1),
        Cell::maybe(figures.cpu_ns.median(), 1),
        if_file(Cell::maybe(figures.finish_s.median(), 3)),
        Cell::maybe(figures.peak_mib.median(), 0),
        Cell::maybe(figures.memory_bytes.median(), 1),
        if_file(Cell::maybe(figures.disk_bytes.median(), 1)),
        found(figures.readable),
        found(survivors),
    ]
}

fn found(readable: Option<Readable>) -> Cell {
    match readable {
        Some(Readable::Spans(spans)) => Cell::number(spans as f64, 0),
        Some(Readable::NoFile(why)) => Cell::Absent(why),
        None => Cell::Absent("-"),
    }
}

/// Lets a child record, kills it when it reports that, and counts the readable spans.
fn survivors(contender: &dyn Contender) -> Outcome<Readable> {
    let scratch = tempfile::tempdir()?;
    let job = Job { spans: SPANS, dir: scratch.path().to_owned(), ..Job::new(Task::Kill, contender.name()) };
    let mut child = job.spawn()?;
    let answer = first_answer(&mut child);
    child.kill()?;
    child.wait()?;
    let recorded = answer?["recorded"];
    assert_eq!(recorded as u64, SPANS, "the child has recorded all spans");
    contender.readable(scratch.path())
}

/// Records on the main thread and finishes, as a program without threads would.
pub(crate) fn child(job: &Job, start: Start) -> Outcome {
    let contender = job.contender()?;
    let resident_before = sys::resident_bytes();
    contender.start(&job.dir, job.work())?;
    contender.reserve(job.work());
    contender.record(job.work());
    let last_span_ns = sys::monotonic_ns();
    let resident_after = sys::resident_bytes();
    contender.finish(&job.dir)?;
    let finished_ns = sys::monotonic_ns();
    let cpu_ns = sys::process_cpu_ns() - start.cpu_ns;
    let spans = job.spans as f64;
    child::print_answer(&Answer::from([
        ("cpu_ns".to_owned(), cpu_ns as f64 / spans),
        ("finish_s".to_owned(), (finished_ns - last_span_ns) as f64 / 1e9),
        ("peak_mib".to_owned(), sys::peak_resident_bytes() as f64 / f64::from(1 << 20)),
        ("memory_bytes".to_owned(), resident_after.saturating_sub(resident_before) as f64 / spans),
    ]))?;
    sys::exit_now()
}

/// Records, reports that, and waits to be killed.
pub(crate) fn child_to_kill(job: &Job) -> Outcome {
    let contender = job.contender()?;
    contender.start(&job.dir, job.work())?;
    contender.reserve(job.work());
    contender.record(job.work());
    child::print_answer(&Answer::from([("recorded".to_owned(), job.spans as f64)]))?;
    loop {
        std::thread::park();
    }
}

fn size_of_files(dir: &Path) -> Outcome<u64> {
    let mut total = 0;
    for entry in std::fs::read_dir(dir)? {
        total += entry?.metadata()?.len();
    }
    Ok(total)
}
