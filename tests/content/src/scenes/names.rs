//! Names: very many, very long, and strange.

use super::report::{report, report_peak_memory};
use content::texts::strange;
use ferrum_trace::{Span, Timestamp, Track, instant, span};

/// `n` names created at run time, each used once; then the first and the last hundred again.
pub(crate) fn distinct(n: u64) {
    let again = (0..100.min(n)).chain(n.saturating_sub(100)..n);
    for number in (0..n).chain(again) {
        drop(Span::dynamic(&format!("name number {number}"), "names"));
    }
    finish();
}

/// `n` names of 8 KiB created at run time, from a number and a letter.
pub(crate) fn long(n: u64, letter: &str) {
    let rest = letter.repeat(8184);
    for number in 0..n {
        let name = format!("{number:08}{rest}");
        drop(Span::dynamic(&name, "names"));
    }
    finish();
}

fn finish() {
    if ferrum_trace::is_on() {
        let stats = ferrum_trace::finish().expect("the trace can be written");
        report("recorded", stats.recorded);
    }
    report_peak_memory();
}

macro_rules! ten_times {
    ($($text:tt)+) => {
        concat!(
            $($text)+, $($text)+, $($text)+, $($text)+, $($text)+, $($text)+, $($text)+, $($text)+, $($text)+, $($text)+
        )
    };
}

/// 10,000 bytes: more than the recorder keeps of a text.
const LONG: &str = ten_times!(ten_times!(ten_times!("0123456789")));

/// 50,000 bytes: more than a chunk of the spool.
const LONGER_THAN_A_CHUNK: &str =
    ten_times!(ten_times!(ten_times!("01234567890123456789012345678901234567890123456789")));

/// Constants as names, too long to keep.
pub(crate) fn long_constants() {
    drop(span!(LONG, "ten thousand"));
    drop(span!(LONG, "ten thousand with an argument", n = 1));
    drop(span!(LONGER_THAN_A_CHUNK, "fifty thousand"));
    let mut laps = ferrum_trace::laps!("laps", "laps");
    laps.mark(LONGER_THAN_A_CHUNK);
    drop(laps);
    instant!(LONGER_THAN_A_CHUNK, "instant");
}

/// Threads, tracks and the process with names that are hard to write.
pub(crate) fn strange_threads_and_tracks() {
    for (n, text) in strange().iter().enumerate() {
        let now = Timestamp::now();
        Track::new(text.as_str()).sort(n as i64).complete_at("on a track", "names", now, now);
        // Names of operating system threads cannot contain NUL.
        let builder = std::thread::Builder::new().name(text.replace('\0', ""));
        builder.spawn(move || instant!("on a thread", "names", n)).expect("a thread").join().expect("it ends");
        let renamed = text.clone();
        let rename = move || {
            ferrum_trace::set_thread_name(&renamed);
            instant!("on a renamed thread", "names", n);
        };
        std::thread::spawn(rename).join().expect("it ends");
    }
    ferrum_trace::set_process_name("a \"process\" \0 🦀");
}

/// Names of the process and of threads, longer than a chunk of the spool.
pub(crate) fn long_processes_and_threads() {
    ferrum_trace::set_process_name(LONGER_THAN_A_CHUNK);
    ferrum_trace::set_thread_name(LONGER_THAN_A_CHUNK);
    instant!("here");
}
