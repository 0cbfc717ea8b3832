//! Timers that measure work on a backend, and probes that record it.

use crate::face::writer::TraceWriter;
use crate::probe::track::Timestamp;
use std::marker::PhantomData;

/// Measures a piece of work on a backend.
///
/// A call of [`elapsed_ms`](Self::elapsed_ms) right after the work waits for the device, which changes the measurement.
/// Record devices with the timelines of `ferrum-trace-device` instead, which do not wait.
pub trait BackendTimer {
    /// The object that the backend submits work to: a stream, an encoder, a queue.
    type Context: ?Sized;

    /// Marks the beginning of the work.
    fn record_start(&mut self, context: &mut Self::Context);

    /// Marks the end of the work.
    fn record_end(&mut self, context: &mut Self::Context);

    /// Returns the milliseconds from start to end, waiting for the device if necessary; `None` if they were not both
    /// recorded, or if the device cannot measure it.
    fn elapsed_ms(&mut self) -> Option<f64>;
}

/// A timer of work on the calling thread, for any context.
///
/// ```
/// use ferrum_trace::{BackendTimer, CpuTimer};
/// let mut timer = CpuTimer::default();
/// timer.record_start(&mut ());
/// timer.record_end(&mut ());
/// assert!(timer.elapsed_ms().is_some());
/// ```
#[derive(Debug)]
pub struct CpuTimer<Context: ?Sized = ()> {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    of: PhantomData<fn(&mut Context)>,
}

impl<Context: ?Sized> Default for CpuTimer<Context> {
    fn default() -> Self {
        Self { start: None, end: None, of: PhantomData }
    }
}

impl<Context: ?Sized> BackendTimer for CpuTimer<Context> {
    type Context = Context;

    fn record_start(&mut self, _context: &mut Context) {
        *self = Self { start: Some(Timestamp::now()), ..Self::default() };
    }

    fn record_end(&mut self, _context: &mut Context) {
        self.end = Some(Timestamp::now());
    }

    fn elapsed_ms(&mut self) -> Option<f64> {
        let (start, end) = (self.start?, self.end?);
        Some(end.monotonic_nanos().saturating_sub(start.monotonic_nanos()) as f64 / 1e6)
    }
}

impl TraceWriter {
    /// Times `work` and [pushes](Self::push) a slice with the duration that the timer measured, which ends when the
    /// duration is known. Does not use the timer while nothing is recorded.
    ///
    /// ```
    /// use ferrum_trace::{CpuTimer, global_trace};
    /// # struct Stream;
    /// # fn rms_norm(_: &mut Stream) -> u32 { 7 }
    /// # let mut stream = Stream;
    /// let mut timer = CpuTimer::default(); // a GPU backend has its own
    /// let answer = global_trace().probe("rms_norm", "norm", 1, &mut timer, &mut stream, |stream| rms_norm(stream));
    /// assert_eq!(answer, 7);
    /// ```
    #[inline]
    pub fn probe<T: BackendTimer, R>(
        &self,
        name: &str,
        cat: &str,
        tid: u32,
        timer: &mut T,
        context: &mut T::Context,
        work: impl FnOnce(&mut T::Context) -> R,
    ) -> R {
        if !self.is_enabled() {
            return work(context);
        }
        timer.record_start(context);
        let result = work(context);
        timer.record_end(context);
        match timer.elapsed_ms() {
            Some(elapsed_ms) => self.push(name, cat, elapsed_ms, tid),
            None => self.count_lost(),
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that logs its calls. The test sets the measured duration.
    struct Stream(Vec<&'static str>);

    struct StreamTimer(Option<f64>);

    impl BackendTimer for StreamTimer {
        type Context = Stream;

        fn record_start(&mut self, stream: &mut Stream) {
            stream.0.push("start");
        }

        fn record_end(&mut self, stream: &mut Stream) {
            stream.0.push("end");
        }

        fn elapsed_ms(&mut self) -> Option<f64> {
            self.0
        }
    }

    fn probe(writer: &TraceWriter, elapsed_ms: Option<f64>) -> Stream {
        let mut stream = Stream(Vec::new());
        let work = |stream: &mut Stream| stream.0.push("work");
        writer.probe("norm", "norm", 7, &mut StreamTimer(elapsed_ms), &mut stream, work);
        stream
    }

    #[test]
    fn a_probe_pushes_the_measured_duration_or_counts_a_dropped_event() {
        let path = std::env::temp_dir().join(format!("ferrum-probe-{}.json", std::process::id()));
        let writer = TraceWriter::enabled(path.clone());
        assert_eq!(probe(&writer, Some(0.25)).0, ["start", "work", "end"]);
        probe(&writer, None);
        drop(writer);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(text.contains(r#""dur":250.000"#) || text.contains(r#""dur":250"#), "{text}");
        assert!(text.contains(r#""dropped":1"#), "{text}");
    }

    #[test]
    fn a_probe_does_not_use_the_timer_while_nothing_is_recorded() {
        assert_eq!(probe(&TraceWriter::disabled(), None).0, ["work"]);
    }

    #[test]
    fn a_timer_that_was_not_stopped_has_no_duration() {
        let mut timer = CpuTimer::default();
        assert_eq!(timer.elapsed_ms(), None);
        timer.record_start(&mut ());
        assert_eq!(timer.elapsed_ms(), None);
        timer.record_end(&mut ());
        assert!(timer.elapsed_ms().is_some_and(|ms| ms >= 0.0));
    }
}
