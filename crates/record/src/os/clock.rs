//! The only file that reads clocks.
//!
//! The fast clock is the processor's cycle counter. It is used only where it runs at one rate in all power states of
//! the processor and the kernel itself trusts it across cores. Otherwise the system's monotonic clock is read, and made
//! to advance between any two reads of a thread. Ticks become nanoseconds when the file is written, by interpolation
//! between calibration points that are taken at the start, from time to time, and at each flush.
#![allow(unsafe_code)]

use std::cell::Cell;

/// The clock that times are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockKind {
    /// The processor's counter.
    Ticks,
    /// The system's monotonic clock.
    Monotonic,
}

/// Reads the processor's counter. Not ordered with the instructions around it: a fence would double the cost of a span.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction; it only reads.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the virtual counter is readable from user space on all systems with std; the read has no effect.
    unsafe {
        let ticks: u64;
        core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    monotonic_nanos()
}

/// A number of ticks that is longer than a nanosecond on every processor of this architecture. Counters advance in
/// steps of up to 10 ns, so two reads may be equal; a nested slice must begin later than the slice around it.
#[cfg(target_arch = "x86_64")]
pub(crate) const TICKS_APART: u64 = 16;
/// Same as above: Arm's counter runs at 1 GHz at most.
#[cfg(not(target_arch = "x86_64"))]
pub const TICKS_APART: u64 = 3;

/// Reads the monotonic clock, in nanoseconds.
#[cfg(unix)]
pub(crate) fn monotonic_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call fills; CLOCK_MONOTONIC exists on all unix systems with std.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Reads the monotonic clock, in nanoseconds since its first use.
#[cfg(not(unix))]
#[allow(clippy::disallowed_methods)]
pub fn monotonic_nanos() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    // Never zero: a start time of zero would look like the beginning of the clock.
    START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64 + 1
}

/// Returns the standard library's current time, to convert its other times.
#[allow(clippy::disallowed_methods)]
pub(crate) fn instant_now() -> std::time::Instant {
    std::time::Instant::now()
}

/// Returns nanoseconds since the Unix epoch.
#[allow(clippy::disallowed_methods)]
pub(crate) fn wall_nanos() -> u64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since_epoch.map_or(0, |elapsed| elapsed.as_nanos() as u64)
}

thread_local! {
    static LAST_NANOS: Cell<u64> = const { Cell::new(0) };
}

/// Reads the monotonic clock. The result is later than that of the last call on this thread: where the clock's steps
/// are coarse, nested slices would otherwise begin at the same time.
pub(crate) fn advancing_nanos() -> u64 {
    LAST_NANOS.with(|last| {
        let nanos = monotonic_nanos().max(last.get() + 1);
        last.set(nanos);
        nanos
    })
}

impl ClockKind {
    /// Returns the fastest clock that can be trusted on this machine.
    pub(crate) fn best() -> Self {
        if ticks_are_invariant() && kernel_trusts_ticks() { Self::Ticks } else { Self::Monotonic }
    }

    /// Returns the current time of this clock.
    pub(crate) fn now(self) -> u64 {
        match self {
            Self::Ticks => ticks(),
            Self::Monotonic => advancing_nanos(),
        }
    }

    /// Reads this clock and the monotonic clock at the same moment. Of several attempts, the shortest is used.
    pub(crate) fn calibration_point(self) -> (u64, u64) {
        if self == Self::Monotonic {
            let nanos = monotonic_nanos();
            return (nanos, nanos);
        }
        let attempt = |_| {
            let (before, nanos, after) = (ticks(), monotonic_nanos(), ticks());
            let width = after.wrapping_sub(before);
            (width, (before.wrapping_add(width / 2), nanos))
        };
        (0..7).map(attempt).min().map_or((0, 0), |(_, point)| point)
    }
}

#[cfg(target_arch = "x86_64")]
fn ticks_are_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    const POWER_LEAF: u32 = 0x8000_0007;
    const INVARIANT_BIT: u32 = 1 << 8;
    __cpuid(0x8000_0000).eax >= POWER_LEAF && __cpuid(POWER_LEAF).edx & INVARIANT_BIT != 0
}

/// Always true: the generic timer of 64-bit Arm runs at a fixed rate and is shared by all cores.
#[cfg(target_arch = "aarch64")]
fn ticks_are_invariant() -> bool {
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn ticks_are_invariant() -> bool {
    false
}

/// Returns true if the kernel considers the counter reliable. Linux compares the counters of all cores and removes the
/// clock source if they disagree.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn kernel_trusts_ticks() -> bool {
    let read = |name: &str| {
        let path = format!("/sys/devices/system/clocksource/clocksource0/{name}_clocksource");
        std::fs::read_to_string(path).unwrap_or_default()
    };
    trusts_ticks(&read("current"), || read("available"))
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn kernel_trusts_ticks() -> bool {
    true
}

/// In a virtual machine, the hypervisor's clock may be the current source while the counter is still considered good.
#[cfg(any(test, all(target_os = "linux", target_arch = "x86_64")))]
fn trusts_ticks(current: &str, available: impl FnOnce() -> String) -> bool {
    match current.trim() {
        "tsc" => true,
        "kvm-clock" | "hyperv_clocksource_tsc_page" => available().split_whitespace().any(|name| name == "tsc"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_used_only_where_the_kernel_trusts_it() {
        let trusts = |current, available: &str| trusts_ticks(current, || available.to_owned());
        assert!(trusts("tsc\n", "tsc hpet acpi_pm \n"));
        assert!(trusts("kvm-clock\n", "kvm-clock tsc acpi_pm \n"));
        assert!(!trusts("kvm-clock\n", "kvm-clock acpi_pm \n"));
        assert!(!trusts("hpet\n", "hpet tsc \n"));
        assert!(!trusts("", ""));
    }

    #[test]
    fn two_reads_of_the_slow_clock_differ() {
        let reads: Vec<u64> = (0..1000).map(|_| advancing_nanos()).collect();
        assert!(reads.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn the_fast_clock_does_not_stand_still() {
        let first = ClockKind::best().now();
        assert!((0..1_000_000).any(|_| ClockKind::best().now() > first));
    }
}
