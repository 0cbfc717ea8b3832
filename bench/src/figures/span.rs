//! Cost of one span for the thread that records it.

use std::sync::Barrier;

use super::against;
use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::{Contender, Outcome, Work};
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};

/// Threads of the three cases; eight are more than the cores of many machines, on purpose.
const THREADS: [usize; 3] = [1, 2, 8];

/// From this number of threads the batch of a thread is a quarter, so that eight threads take no longer than two.
const MANY_THREADS: usize = 8;

#[derive(Debug, Clone, Copy)]
struct Case {
    threads: usize,
    args: bool,
}

/// CPU and wall nanoseconds per span of a contender, one value per round.
#[derive(Default)]
struct Times {
    cpu: Rounds,
    wall: Rounds,
}

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let cases = [false, true].map(|args| THREADS.map(|threads| Case { threads, args })).concat();
    let contenders: Vec<_> = args.contenders().into_iter().filter(|contender| contender.times_spans()).collect();
    let mut times: Vec<Vec<Times>> = Vec::new();
    times.resize_with(cases.len(), || contenders.iter().map(|_| Times::default()).collect());
    for round in 1..=args.rounds {
        crate::print_message(&format!("  round {round} of {}", args.rounds));
        for (case, times) in cases.iter().zip(&mut times) {
            for (contender, times) in contenders.iter().zip(times) {
                if case.args && !contender.takes_args() {
                    continue;
                }
                let answer = job(*contender, *case).run()?;
                times.cpu.push(answer["cpu_ns"]);
                times.wall.push(answer["wall_ns"]);
            }
        }
    }
    Ok(cases.iter().zip(&times).map(|(case, times)| table(*case, &contenders, times)).collect())
}

/// Warm-up, then all threads at once, each timed by its own CPU clock; wall time is from the first start to the last
/// end.
pub(crate) fn child(job: &Job) -> Outcome {
    let contender = job.contender()?;
    let dir = job.dir.clone();
    contender.start(&dir, job.work())?;
    let line = Barrier::new(job.threads);
    let laps: Vec<Lap> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..job.threads).map(|_| scope.spawn(|| one_thread(contender, job.work(), &line))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no contender panics")).collect()
    });
    contender.verify((job.spans + contender.warm_up()) * job.threads as u64)?;
    let began = laps.iter().map(|lap| lap.began_ns).min().unwrap_or_default();
    let ended = laps.iter().map(|lap| lap.ended_ns).max().unwrap_or_default();
    let cpu: u64 = laps.iter().map(|lap| lap.cpu_ns).sum();
    let spans = job.spans as f64;
    child::print_answer(&Answer::from([
        ("cpu_ns".to_owned(), cpu as f64 / spans / job.threads as f64),
        ("wall_ns".to_owned(), (ended - began) as f64 / spans),
    ]))?;
    sys::exit_now()
}

struct Lap {
    began_ns: u64,
    ended_ns: u64,
    cpu_ns: u64,
}

fn one_thread(contender: &dyn Contender, work: Work, line: &Barrier) -> Lap {
    let warm_up = Work { spans: contender.warm_up(), ..work };
    contender.reserve(Work { spans: work.spans + warm_up.spans, ..work });
    contender.record(warm_up);
    line.wait();
    let began_ns = sys::monotonic_ns();
    let cpu_before = sys::thread_cpu_ns();
    contender.record(work);
    let cpu_ns = sys::thread_cpu_ns() - cpu_before;
    let ended_ns = sys::monotonic_ns();
    // No thread exits (and releases its core, or flushes its buffers) while another is still timed.
    line.wait();
    Lap { began_ns, ended_ns, cpu_ns }
}

fn job(contender: &dyn Contender, case: Case) -> ScratchJob {
    let share = if case.threads >= MANY_THREADS { 4 } else { 1 };
    let job = Job {
        threads: case.threads,
        spans: contender.batch() / share,
        args: case.args,
        ..Job::new(Task::Span, contender.name())
    };
    ScratchJob(job)
}

/// A job whose folder lives as long as the child.
struct ScratchJob(Job);

impl ScratchJob {
    fn run(self) -> Outcome<Answer> {
        let scratch = tempfile::tempdir()?;
        Job { dir: scratch.path().to_owned(), ..self.0 }.run()
    }
}

fn table(case: Case, contenders: &[&'static dyn Contender], times: &[Times]) -> Table {
    let floor = &times[0];
    let rows = contenders.iter().zip(times).map(|(contender, times)| {
        let mut row = vec![Cell::text(contender.name())];
        if case.args && !contender.takes_args() {
            row.extend(std::iter::repeat_n(Cell::Absent("no args"), 8));
        } else {
            row.extend(against(&times.cpu, &floor.cpu, 1));
            row.extend(against(&times.wall, &floor.wall, 1));
        }
        row
    });
    let args = if case.args { "2 integer arguments" } else { "no arguments" };
    let threads = if case.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", case.threads) };
    Table {
        title: format!("Span, {args}, {threads}"),
        note: "Nanoseconds per span: CPU time of the recording thread, and wall time of the batch. \
               Ratios are to the floor's minimum and median of this run."
            .to_owned(),
        columns: vec![
            "contender",
            "cpu min",
            "cpu med",
            "x min",
            "x med",
            "wall min",
            "wall med",
            "x wall min",
            "x wall med",
        ],
        rows: rows.collect(),
    }
}
