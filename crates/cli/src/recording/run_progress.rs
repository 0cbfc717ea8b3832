//! Progress of a series of runs on standard error.

use crate::render::messages::Messages;
use crate::render::table::clean;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

const TEMPLATE: &str = "[{bar:20}] {pos} of {len} runs: {wide_msg}";

/// Progress of a series of runs: a bar on a terminal, else a line after each run.
#[derive(Debug)]
pub(crate) struct RunProgress {
    bar: ProgressBar,
    is_terminal: bool,
    n_done: u64,
    n_total: u64,
    begin: Instant,
    /// The estimated remaining time after the last run.
    left: String,
}

impl RunProgress {
    /// Starts the progress of `n_total` runs.
    #[expect(clippy::disallowed_methods, reason = "estimates the remaining time")]
    pub(crate) fn start(n_total: u64) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(n_total), target);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, is_terminal, n_done: 0, n_total, begin: Instant::now(), left: String::new() }
    }

    /// Reports that a run begins.
    pub(crate) fn begin(&self, name: &str) {
        self.bar.set_message(clean(&format!("{name} is running{}", self.left)));
        self.bar.force_draw();
    }

    /// Reports that a run has ended. `figure` describes its result.
    pub(crate) fn end(&mut self, name: &str, figure: &str) {
        self.n_done += 1;
        self.left = remaining(self.begin.elapsed(), self.n_done, self.n_total);
        let message = clean(&format!("{name}: {figure}{}", self.left));
        if self.is_terminal {
            self.bar.set_message(message);
            self.bar.set_position(self.n_done);
        } else {
            Messages::default().print(&format!("run {} of {}, {message}\n", self.n_done, self.n_total));
        }
    }
}

impl Drop for RunProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Returns the estimated remaining time, from the mean time of a run.
fn remaining(elapsed: Duration, n_done: u64, n_total: u64) -> String {
    let n_left = n_total.saturating_sub(n_done);
    if n_left == 0 || n_done == 0 {
        return String::new();
    }
    let seconds = (elapsed.as_secs_f64() * n_left as f64 / n_done as f64).ceil() as u64;
    match seconds {
        0..=99 => format!(", about {seconds} s left"),
        100..=5999 => format!(", about {} min left", seconds.div_ceil(60)),
        _ => format!(", about {} h left", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_follows_from_the_mean_of_the_runs() {
        let after = |seconds, n_done, n_total| remaining(Duration::from_secs(seconds), n_done, n_total);
        assert_eq!(after(10, 2, 4), ", about 10 s left");
        assert_eq!(after(100, 1, 3), ", about 4 min left");
        assert_eq!(after(7200, 1, 3), ", about 4 h left");
        assert_eq!(after(10, 4, 4), "");
        assert_eq!(after(10, 0, 4), "");
    }
}
