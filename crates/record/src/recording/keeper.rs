//! The thread that prepares chunks before they are needed, so that no recording thread waits for a page.

use crate::os::clock;
use crate::os::thread::without_signals;
use crate::recording::session::Session;
use std::sync::Weak;
use std::thread::{self, Thread};
use std::time::Duration;

/// When the clock is calibrated first.
const FIRST_CALIBRATION: Duration = Duration::from_millis(1);
/// How much longer each pause is than the last, up to [`LONGEST_PAUSE`].
const PAUSE_GROWTH: u32 = 4;
/// The longest pause between calibrations of a recording of up to ten minutes; then a six-hundredth of its age.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Parts of a recording's age that pauses may grow to.
const PAUSES_PER_AGE: u32 = 600;

/// The shortest pause before it is asked again whether the recording should go on in another file.
const RETRY: Duration = Duration::from_millis(100);

/// Starts the thread. It ends with the session. `None` if no thread can be had: then recording threads do its work.
pub fn start(session: Weak<Session>) -> Option<Thread> {
    let keep = move || {
        let mut schedule = Schedule::new();
        while let Some(session) = session.upgrade().filter(|session| session.is_open()) {
            session.spool().top_up();
            if schedule.is_due() {
                session.calibrate();
                session.spool().release_full_pages();
            }
            if session.is_full_part() {
                session.on_full_part();
            }
            let left = session.part().and_then(|part| part.time_left()).map_or(Duration::MAX, |left| left.max(RETRY));
            drop(session);
            thread::park_timeout(schedule.pause().min(left));
        }
    };
    let builder = thread::Builder::new().name("ferrum-trace".into()).stack_size(128 * 1024);
    let keeper = without_signals(|| builder.spawn(keep)).ok()?;
    Some(keeper.thread().clone())
}

/// When to calibrate: soon after the start, when little is known of the clock's rate, and then ever more rarely.
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
