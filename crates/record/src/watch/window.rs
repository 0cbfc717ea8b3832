//! Opens and closes the window of the process's recording.
//!
//! A window has up to four conditions. Each of them suspends the recording while it is not met (see
//! `process/switch.rs`), and events are recorded while all of them are met:
//!
//! ```text
//! condition   evaluated
//! ─────────   ──────────────────────────────────────────────────────────────────────────────────────────────
//! rank        once, at the start
//! steps       when a step begins; the first step after the range ends the recording
//! time        by a thread that opens the window and later ends the recording, and also when a step begins
//! requests    when a chosen request arrives or ends; met while at least one of them is active
//! ```

use crate::os::clock;
use crate::process::current;
use crate::process::switch::{self, SuspendReason};
use crate::recording::background;
use crate::util::compiled_out::COMPILED_OUT;
use crate::util::derived::follow;
use ferrum_trace_model::settings::Window;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::time::Duration;

/// True if the window has a condition on steps.
static WATCHES_STEPS: AtomicBool = AtomicBool::new(false);
/// True if the window has a condition on requests.
static WATCHES_REQUESTS: AtomicBool = AtomicBool::new(false);

/// The chosen steps. Written under the registry, before [`WATCHES_STEPS`] is set.
static RULE: StepRule = StepRule {
    not_before: AtomicU64::new(0),
    opens: AtomicU64::new(0),
    closes: AtomicU64::new(u64::MAX),
    skip: AtomicU64::new(0),
    start: AtomicU64::new(0),
    end: AtomicU64::new(0),
    every: AtomicU64::new(1),
};
/// Number of steps that have begun since the end of the warm-up by time.
static N_STEPS: AtomicU64 = AtomicU64::new(0);

/// One in this many requests is chosen.
static REQUESTS: AtomicU64 = AtomicU64::new(1);
/// Number of chosen requests that are active.
static N_REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Ends a recording in the background. Set when the first recording starts, by the layer that ends recordings.
static FINISH: OnceLock<fn(u64)> = OnceLock::new();

fn finish(recording: u64) {
    if let Some(finish) = FINISH.get() {
        finish(recording);
    }
}

struct StepRule {
    /// Time on the monotonic clock, in nanoseconds, before which no step is counted.
    not_before: AtomicU64,
    /// Time on the same clock at which the window opens. A thread opens it too, but possibly some steps later.
    opens: AtomicU64,
    /// Time at which the window closes.
    closes: AtomicU64,
    skip: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
    every: AtomicU64,
}

/// Prepares the window of a recording that is about to start. Returns the conditions that suspend it at first. `finish`
/// ends the recording with this id when its window is over.
pub(crate) fn prepare(window: &Window, rank: Option<u32>, finish: fn(u64)) -> Vec<SuspendReason> {
    FINISH.get_or_init(|| finish);
    let has_requests = window.requests.get() > 1;
    RULE.set(window);
    N_STEPS.store(0, Ordering::Relaxed);
    REQUESTS.store(window.requests.get(), Ordering::Relaxed);
    N_REQUESTS.store(0, Ordering::Relaxed);
    WATCHES_STEPS.store(window.has_steps(), Ordering::Release);
    WATCHES_REQUESTS.store(has_requests, Ordering::Release);
    let reasons = [
        (SuspendReason::Rank, !window.has_rank(rank)),
        (SuspendReason::Steps, window.has_steps()),
        (SuspendReason::Time, window.times().start > Duration::ZERO),
        (SuspendReason::Requests, has_requests),
    ];
    reasons.into_iter().filter(|(_, applies)| *applies).map(|(reason, _)| reason).collect()
}

impl StepRule {
    fn set(&self, window: &Window) {
        let from_now = from_now();
        let times = window.times();
        self.not_before.store(from_now(window.skip_time), Ordering::Relaxed);
        self.opens.store(from_now(times.start), Ordering::Relaxed);
        self.closes.store(from_now(times.end), Ordering::Relaxed);
        self.skip.store(window.skip_steps, Ordering::Relaxed);
        self.start.store(window.steps.start, Ordering::Relaxed);
        self.end.store(window.steps.end, Ordering::Relaxed);
        self.every.store(window.every.get(), Ordering::Relaxed);
    }
}

/// Returns a function that adds a duration to the present time of the monotonic clock.
fn from_now() -> impl Fn(Duration) -> u64 {
    let now = clock::monotonic_nanos();
    move |time| now.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Returns true if steps have to be counted.
#[inline(always)]
pub(crate) fn watches_steps() -> bool {
    !COMPILED_OUT && WATCHES_STEPS.load(Ordering::Relaxed)
}

/// Counts a step of the engine that is about to begin, and opens or closes the window.
#[cold]
pub(crate) fn step_begins() {
    let now = clock::monotonic_nanos();
    if now < RULE.not_before.load(Ordering::Relaxed) {
        return;
    }
    if (RULE.opens.load(Ordering::Relaxed)..RULE.closes.load(Ordering::Relaxed)).contains(&now) {
        switch::set_suspended(SuspendReason::Time, false);
    }
    let n = N_STEPS.fetch_add(1, Ordering::Relaxed);
    let Some(n) = n.checked_sub(RULE.skip.load(Ordering::Relaxed)) else {
        return;
    };
    let (start, end) = (RULE.start.load(Ordering::Relaxed), RULE.end.load(Ordering::Relaxed));
    let is_chosen =
        (start..end).contains(&n) && (n - start + 1).is_multiple_of(RULE.every.load(Ordering::Relaxed).max(1));
    switch::set_suspended(SuspendReason::Steps, !is_chosen);
    if n == end {
        // No later step is recorded.
        finish(current::recording_id());
    }
}

/// Returns the number of steps that the window has counted, if it counts them.
pub(crate) fn n_steps() -> Option<u64> {
    watches_steps().then(|| N_STEPS.load(Ordering::Relaxed))
}

/// Decides if a request that arrives is recorded. If it is chosen, the caller must call [`request_ends`] at its end.
#[inline]
pub(crate) fn request_arrives(id: u64) -> RequestChoice {
    if !WATCHES_REQUESTS.load(Ordering::Relaxed) {
        return RequestChoice::All;
    }
    if !mix(id).is_multiple_of(REQUESTS.load(Ordering::Relaxed).max(1)) {
        return RequestChoice::Skipped;
    }
    N_REQUESTS.fetch_add(1, Ordering::Relaxed);
    follow_requests();
    RequestChoice::Chosen
}

/// Decision of a window on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestChoice {
    /// The window has no condition on requests.
    All,
    /// The request is not recorded.
    Skipped,
    /// The request is recorded, and opens the window until it ends.
    Chosen,
}

/// Counts the end of a chosen request.
pub(crate) fn request_ends() {
    let _ = N_REQUESTS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
    follow_requests();
}

/// Opens the window if a chosen request is active, and closes it otherwise.
fn follow_requests() {
    let look = || N_REQUESTS.load(Ordering::Relaxed) > 0;
    follow(look, |is_active| switch::set_suspended(SuspendReason::Requests, !is_active), || fence(Ordering::SeqCst));
}

/// Hashes an id, so that consecutive ids are chosen evenly (the last steps of splitmix64).
fn mix(id: u64) -> u64 {
    let id = (id ^ id >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let id = (id ^ id >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    id ^ id >> 31
}

/// Starts the thread that opens the window of a recording by time, and ends the recording when the window closes. If
/// the thread cannot be started, the condition on time is always met.
pub(crate) fn watch_time(session: u64, window: &Window) {
    let times = window.times();
    if times == (Duration::ZERO..Duration::MAX) {
        return;
    }
    let from_now = from_now();
    let (start, end) = (from_now(times.start), from_now(times.end));
    let work = move || {
        let is_needed = || current::is_recording(session);
        background::sleep_until(start, is_needed);
        if is_needed() {
            switch::set_suspended(SuspendReason::Time, false);
        }
        if end < u64::MAX {
            background::sleep_until(end, is_needed);
            finish(session);
        }
    };
    if background::spawn("ferrum-trace-time", work).is_none() {
        switch::set_suspended(SuspendReason::Time, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_in_a_hundred_is_chosen_for_any_pattern_of_ids() {
        for ids in [0..100_000u64, (1 << 40)..(1 << 40) + 100_000] {
            let n_chosen = ids.filter(|&id| mix(id).is_multiple_of(100)).count();
            assert!((800..1200).contains(&n_chosen), "{n_chosen}");
        }
        let even = (0..100_000u64).map(|n| 64 * n).filter(|&id| mix(id).is_multiple_of(100)).count();
        assert!((800..1200).contains(&even), "{even}");
    }
}
