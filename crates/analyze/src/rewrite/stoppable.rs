//! Reads the events of a file until the sink stops.

use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{Event, EventSink, Loss, Outline, Text, for_each};
use std::cell::Cell;
use std::io::{self, Read};

/// Something that may want no more.
pub(crate) trait Stop {
    fn wants_no_more(&self) -> bool;
}

/// Finds every event of a file, in order, until the sink wants no more: nobody reads the rest of a large file for a closed pipe.
pub(crate) fn for_each_until(input: impl Read, sink: &mut (impl EventSink + Stop)) -> Result<Outline, Error> {
    let stop = Cell::new(false);
    for_each(Stoppable { input, stop: &stop }, &mut Stopping { sink, stop: &stop })
}

/// A sink that ends the reading when it wants no more.
struct Stopping<'a, S> {
    sink: &'a mut S,
    stop: &'a Cell<bool>,
}

impl<S: EventSink + Stop> EventSink for Stopping<'_, S> {
    fn event(&mut self, event: &Event<'_>) {
        if !self.stop.get() {
            self.sink.event(event);
            self.stop.set(self.sink.wants_no_more());
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
