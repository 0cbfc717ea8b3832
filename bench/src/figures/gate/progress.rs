//! Progress with the remaining time, on standard error.

use std::time::{Duration, Instant};

/// Shortest time between two lines.
const PAUSE: Duration = Duration::from_secs(10);

/// The runs that were made, out of all.
#[derive(Debug)]
pub(super) struct Progress {
    n_done: usize,
    n_all: usize,
    begin: Instant,
    printed: Option<Instant>,
}

impl Progress {
    pub(super) fn new(n_all: usize) -> Self {
        Self { n_done: 0, n_all, begin: Instant::now(), printed: None }
    }

    /// Counts runs, and prints a line if the last one is some time ago.
    pub(super) fn add(&mut self, n_runs: usize, text: &str) {
        self.n_done += n_runs;
        if self.printed.is_none_or(|printed| printed.elapsed() >= PAUSE) {
            self.printed = Some(Instant::now());
            let left = remaining(self.begin.elapsed(), self.n_done, self.n_all);
            crate::print_message(&format!("{text}; {} left", minutes(left)));
        }
    }
}

/// The time for the remaining runs, if they take as long as those before.
fn remaining(elapsed: Duration, n_done: usize, n_all: usize) -> Duration {
    let n_left = n_all.saturating_sub(n_done);
    elapsed.mul_f64(n_left as f64 / n_done.max(1) as f64)
}

fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{seconds} s"),
        seconds => format!("{:.0} min", seconds as f64 / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_runs_take_as_long_as_those_before() {
        assert_eq!(remaining(Duration::from_secs(30), 100, 400), Duration::from_secs(90));
        assert_eq!(remaining(Duration::from_secs(30), 400, 400), Duration::ZERO);
        assert_eq!(minutes(Duration::from_secs(89)), "89 s");
        assert_eq!(minutes(Duration::from_secs(840)), "14 min");
    }
}
