//! Threads that displaced another thread from its processor, from the kernel's scheduler tracing. Needs privileges.

use std::fs;
use std::path::{Path, PathBuf};

/// Mount point of the kernel's tracing.
const TRACEFS: &str = "/sys/kernel/tracing";
/// Buffer size per processor; a switch takes about 60 bytes.
const BUFFER_KB: &str = "65536";

/// A running trace of thread switches, in a tracing instance of our own.
pub(crate) struct SchedTrace {
    instance: PathBuf,
}

/// A time during which a runnable thread did not run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Displacement {
    /// Nanoseconds of the monotonic clock.
    pub start_ns: u64,
    pub end_ns: u64,
    /// The thread that had its processor for the longest part of it.
    pub by: String,
    /// Time for which threads of the recorder had its processor meanwhile.
    pub by_recorder_ns: u64,
}

impl SchedTrace {
    /// Returns `None` without the privileges, or if the kernel has no tracing.
    pub(crate) fn start() -> Option<Self> {
        let instance = Path::new(TRACEFS).join("instances").join(format!("ferrum-bench-{}", std::process::id()));
        fs::create_dir(&instance).ok()?;
        let trace = Self { instance };
        let settings = [
            ("trace_clock", "mono"),
            ("buffer_size_kb", BUFFER_KB),
            ("events/sched/sched_switch/enable", "1"),
            ("tracing_on", "1"),
        ];
        settings.iter().try_for_each(|(name, value)| fs::write(trace.instance.join(name), value)).ok()?;
        Some(trace)
    }

    /// The displacements of a thread, by its name.
    pub(crate) fn displacements_of(self, thread: &str) -> Option<Vec<Displacement>> {
        fs::write(self.instance.join("tracing_on"), "0").ok()?;
        let text = fs::read_to_string(self.instance.join("trace")).ok()?;
        Some(displacements(&text, thread))
    }
}

impl Drop for SchedTrace {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.instance);
    }
}

fn displacements(trace: &str, thread: &str) -> Vec<Displacement> {
    let mut found = Vec::new();
    let mut waiting: Option<Waiting> = None;
    for switch in trace.lines().filter_map(Switch::read) {
        if switch.to == thread {
            if let Some(waiting) = waiting.take() {
                found.push(waiting.end(switch.at_ns));
            }
        } else if switch.from == thread {
            waiting = Some(Waiting::begin(&switch));
        } else if let Some(waiting) = waiting.as_mut().filter(|waiting| waiting.processor == switch.processor) {
            waiting.hand_over(&switch);
        }
    }
    found
}

/// A thread that does not run, and the threads on its processor since then.
struct Waiting {
    processor: u32,
    start_ns: u64,
    /// The current thread on the processor, and its start time.
    now: (String, u64),
    /// The thread that had it for the longest time so far.
    longest: (String, u64),
    by_recorder_ns: u64,
}

impl Waiting {
    fn begin(switch: &Switch) -> Self {
        let now = (switch.to.to_owned(), switch.at_ns);
        Self {
            processor: switch.processor,
            start_ns: switch.at_ns,
            now,
            longest: (String::new(), 0),
            by_recorder_ns: 0,
        }
    }

    fn hand_over(&mut self, switch: &Switch) {
        let (by, since_ns) = std::mem::replace(&mut self.now, (switch.to.to_owned(), switch.at_ns));
        let ns = switch.at_ns - since_ns;
        self.by_recorder_ns += if is_recorder(&by) { ns } else { 0 };
        if ns >= self.longest.1 {
            self.longest = (by, ns);
        }
    }

    fn end(self, end_ns: u64) -> Displacement {
        let last_ns = end_ns - self.now.1;
        let by_recorder_ns = self.by_recorder_ns + if is_recorder(&self.now.0) { last_ns } else { 0 };
        let by = if last_ns >= self.longest.1 { self.now.0 } else { self.longest.0 };
        Displacement { start_ns: self.start_ns, end_ns, by, by_recorder_ns }
    }
}

/// Returns true for the name of a thread of the recorder.
fn is_recorder(name: &str) -> bool {
    name.starts_with("ferrum-trace")
}

/// `… [001] d..2. 46558.268088: sched_switch: prev_comm=A prev_pid=1 … ==> next_comm=B next_pid=2 next_prio=120`.
struct Switch<'a> {
    processor: u32,
    at_ns: u64,
    from: &'a str,
    to: &'a str,
}

impl<'a> Switch<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (before, what) = line.split_once(": sched_switch: ")?;
        let (from, to) = what.split_once(" ==> ")?;
        let name = |text: &'a str, key: &str, end: &str| Some(text.split_once(key)?.1.rsplit_once(end)?.0);
        let (seconds, micros) = before.rsplit_once(' ')?.1.split_once('.')?;
        let processor = before.rsplit_once('[')?.1.split_once(']')?.0;
        Some(Self {
            processor: processor.parse().ok()?,
            at_ns: seconds.parse::<u64>().ok()? * 1_000_000_000 + micros.parse::<u64>().ok()? * 1000,
            from: name(from, "prev_comm=", " prev_pid=")?,
            to: name(to, "next_comm=", " next_pid=")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(processor: u32, at: &str, from: &str, to: &str) -> String {
        let of = |kind: &str, name: &str| format!("{kind}_comm={name} {kind}_pid=7 {kind}_prio=120");
        let (from, to) = (of("prev", from), of("next", to));
        format!("  {from}-1 [{processor:03}] d..2. {at}: sched_switch: {from} prev_state=R ==> {to}\n")
    }

    #[test]
    fn the_longest_running_thread_on_the_processor_is_reported() {
        let trace = [
            "# tracer: nop\n".to_owned(),
            line(1, "10.000100", "decoder", "kworker/1:0"),
            line(0, "10.000120", "other", "unrelated"),
            line(1, "10.000150", "kworker/1:0", "ferrum-trace-wr"),
            line(0, "10.000900", "unrelated", "decoder"),
            line(0, "10.001000", "decoder", "swapper/0"),
            line(0, "10.001010", "swapper/0", "decoder"),
        ];
        let displacement = |start_ns, end_ns, by: &str, by_recorder_ns| Displacement {
            start_ns,
            end_ns,
            by: by.to_owned(),
            by_recorder_ns,
        };
        let expected = [
            displacement(10_000_100_000, 10_000_900_000, "ferrum-trace-wr", 750_000),
            displacement(10_001_000_000, 10_001_010_000, "swapper/0", 0),
        ];
        assert_eq!(displacements(&trace.concat(), "decoder"), expected);
    }
}
