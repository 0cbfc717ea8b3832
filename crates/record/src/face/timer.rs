//! Timers that tell how long something took on a backend, and probes that record it.

use crate::face::writer::TraceWriter;
use crate::probe::track::Timestamp;
use std::marker::PhantomData;

/// Measures a stretch of work on a backend.
///
/// Whoever asks [`elapsed_ms`](Self::elapsed_ms) right away waits for the device, and so changes what is measured. Devices are
/// better recorded with the timelines of `ferrum-trace-device`, which wait for nothing.
pub trait BackendTimer {
    /// What the backend's work is given to: a stream, an encoder, a queue.
    type Context: ?Sized;

    /// The work begins here.
    fn record_start(&mut self, context: &mut Self::Context);

    /// The work ends here.
    fn record_end(&mut self, context: &mut Self::Context);

    /// Milliseconds from start to end, after waiting for the device if need be; `None` if they were not both recorded, or the device
    /// cannot tell.
    fn elapsed_ms(&mut self) -> Option<f64>;
}

/// The timer of work that the calling thread does, whatever the context.
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
    /// Times `work` and [pushes](Self::push) a slice as long as the timer says, which ends when that is known. While nothing is recorded,
    /// the timer is left alone.
    ///
    /// ```
    /// use ferrum_trace::{CpuTimer, global_trace};
    /// # struct Stream;
    /// # fn rms_norm(_: &mut Stream) -> u32 { 7 }
    /// # let mut stream = Stream;
    /// let mut timer = CpuTimer::default(); // a GPU backend brings its own
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

    /// A device that notes what it is given, and whose clock is what the test says.
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
    fn a_probe_pushes_what_the_timer_says_and_counts_what_it_cannot() {
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
    fn a_probe_that_records_nothing_leaves_the_timer_alone() {
        assert_eq!(probe(&TraceWriter::disabled(), None).0, ["work"]);
    }

    #[test]
    fn a_timer_that_was_not_stopped_tells_nothing() {
        let mut timer = CpuTimer::default();
        assert_eq!(timer.elapsed_ms(), None);
        timer.record_start(&mut ());
        assert_eq!(timer.elapsed_ms(), None);
        timer.record_end(&mut ());
        assert!(timer.elapsed_ms().is_some_and(|ms| ms >= 0.0));
    }
}
