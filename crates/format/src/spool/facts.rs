//! Writes the facts about a recording as the JSON object in a trace. `chrome/read/facts.rs` reads them.

use crate::chrome::{push_decimal, push_text};
use ferrum_trace_model::vocab::{about, trigger};
use ferrum_trace_model::{Recording, RefusedDumps, Trigger};

/// Returns the JSON object. `clock` is the clock of the spool's times.
pub(crate) fn encode(recording: &Recording, clock: &str) -> Vec<u8> {
    let mut object = Object::new();
    object.text("version", env!("CARGO_PKG_VERSION"));
    object.text("clock", clock);
    let signed = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
    let is_ring = recording.ring_bytes.is_some();
    let numbers = [
        (about::RECORDED, recording.recorded),
        (about::DROPPED, Some(recording.dropped)),
        (about::START_MONOTONIC_NS, signed(recording.start_monotonic_ns)),
        (about::START_UNIX_NS, signed(recording.start_unix_ns)),
        (about::RING_BYTES, recording.ring_bytes),
        (about::OVERWRITTEN, is_ring.then_some(recording.overwritten_chunks)),
        (about::PART, recording.part),
        (about::LIMIT_BYTES, recording.limit_bytes),
        (about::PID, recording.pid.as_ref().and_then(|pid| pid.parse().ok())),
        (about::RANK, recording.rank.map(u64::from)),
        (about::UNFINISHED, Some(recording.unfinished).filter(|&n| n > 0)),
        (about::LOST_TEXTS, Some(recording.lost_texts).filter(|&n| n > 0)),
        (about::DAMAGED_PLACES, Some(recording.damaged_places).filter(|&n| n > 0)),
        (about::MISSING_EVENTS_MAX, Some(recording.missing_events_max).filter(|&n| n > 0)),
    ];
    for (key, number) in numbers {
        if let Some(number) = number {
            object.number(key, number);
        }
    }
    let stop_reason = recording.stop_reason.map(about::StopReason::as_str);
    let texts = [
        (about::HOST, recording.host.as_deref()),
        (about::BOOT_ID, recording.boot_id.as_deref()),
        (about::STOP_REASON, stop_reason),
    ];
    for (key, text) in texts {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            object.text(key, text);
        }
    }
    object.dropped_by_thread(&recording.dropped_by_thread);
    object.unfinished_by_thread(&recording.unfinished_by_thread);
    object.dumps_refused(&recording.dumps_refused);
    if let Some(of_dump) = &recording.trigger {
        object.trigger(of_dump);
    }
    object.finish()
}

struct Object(Vec<u8>);

impl Object {
    fn new() -> Self {
        Self(b"{".to_vec())
    }

    fn key(&mut self, key: &str) {
        if self.0.last() != Some(&b'{') {
            self.0.push(b',');
        }
        push_text(&mut self.0, key);
        self.0.push(b':');
    }

    fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        push_text(&mut self.0, text);
    }

    fn number(&mut self, key: &str, number: u64) {
        self.key(key);
        push_decimal(&mut self.0, number);
    }

    fn nested(&mut self, key: &str, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::new();
        fill(&mut inner);
        self.key(key);
        self.0.extend_from_slice(&inner.finish());
    }

    fn dropped_by_thread(&mut self, threads: &[(String, u64)]) {
        if threads.is_empty() {
            return;
        }
        self.nested(about::DROPPED_BY_THREAD, |inner| {
            threads.iter().for_each(|(thread, dropped)| inner.number(thread, *dropped));
        });
    }

    fn unfinished_by_thread(&mut self, threads: &[(String, String)]) {
        if threads.is_empty() {
            return;
        }
        self.nested(about::UNFINISHED_BY_THREAD, |inner| {
            threads.iter().for_each(|(thread, stack)| inner.text(thread, stack));
        });
    }

    fn dumps_refused(&mut self, refused: &RefusedDumps) {
        if refused.total() == 0 {
            return;
        }
        self.nested(about::DUMPS_REFUSED, |inner| {
            refused.counts().for_each(|(reason, n)| inner.number(reason.as_str(), n));
        });
    }

    fn trigger(&mut self, of_dump: &Trigger) {
        self.nested(about::TRIGGER, |inner| {
            inner.text(trigger::REASON, &of_dump.reason);
            if !of_dump.what.is_empty() {
                inner.text(trigger::WHAT, &of_dump.what);
            }
            if let Some(dump) = of_dump.dump {
                inner.number(trigger::DUMP, dump);
            }
        });
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}
