//! Spans, and scenes about the output file.

use super::full_disk::fill;
use super::report::report;
use ferrum_trace::span;
use std::io::Read;

pub(crate) fn some_spans(n: u64) {
    record(n);
    report("pushed", n);
}

fn record(n: u64) {
    for n in 0..n {
        let _span = span!("span", "paths", n);
    }
}

/// Records one span here and one in another directory.
pub(crate) fn change_of_directory(to: &str) {
    record(1);
    std::env::set_current_dir(to).expect("a directory");
    record(1);
}

/// Records, reports it, and waits.
pub(crate) fn wait_to_be_killed(n: u64) {
    record(n);
    report("pushed", n);
    std::io::stdin().read_to_end(&mut Vec::new()).expect("nothing to read");
}

/// Reads the output file while recording continues, and after a flush.
pub(crate) fn look_at_the_output(output: &str) {
    let look = || std::fs::read_to_string(output).unwrap_or_default();
    let before = look();
    record(10);
    report("intact_while_recording", u64::from(look() == before));
    ferrum_trace::flush().expect("the trace can be written");
    report("replaced_by_flush", u64::from(look() != before));
    record(10);
}

/// Records before, while and after something else fills the disk to its last byte.
pub(crate) fn fill_the_disk(filler: &str) {
    const BEFORE: u64 = 20_000;
    // More than the recorder may have reserved before.
    const AFTER: u64 = 1_000_000;
    std::thread::scope(|scope| {
        scope.spawn(|| record(BEFORE));
        scope.spawn(|| record(BEFORE));
    });
    std::thread::scope(|scope| {
        scope.spawn(|| record(AFTER));
        fill(filler);
        record(AFTER);
    });
    report("pushed", 2 * BEFORE + 2 * AFTER);
}
