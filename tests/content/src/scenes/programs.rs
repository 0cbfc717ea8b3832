//! Runs a program of guards, marks and explicit times.

use super::report::report;
use content::program::{Guard, MARKS, Op, Program, TRACKS, dynamic_name, mark_name, track_slice_name};
use ferrum_trace::{DynamicSpan, Laps, Span, Timestamp, TraceWriter, Track, complete_at, global_trace, laps, span};
use std::io::Read;
use std::time::Duration;

/// A guard of any kind; dropping it ends it.
#[allow(dead_code, reason = "the guards are only dropped")]
enum Open {
    Span(Span<1>),
    SpanWithText(Span<2>),
    SpanWithMany(Span<6>),
    Dynamic(DynamicSpan),
    Laps(Laps<1>),
}

impl Open {
    fn as_laps(&mut self) -> Option<&mut Laps<1>> {
        match self {
            Self::Laps(laps) => Some(laps),
            _ => None,
        }
    }
}

/// State shared by the threads.
struct Stage {
    base: Timestamp,
    tracks: [Track; 2],
    own: TraceWriter,
}

pub(crate) fn play(own_path: &str) {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("a program");
    let program: Program = text.parse().expect("a program");
    // Some time after the start of the trace, so that begins can be before the base.
    assert!(ferrum_trace::is_on());
    let base = Timestamp::now() + Duration::from_millis(1);
    report("base", base.monotonic_nanos());
    let stage = Stage { base, tracks: TRACKS.map(Track::new), own: TraceWriter::enabled(own_path.into()) };
    std::thread::scope(|scope| {
        for (thread, ops) in program.threads.iter().enumerate() {
            let stage = &stage;
            let builder = std::thread::Builder::new().name(Program::thread_name(thread));
            builder.spawn_scoped(scope, move || play_thread(stage, thread, ops)).expect("a thread");
        }
    });
}

fn play_thread(stage: &Stage, thread: usize, ops: &[Op]) {
    let mut open: Vec<Open> = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let id = Program::id(thread, at);
        match *op {
            Op::Open(guard) => open.push(opened(guard, id)),
            Op::Drop(slot) if !open.is_empty() => drop(open.remove(slot % open.len())),
            Op::Forget(slot) if !open.is_empty() => std::mem::forget(open.remove(slot % open.len())),
            Op::Mark(slot, name) => mark(&mut open, slot, name, id),
            Op::Instant => ferrum_trace::instant!("instant", "nesting", id),
            Op::CompleteAt(track, begin, duration, is_named) => {
                complete(stage, track, begin, duration, is_named, id);
            }
            Op::Push(own, tid, duration) => push(if own { &stage.own } else { global_trace() }, tid, duration, id),
            Op::Flush => {
                ferrum_trace::flush().expect("the trace can be written");
                stage.own.flush().expect("the trace can be written");
            }
            Op::Work(rounds) => work(rounds),
            Op::Drop(_) | Op::Forget(_) => {}
        }
    }
    while let Some(last) = open.pop() {
        drop(last);
    }
}

fn opened(guard: Guard, id: u64) -> Open {
    match guard {
        Guard::Span => Open::Span(span!("span", "nesting", id)),
        Guard::SpanWithText => Open::SpanWithText(span!("span with text", "nesting", id, text = long_text(id))),
        Guard::SpanWithMany => {
            Open::SpanWithMany(span!("span with many", id, b = true, c = -1, d = 0.5, e = "e", f = 'f'))
        }
        Guard::Dynamic => Open::Dynamic(Span::dynamic(&dynamic_name(id), "nesting")),
        Guard::Laps => Open::Laps(laps!("laps", "nesting", id)),
    }
}

fn long_text(id: u64) -> String {
    format!("a text that is copied, of {id}")
}

fn mark(open: &mut [Open], slot: usize, name: Option<usize>, id: u64) {
    let mut laps: Vec<&mut Laps<1>> = open.iter_mut().filter_map(Open::as_laps).collect();
    let n_laps = laps.len();
    if n_laps > 0 {
        let name = name.map_or_else(|| &*mark_name(id).leak(), |name| MARKS[name % MARKS.len()]);
        laps[slot % n_laps].mark(name);
    }
}

fn complete(stage: &Stage, track: usize, begin: i64, duration: u64, is_named: bool, id: u64) {
    let track = &stage.tracks[track % TRACKS.len()];
    let begin = Timestamp::from_monotonic_nanos(stage.base.monotonic_nanos().saturating_add_signed(begin));
    let end = begin + Duration::from_nanos(duration);
    if is_named {
        track.complete_at(&track_slice_name(id), "nesting", begin, end);
    } else {
        complete_at!(track, begin, end, "gemm", "nesting", id);
    }
}

fn push(writer: &TraceWriter, tid: u32, duration: u64, id: u64) {
    let args = serde_json::Map::from_iter([("id".to_owned(), id.into())]);
    writer.push_with_args("pushed", "nesting", duration as f64 / 1e6, tid, args);
}

fn work(rounds: u32) {
    for round in 0..rounds {
        std::hint::black_box(round);
    }
}

/// Slices that begin with nothing between them: their begins can differ by less than a nanosecond of the processor's
/// counter.
pub(crate) fn tight_nesting(n: u64) {
    for _ in 0..n {
        let _outer = span!("outer", "nesting");
        let _middle = span!("middle", "nesting");
        let _inner = span!("inner", "nesting");
        let mut laps = laps!("laps", "nesting");
        laps.mark(MARKS[0]);
        laps.mark(MARKS[1]);
    }
}
