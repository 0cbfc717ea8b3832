//! Simulated ranks on hosts with clocks that are off, and their traces.

use crate::input;
use ferrum_trace_analyze::merge::Input;
use std::fmt::Write as _;

/// A host, and the error of its clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    /// Nanoseconds by which its wall clock is ahead.
    pub offset_ns: i64,
    /// Parts per billion by which its clocks run too fast.
    pub drift_ppb: i64,
    /// Number of ranks.
    pub n_ranks: u32,
}

/// Tool that writes the traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// Our recorder.
    Ferrum,
    /// torch's profiler.
    Torch,
}

/// Work of all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// The tool that writes the traces.
    pub writer: Writer,
    /// Number of steps, each with a collective.
    pub n_steps: u32,
    /// Approximate duration of a step.
    pub step_ns: i64,
    /// Minimum time until all ranks are notified that the last one has arrived.
    pub network_ns: i64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Begin of the simulation, since 1970.
const EPOCH_NS: i64 = 1_800_000_000_000_000_000;

/// Reproducible random numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number from zero to below `end`.
    pub(crate) fn below(&mut self, end: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end.max(1) as u64) as i64
    }
}

/// A step of a rank, in true time.
#[derive(Clone, Copy, Debug)]
struct Span {
    begin: i64,
    end: i64,
}

/// Returns all traces, in the order of ranks.
pub(crate) fn traces(hosts: &[Host], work: &Work) -> Vec<Input> {
    let host_of: Vec<usize> = hosts.iter().enumerate().flat_map(|(n, host)| vec![n; host.n_ranks as usize]).collect();
    let mut random = Random::new(work.seed);
    let mut ready = vec![0_i64; host_of.len()];
    let mut collectives: Vec<Vec<Span>> = vec![Vec::new(); host_of.len()];
    for _ in 0..work.n_steps {
        let begins: Vec<i64> =
            ready.iter().map(|ready| ready + work.step_ns / 2 + random.below(work.step_ns / 2)).collect();
        let last = begins.iter().copied().max().unwrap_or(0);
        for (rank, &begin) in begins.iter().enumerate() {
            let end = last + work.network_ns + random.below(work.network_ns);
            collectives[rank].push(Span { begin, end });
            ready[rank] = end;
        }
    }
    let traces = collectives.iter().enumerate().map(|(rank, spans)| {
        let host = host_of[rank];
        let json = match work.writer {
            Writer::Ferrum => ferrum(rank, host, &hosts[host], spans),
            Writer::Torch => torch(rank, host, &hosts[host], spans),
        };
        input(&format!("worker-{rank}.json"), &json)
    });
    traces.collect()
}

impl Host {
    /// Returns the time of its clock at a true time since the begin.
    pub(crate) fn clock(&self, time: i64) -> i64 {
        time + (i128::from(time) * i128::from(self.drift_ppb)).div_euclid(1_000_000_000) as i64
    }
}

fn micros(nanos: i64) -> String {
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}

fn event(out: &mut String, name: &str, category: &str, ids: (u32, u32), host: &Host, span: Span, shift: i64) {
    let (begin, end) = (host.clock(span.begin) - shift, host.clock(span.end) - shift);
    let (start, duration) = (micros(begin), micros(end - begin));
    let (pid, tid) = ids;
    let _ = writeln!(
        out,
        "{{\"ph\":\"X\",\"name\":\"{name}\",\"cat\":\"{category}\",\"ts\":{start},\"dur\":{duration},\"pid\":{pid},\"tid\":{tid},\
         \"args\":{{\"true_begin\":{},\"true_end\":{}}}}},",
        span.begin, span.end
    );
}

/// Steps from the end of one collective to the end of the next, and the collectives in them.
fn spans(out: &mut String, names: [&str; 4], ids: (u32, u32), host: &Host, spans: &[Span], shift: i64) {
    let mut before = spans.first().map_or(0, |span| span.begin / 2);
    for span in spans {
        event(out, names[0], names[1], ids, host, Span { begin: before, end: span.end }, shift);
        event(out, names[2], names[3], ids, host, *span, shift);
        before = span.end;
    }
}

/// A trace of our recorder: times count from the start of the recording. All hosts use the same numbers for processes.
fn ferrum(rank: usize, n: usize, host: &Host, of_rank: &[Span]) -> String {
    let pid = 4000 + rank as u32 % 2;
    // The monotonic clock has another zero, and the recording begins a little later on each rank.
    let start = host.clock(1000 * rank as i64);
    let mut out = "[\n".to_owned();
    spans(&mut out, ["decode", "step", "all_reduce", "comm"], (pid, pid), host, of_rank, start);
    let monotonic = 7_000_000_000_000 * (n as i64 + 1) + start;
    let unix = EPOCH_NS + host.offset_ns + start;
    let _ = write!(
        out,
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"tid\":{pid},\"args\":{{\"name\":\"engine\"}}}},\n\
         {{\"ph\":\"M\",\"name\":\"ferrum_trace\",\"pid\":{pid},\"tid\":{pid},\"args\":{{\"start_monotonic_ns\":{monotonic},\
         \"start_unix_ns\":{unix},\"pid\":{pid},\"rank\":{rank},\"host\":\"node{n}\",\"boot_id\":\"boot-{n}\"}}}}\n]\n"
    );
    out
}

/// A trace of torch's profiler.
fn torch(rank: usize, n: usize, host: &Host, of_rank: &[Span]) -> String {
    let pid = 4000 + rank as u32 % 2;
    let mut out = format!(
        "{{\"schemaVersion\":1,\"distributedInfo\":{{\"backend\":\"gloo\",\"rank\":{rank}}},\"host_name\":\"node{n}\",\
         \"baseTimeNanoseconds\":{},\"traceEvents\":[\n",
        EPOCH_NS + host.offset_ns
    );
    spans(&mut out, ["prefill", "user_annotation", "gloo:all_reduce", "user_annotation"], (pid, pid), host, of_rank, 0);
    let _ = write!(
        out,
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"tid\":0,\"args\":{{\"name\":\"python\"}}}}\n]}}\n"
    );
    out
}
