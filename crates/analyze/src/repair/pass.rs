//! Second pass: writes each event, in an order that viewers accept.

use super::Changes;
use super::rewriter::{Rewriter, Treatment};
use super::track_numbers::TrackNumbers;
use crate::check::Finding;
use crate::check::fields::is_usable;
use crate::check::findings::{Findings, Places};
use crate::check::rules::slices::OUTER_NOT_FIRST;
use crate::check::rules::times::{EPOCH_PRECISION, NEGATIVE_TS};
use crate::check::survey::Surveyed;
use crate::check::texts::mend_texts;
use crate::rewrite::document::Document;
use crate::rewrite::edit::{Edits, join_objects};
use crate::rewrite::stoppable::Stop;
use ferrum_trace_format::chrome::read::{Event, EventSink, Loss, Text, with_valid_numbers};
use ferrum_trace_model::Order;
use hashbrown::{HashMap, HashSet};
use std::io;

/// Maximum number of bytes of delayed events.
const DELAYED_BYTES_MAX: usize = 32 << 20;
/// Field with the nanoseconds that were subtracted from all times.
const SHIFT_FIELD: &[u8] = b"ferrumTraceShiftNs";

/// State of the second pass.
pub(super) struct Pass<'w> {
    rewriter: Rewriter,
    document: Document<'w>,
    /// Number of events in the first pass.
    n_events: Order,
    next: Order,
    delayed: DelayedEvents,
    /// Ends of async slices that have none: the last to begin is the first to end.
    async_ends: Vec<(i64, Order, Vec<u8>)>,
    found: Findings,
    left_out: Findings,
    places: Places,
    n_args_lost: u64,
}

/// Events that are delayed.
#[derive(Default)]
struct DelayedEvents {
    n_bytes: usize,
    /// Events by the slice that must be written before them.
    waiting: HashMap<Order, Vec<(Order, Vec<u8>)>>,
    /// Slices that others wait for.
    awaited: HashSet<Order>,
    /// Begins that wait for the arguments of their ends.
    begins: HashMap<Order, Vec<u8>>,
    /// Arguments of ends that precede their begins.
    end_args: HashMap<Order, Vec<u8>>,
}

impl<'w> Pass<'w> {
    /// Starts writing.
    pub(super) fn new(surveyed: Surveyed, mut document: Document<'w>) -> Self {
        let Surveyed { findings, ids, slices, flows, asyncs, profiles, n_events, span, .. } = surveyed;
        let (first, last) = span.unwrap_or_default();
        let is_shifted = findings.n(&EPOCH_PRECISION) > 0 || findings.n(&NEGATIVE_TS) > 0;
        let shift = if is_shifted { first } else { 0 };
        let numbering = TrackNumbers::of(&ids, &slices);
        if shift != 0 {
            document.field(Text::plain(SHIFT_FIELD), format!("\"{shift}\"").as_bytes(), false);
        }
        let delayed = DelayedEvents {
            awaited: slices.waiting.iter().map(|&(_, outer)| outer).collect(),
            ..DelayedEvents::default()
        };
        let places = Places::of(findings.wanted());
        let rewriter = Rewriter { ids, slices, flows, asyncs, profiles, numbering, shift, last };
        Self {
            rewriter,
            document,
            n_events,
            next: 0,
            delayed,
            async_ends: Vec::new(),
            found: findings,
            left_out: Findings::default(),
            places,
            n_args_lost: 0,
        }
    }

    fn begin(&mut self) {
        for name in self.rewriter.numbering.names(&self.rewriter.ids) {
            self.document.event(&name);
        }
    }

    /// Writes an event, or delays it.
    fn keep(&mut self, event: &Event<'_>, order: Order, edits: Edits) {
        let changed = if edits.is_empty() { None } else { Some(edits.apply(event.json, event.args)) };
        let json = mend_texts(changed.as_deref().unwrap_or(event.json)).or(changed);
        let slices = &self.rewriter.slices;
        let is_joined = event.phase == b'B' && slices.joined(order).is_some_and(|joined| joined.has_end_args);
        if is_joined {
            self.keep_begin(order, json.unwrap_or_else(|| event.json.to_vec()));
        } else if slices.waits_for(order).is_some() {
            self.write_in_order(order, json.unwrap_or_else(|| event.json.to_vec()));
        } else {
            let json = json.as_deref().unwrap_or(event.json);
            self.write(order, json);
            self.follow_up(event, order, json);
        }
    }

    /// Writes additional events that belong to an event: more begins of a flow, the end of an async slice.
    fn follow_up(&mut self, event: &Event<'_>, order: Order, json: &[u8]) {
        if event.phase == b's' {
            for id in self.rewriter.flows.copies(order) {
                let mut edits = Edits::default();
                edits.set("id", id.to_string());
                self.document.event(&edits.apply(json, None));
            }
        }
        if matches!(event.phase, b'b' | b'S') && self.rewriter.asyncs.is_unclosed(order) {
            let end = self.rewriter.end_of_async(json);
            if self.delayed.reserve(end.len()) {
                self.async_ends.push((event.start.nanos().unwrap_or(0), order, end));
            } else {
                self.document.event(&end);
            }
        }
    }

    /// Delays a begin that becomes a complete event until the arguments of its end are known.
    fn keep_begin(&mut self, order: Order, json: Vec<u8>) {
        if let Some(args) = self.delayed.end_args.remove(&order) {
            self.delayed.release(args.len());
            return self.write_in_order(order, with_args(&json, &args));
        }
        if self.delayed.reserve(json.len()) {
            self.delayed.begins.insert(order, json);
        } else {
            self.n_args_lost += 1;
            self.write_in_order(order, json);
        }
    }

    /// Handles the end of a slice whose begin becomes a complete event.
    fn end(&mut self, event: &Event<'_>, order: Order, begin: Order) {
        let args = event.args.unwrap_or(b"{}");
        let args = mend_texts(args).unwrap_or_else(|| args.to_vec());
        if let Some(json) = self.delayed.begins.remove(&begin) {
            self.delayed.release(json.len());
            return self.write_in_order(begin, with_args(&json, &args));
        }
        if begin > order && args.len() > 2 {
            if self.delayed.reserve(args.len()) {
                self.delayed.end_args.insert(begin, args);
            } else {
                self.n_args_lost += 1;
            }
        }
    }

    /// Writes a slice after the one that must precede it.
    fn write_in_order(&mut self, order: Order, json: Vec<u8>) {
        if let Some(outer) = self.rewriter.slices.waits_for(order)
            && self.delayed.awaited.contains(&outer)
        {
            if self.delayed.reserve(json.len()) {
                self.delayed.waiting.entry(outer).or_default().push((order, json));
                return;
            }
            self.left_out.note_order(&OUTER_NOT_FIRST, order);
        }
        self.write(order, &json);
    }

    /// Writes an event, and the events that waited for it.
    fn write(&mut self, order: Order, json: &[u8]) {
        self.document.event(json);
        if !self.delayed.awaited.remove(&order) {
            return;
        }
        let mut next: Vec<(Order, Vec<u8>)> = self.delayed.waiting.remove(&order).unwrap_or_default();
        next.reverse();
        while let Some((order, json)) = next.pop() {
            self.delayed.release(json.len());
            self.document.event(&json);
            self.delayed.awaited.remove(&order);
            let waiting = self.delayed.waiting.remove(&order).unwrap_or_default();
            next.extend(waiting.into_iter().rev());
        }
    }

    /// Writes the remaining delayed events.
    fn end_events(&mut self) {
        if self.document.n_events == 0 && self.next == 0 {
            self.begin();
        }
        let mut begins: Vec<(Order, Vec<u8>)> = self.delayed.begins.drain().collect();
        begins.sort_unstable_by_key(|&(order, _)| order);
        for (order, json) in begins {
            self.write_in_order(order, json);
        }
        let mut waiting: Vec<(Order, Vec<u8>)> =
            self.delayed.waiting.drain().flat_map(|(_, delayed)| delayed).collect();
        waiting.sort_unstable_by_key(|&(order, _)| order);
        for (_, json) in waiting {
            self.document.event(&json);
        }
        self.async_ends.sort_unstable_by_key(|&(begin, order, _)| (begin, order));
        while let Some((.., end)) = self.async_ends.pop() {
            self.document.event(&end);
        }
    }

    /// Closes the file, and returns the changes.
    pub(super) fn finish(mut self) -> io::Result<Changes> {
        self.end_events();
        let repaired = |finding: &Finding| finding.rule.is_repaired();
        let changes = Changes {
            repaired: self.found.finish(&self.places).into_iter().filter(repaired).collect(),
            left_out: self.left_out.finish(&Places::default()),
            shift: self.rewriter.shift,
            n_read: u64::from(self.next),
            n_written: self.document.n_events,
            n_fields_lost: self.document.n_fields_lost,
            n_args_lost: self.n_args_lost,
            ..Changes::default()
        };
        self.document.finish()?;
        Ok(changes)
    }
}

impl DelayedEvents {
    /// Reserves bytes. Returns false if there is no room.
    fn reserve(&mut self, n_bytes: usize) -> bool {
        let has_room = self.n_bytes + n_bytes <= DELAYED_BYTES_MAX;
        if has_room {
            self.n_bytes += n_bytes;
        }
        has_room
    }

    fn release(&mut self, n_bytes: usize) {
        self.n_bytes = self.n_bytes.saturating_sub(n_bytes);
    }
}

impl Stop for Pass<'_> {
    fn is_stopped(&self) -> bool {
        self.document.has_failed()
    }
}

impl EventSink for Pass<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if self.next == 0 {
            self.begin();
        }
        let order = self.next;
        self.next = self.next.saturating_add(1);
        self.places.event(event);
        with_valid_numbers(event, |event| match self.rewriter.decide(event, order) {
            Treatment::Kept(edits) => self.keep(event, order, edits),
            Treatment::LeftOut(rule) => self.left_out.note(rule, event),
            Treatment::EndOf(begin) => self.end(event, order, begin),
        });
    }

    fn loss(&mut self, _: Loss) {}

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        let is_last = self.next >= self.n_events;
        if is_last && self.next > 0 {
            self.end_events();
        }
        if is_usable(key, value) {
            self.document.field(key, value, is_last);
        }
    }
}

/// Returns an event with more arguments.
fn with_args(json: &[u8], more: &[u8]) -> Vec<u8> {
    let mut args: &[u8] = b"{}";
    let mut found = Vec::new();
    ferrum_trace_format::chrome::read::for_each_member(json, |key, value| {
        if let (b"args", ferrum_trace_format::chrome::read::Scalar::Other(value)) = (key.raw, value) {
            found = value.to_vec();
        }
    });
    if !found.is_empty() {
        args = &found;
    }
    let mut edits = Edits::default();
    edits.set("args", join_objects(args, more));
    edits.apply(json, None)
}
