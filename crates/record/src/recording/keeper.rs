//! The keeper thread of a session: prepares chunks ahead of need, so that no recording thread waits for a page,
//! calibrates the clock, starts the next part of a rotating recording, and resumes a recording whose disk was full. It
//! sleeps until the recording is larger than a few chunks.

use crate::memory::spool::GROW_RETRY;
use crate::os::clock;
use crate::os::thread as os_thread;
use crate::recording::background::{self, Urgency};
use crate::recording::session::Session;
use std::sync::Weak;
use std::thread::{self, Thread};
use std::time::Duration;

/// Time of the first calibration of the clock after the start.
const FIRST_CALIBRATION: Duration = Duration::from_millis(1);
/// Factor from one pause to the next, up to [`LONGEST_PAUSE`].
const PAUSE_GROWTH: u32 = 4;
/// The longest pause between calibrations in the first ten minutes. Later, pauses may last a six-hundredth of the
/// recording's age.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The recording's age divided by this is the longest pause, once it exceeds [`LONGEST_PAUSE`].
const PAUSES_PER_AGE: u32 = 600;

/// The shortest pause before the next attempt to rotate.
const RETRY: Duration = Duration::from_millis(100);

/// Starts the thread, which ends with the session. Returns `None` if it cannot be started; recording threads then
/// prepare chunks themselves.
pub(crate) fn start(session: Weak<Session>) -> Option<Thread> {
    let keep = move || {
        wait_until_needed(&session);
        let mut schedule = Schedule::new();
        let mut has_parts = false;
        while let Some(session) = session.upgrade().filter(|session| session.is_open()) {
            if session.spool().may_resume() {
                session.spool().try_to_resume();
            }
            session.spool().top_up();
            session.on_keeping();
            if schedule.is_due() {
                session.calibrate();
                session.spool().release_full_pages();
            }
            has_parts = session.part().is_some();
            session.tend_parts();
            let left = session.part().and_then(|part| part.time_left()).map_or(Duration::MAX, |left| left.max(RETRY));
            let left = if session.spool().may_resume() { left.min(GROW_RETRY) } else { left };
            drop(session);
            thread::park_timeout(schedule.pause().min(left));
        }
        if has_parts {
            background::demand(Urgency::Low);
        }
    };
    let builder = thread::Builder::new().name("ferrum-trace".into()).stack_size(128 * 1024);
    let keeper = os_thread::spawn(builder, keep)?;
    Some(keeper.thread().clone())
}

/// Waits until the session needs this thread or has ended. The output of an earlier part may fail at any time, and has
/// to be written again then.
fn wait_until_needed(session: &Weak<Session>) {
    while let Some(session) = session.upgrade().filter(|session| session.is_open() && !session.needs_keeper()) {
        let has_parts = session.part().is_some();
        drop(session);
        match has_parts {
            true => thread::park_timeout(LONGEST_PAUSE),
            false => thread::park(),
        }
    }
}

/// Times of calibrations: at short intervals after the start, when the clock's rate is hardly known, then at longer
/// ones.
struct Schedule {
    start: u64,
    next: u64,
    interval: u64,
}

impl Schedule {
    fn new() -> Self {
        let start = clock::monotonic_nanos();
        let interval = FIRST_CALIBRATION.as_nanos() as u64;
        Self { start, next: start + interval, interval }
    }

    fn is_due(&mut self) -> bool {
        let now = clock::monotonic_nanos();
        if now < self.next {
            return false;
        }
        let longest = (LONGEST_PAUSE.as_nanos() as u64).max((now - self.start) / u64::from(PAUSES_PER_AGE));
        self.interval = (self.interval * u64::from(PAUSE_GROWTH)).min(longest);
        self.next = now + self.interval;
        true
    }

    fn pause(&self) -> Duration {
        Duration::from_nanos(self.next.saturating_sub(clock::monotonic_nanos()))
    }
}
