//! What a scene tells the test.

/// A line `KEY=NUMBER`.
pub fn say(key: &str, number: u64) {
    println!("{key}={number}");
}

/// The most memory that this process has had, in KiB.
pub fn say_peak_memory() {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel tells");
    let kib = line.trim().trim_end_matches(" kB").parse().expect("a number");
    say("peak_kib", kib);
}
