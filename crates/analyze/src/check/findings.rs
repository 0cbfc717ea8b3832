//! Findings, counted by rule.

use super::rule::Rule;
use ferrum_trace_format::chrome::read::{Event, EventSink};
use ferrum_trace_format::chrome::read::{Loss, Text};
use ferrum_trace_model::Order;

/// Maximum number of locations per finding.
const PLACES_MAX: usize = 5;
/// Number of bytes of an event in an excerpt.
const EXCERPT_BYTES: usize = 100;

/// A rule that a file violates.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Number of violations.
    pub n: u64,
    /// The first locations.
    pub first: Vec<Location>,
}

/// Location of a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Bytes from the start of the (decompressed) file.
    pub offset: u64,
    /// The text at that offset, shortened, or the message of the reader.
    pub excerpt: String,
}

/// Findings during a check.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    tallies: Vec<Tally>,
}

#[derive(Debug)]
struct Tally {
    rule: &'static Rule,
    n: u64,
    first: Vec<Location>,
    /// Events whose locations are not known yet: the first ones in the file.
    orders: Vec<Order>,
}

impl Findings {
    /// Counts a violation by the current event.
    pub(crate) fn note(&mut self, rule: &'static Rule, event: &Event<'_>) {
        let tally = self.tally(rule);
        tally.n += 1;
        if tally.first.len() < PLACES_MAX {
            tally.first.push(Location { offset: event.offset, excerpt: excerpt(event.json) });
        }
    }

    /// Counts a violation at an offset.
    pub(crate) fn note_place(&mut self, rule: &'static Rule, offset: u64, excerpt: impl Into<String>) {
        let tally = self.tally(rule);
        tally.n += 1;
        if tally.first.len() < PLACES_MAX {
            tally.first.push(Location { offset, excerpt: excerpt.into() });
        }
    }

    /// Counts a violation without a location.
    pub(crate) fn note_somewhere(&mut self, rule: &'static Rule) {
        self.tally(rule).n += 1;
    }

    /// Counts a violation by an earlier event, in any order.
    pub(crate) fn note_order(&mut self, rule: &'static Rule, order: Order) {
        let tally = self.tally(rule);
        tally.n += 1;
        let place = tally.orders.partition_point(|&other| other < order);
        if place < PLACES_MAX {
            tally.orders.insert(place, order);
            tally.orders.truncate(PLACES_MAX);
        }
    }

    /// Moves the violations of one rule to another.
    pub(crate) fn rename(&mut self, from: &'static Rule, to: &'static Rule) {
        if let Some(tally) = self.tallies.iter_mut().find(|tally| std::ptr::eq(tally.rule, from)) {
            tally.rule = to;
        }
    }

    /// Returns the number of violations of a rule.
    pub(crate) fn n(&self, rule: &'static Rule) -> u64 {
        self.tallies.iter().find(|tally| std::ptr::eq(tally.rule, rule)).map_or(0, |tally| tally.n)
    }

    /// Returns the events whose locations are needed.
    pub(crate) fn wanted(&self) -> Vec<Order> {
        let mut orders: Vec<Order> = self.tallies.iter().flat_map(|tally| tally.orders.iter().copied()).collect();
        orders.sort_unstable();
        orders.dedup();
        orders
    }

    /// Returns the findings, in the order of the rules. `places` has the locations of the wanted events.
    pub(crate) fn finish(self, places: &Places) -> Vec<Finding> {
        let mut tallies = self.tallies;
        for tally in &mut tallies {
            tally.first.extend(tally.orders.iter().filter_map(|&order| places.get(order)));
            tally.first.sort_by_key(|place| place.offset);
            tally.first.truncate(PLACES_MAX);
        }
        let of_rule = |rule: &'static Rule| {
            let place = tallies.iter().position(|tally| std::ptr::eq(tally.rule, rule))?;
            let Tally { rule, n, ref first, .. } = tallies[place];
            Some(Finding { rule, n, first: first.clone() })
        };
        super::rules::all().filter_map(of_rule).collect()
    }

    fn tally(&mut self, rule: &'static Rule) -> &mut Tally {
        let place = match self.tallies.iter().position(|tally| std::ptr::eq(tally.rule, rule)) {
            Some(place) => place,
            None => {
                self.tallies.push(Tally { rule, n: 0, first: Vec::new(), orders: Vec::new() });
                self.tallies.len() - 1
            }
        };
        &mut self.tallies[place]
    }
}

/// Finds the locations of events in a second pass.
#[derive(Debug, Default)]
pub(crate) struct Places {
    wanted: Vec<Order>,
    found: Vec<Location>,
    next: Order,
}

impl Places {
    /// Searches for these events, in order.
    pub(crate) fn of(wanted: Vec<Order>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Returns true if no event is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    fn get(&self, order: Order) -> Option<Location> {
        let place = self.wanted.binary_search(&order).ok()?;
        self.found.get(place).cloned()
    }
}

impl EventSink for Places {
    fn event(&mut self, event: &Event<'_>) {
        if self.wanted.get(self.found.len()) == Some(&self.next) {
            self.found.push(Location { offset: event.offset, excerpt: excerpt(event.json) });
        }
        self.next += 1;
    }

    fn loss(&mut self, _: Loss) {}

    fn field(&mut self, _: Text<'_>, _: &[u8]) {}
}

/// Returns the beginning of a JSON text, on one line.
pub(crate) fn excerpt(json: &[u8]) -> String {
    let is_cut = json.len() > EXCERPT_BYTES;
    let text = String::from_utf8_lossy(&json[..json.len().min(EXCERPT_BYTES)]);
    let mut line: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    if is_cut {
        line.push('…');
    }
    line
}
