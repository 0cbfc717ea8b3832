//! Reads the events of a file until the sink stops.

use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{Event, EventSink, Loss, Outline, Text, for_each};
use std::cell::Cell;
use std::io::{self, Read};

/// Sink that can stop the reading.
pub(crate) trait Stop {
    fn is_stopped(&self) -> bool;
}

/// Visits every event of a file, in order, until the sink stops: the rest of a large file need not be read for a closed
/// pipe.
pub(crate) fn for_each_until(input: impl Read, sink: &mut (impl EventSink + Stop)) -> Result<Outline, Error> {
    let stop = Cell::new(false);
    for_each(Stoppable { input, stop: &stop }, &mut Stopping { sink, stop: &stop })
}

/// Sink that stops the reading.
struct Stopping<'a, S> {
    sink: &'a mut S,
    stop: &'a Cell<bool>,
}

impl<S: EventSink + Stop> EventSink for Stopping<'_, S> {
    fn event(&mut self, event: &Event<'_>) {
        if !self.stop.get() {
            self.sink.event(event);
            self.stop.set(self.sink.is_stopped());
        }
    }

    fn loss(&mut self, loss: Loss) {
        self.sink.loss(loss);
    }

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        self.sink.field(key, value);
    }
}

struct Stoppable<'a, R> {
    input: R,
    stop: &'a Cell<bool>,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.stop.get() { Ok(0) } else { self.input.read(bytes) }
    }
}
