//! Output of a scene for the test.

/// Writes a line `KEY=NUMBER`.
pub(crate) fn report(key: &str, number: u64) {
    println!("{key}={number}");
}

/// Writes the peak memory of this process in KiB.
pub(crate) fn report_peak_memory() {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel reports it");
    let kib = line.trim().trim_end_matches(" kB").parse().expect("a number");
    report("peak_kib", kib);
}
