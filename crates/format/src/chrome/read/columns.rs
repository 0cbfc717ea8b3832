//! Converts events to columns.

use super::event::{Event, Scalar};
use super::loss::Loss;
use super::losses::Losses;
use super::members::for_each_member;
use super::metadata_field::for_each_event_in_field;
use super::rows::{RowFinder, intern};
use super::scanner::EventSink;
use super::wanted_keys::WantedKeys;
use crate::chrome::text::Text;
use ferrum_trace_model::vocab;
use ferrum_trace_model::{ArgValue, End, Order, Slice, StringId, Trace, TrackId, retain_entries};

/// Begin and end events, before they are paired to slices.
#[derive(Clone, Debug, Default)]
pub(crate) struct BeginEnds {
    pub time: Vec<i64>,
    pub name: Vec<StringId>,
    pub category: Vec<StringId>,
    pub track: Vec<TrackId>,
    pub order: Vec<Order>,
    pub is_begin: Vec<bool>,
}

/// The events whose arguments are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ArgsOf {
    /// Begins of slices, instants and async events.
    #[default]
    AllEvents,
    /// Async events only.
    AsyncEvents,
}

impl ArgsOf {
    fn includes(self, phase: u8) -> bool {
        match phase {
            b'b' | b'n' | b'e' => true,
            b'X' | b'B' | b'i' => self == Self::AllEvents,
            _ => false,
        }
    }
}

/// The columns of one piece of a file. Texts, tracks and orders are numbered from the start of the piece.
#[derive(Debug, Default)]
pub(crate) struct Columns<'w> {
    pub trace: Trace,
    pub begin_ends: BeginEnds,
    pub losses: Losses,
    pub fields: Vec<(String, Vec<u8>)>,
    wanted: WantedKeys<'w>,
    args_of: ArgsOf,
    rows: RowFinder,
    last_category: LastText,
    /// Usage of the texts of `trace`, by their numbers. Texts that only describe processes and tracks are not marked.
    pub uses: Vec<Use>,
}

/// Usage of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Use {
    /// The name, category or series of an event.
    pub is_name: bool,
    /// An id or the value of an argument.
    pub is_value: bool,
}

impl<'w> Columns<'w> {
    pub(crate) fn new(wanted: &'w [String], args_of: ArgsOf) -> Self {
        let mut columns = Self { wanted: WantedKeys::new(wanted), args_of, ..Self::default() };
        let empty = |key: &String| ferrum_trace_model::ArgColumn { key: key.clone(), ..Default::default() };
        columns.trace.args = wanted.iter().map(empty).collect();
        columns
    }
}

impl Columns<'_> {
    /// Prepares for another piece; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.trace.clear();
        self.begin_ends.clear();
        self.losses = Losses::default();
        self.fields.clear();
        self.rows.clear();
        self.last_category = LastText::default();
        self.uses.clear();
    }

    fn use_of(&mut self, text: StringId) -> &mut Use {
        if self.uses.len() <= text.index() {
            self.uses.resize(text.index() + 1, Use::default());
        }
        &mut self.uses[text.index()]
    }

    fn as_name(&mut self, text: StringId) -> StringId {
        self.use_of(text).is_name = true;
        text
    }

    fn as_value(&mut self, text: StringId) -> StringId {
        self.use_of(text).is_value = true;
        text
    }
}

impl BeginEnds {
    /// Removes the entries of unwanted tracks. Returns the number of removed entries.
    pub(crate) fn retain_tracks(&mut self, is_wanted: impl Fn(TrackId) -> bool) -> u64 {
        let is_kept: Vec<bool> = self.track.iter().map(|&track| is_wanted(track)).collect();
        let Self { time, name, category, track, order, is_begin } = self;
        retain_entries(time, &is_kept);
        retain_entries(name, &is_kept);
        retain_entries(category, &is_kept);
        retain_entries(track, &is_kept);
        retain_entries(order, &is_kept);
        retain_entries(is_begin, &is_kept);
        is_kept.iter().filter(|&&is_kept| !is_kept).count() as u64
    }

    fn clear(&mut self) {
        let Self { time, name, category, track, order, is_begin } = self;
        time.clear();
        name.clear();
        category.clear();
        track.clear();
        order.clear();
        is_begin.clear();
    }
}

#[derive(Debug, Default)]
struct LastText {
    raw: Vec<u8>,
    id: StringId,
}

/// Returns true if an async event only gives its row a title.
fn is_row_title(event: &Event<'_>) -> bool {
    let Some(args) = event.args.filter(|_| matches!(event.phase, b'b' | b'e')) else { return false };
    let mut is_title = false;
    for_each_member(args, |key, _| is_title |= key.raw == vocab::ROW_OF.as_bytes());
    is_title
}

impl EventSink for Columns<'_> {
    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        let order = self.trace.census.events as Order;
        self.trace.census.events += 1;
        let phase = if event.phase.is_ascii() { event.phase } else { 0 };
        self.trace.census.phases[usize::from(phase)] += 1;
        match phase {
            b'X' => self.complete(event, order),
            b'B' | b'E' => self.begin_or_end(event, order, phase == b'B'),
            b'M' => self.metadata(event),
            b'C' => self.counter(event),
            b's' | b't' | b'f' => self.flow(event),
            b'b' | b'n' | b'e' | b'S' | b'T' | b'p' | b'F' => self.async_event(event, order),
            b'i' | b'I' | b'R' => self.instant(event, order),
            _ => {
                self.note_time(event);
            }
        }
        if !self.wanted.is_empty() && self.args_of.includes(phase) {
            self.keep_args(event, order);
        }
    }

    fn loss(&mut self, loss: Loss) {
        self.losses.push(loss);
    }

    #[inline]
    fn wants_args(&self) -> bool {
        !self.wanted.is_empty() && self.args_of == ArgsOf::AllEvents
    }

    #[inline]
    fn wanted_arg(&self, key: &[u8]) -> Option<u32> {
        self.wanted.find(key)
    }

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        if !for_each_event_in_field(key, value, |event| self.event(event)) {
            self.fields.push((key.decode().into_owned(), value.to_vec()));
        }
    }
}

impl Columns<'_> {
    #[inline]
    fn complete(&mut self, event: &Event<'_>, order: Order) {
        let duration = event.duration.nanos().filter(|&duration| duration >= 0);
        let (Some(start), Some(duration), Some(end)) = (event.start.nanos(), duration, event.end()) else {
            self.trace.census.anomalies.unusable += 1;
            self.note_time(event);
            return;
        };
        self.trace.census.note_time(start, end);
        let (name, category, track) = (self.name(event), self.category(event), self.track(event));
        self.trace.slices.push(Slice { start, duration, name, category, track, order });
    }

    fn begin_or_end(&mut self, event: &Event<'_>, order: Order, is_begin: bool) {
        let Some(time) = self.note_time(event) else {
            self.trace.census.anomalies.unusable += 1;
            return;
        };
        let (name, category, track) = (self.name(event), self.category(event), self.track(event));
        let begin_ends = &mut self.begin_ends;
        begin_ends.time.push(time);
        begin_ends.name.push(name);
        begin_ends.category.push(category);
        begin_ends.track.push(track);
        begin_ends.order.push(order);
        begin_ends.is_begin.push(is_begin);
    }

    fn instant(&mut self, event: &Event<'_>, order: Order) {
        let Some(time) = self.note_time(event) else {
            return;
        };
        let (name, category, track) = (self.name(event), self.category(event), self.track(event));
        let instants = &mut self.trace.instants;
        instants.time.push(time);
        instants.name.push(name);
        instants.category.push(category);
        instants.track.push(track);
        instants.order.push(order);
    }

    fn flow(&mut self, event: &Event<'_>) {
        let (Some(time), id) = (self.note_time(event), event.id) else {
            return;
        };
        let (name, category, track) = (self.name(event), self.category(event), self.track(event));
        let id = self.scalar(id);
        let id = self.as_value(id);
        let flows = &mut self.trace.flows;
        flows.time.push(time);
        flows.name.push(name);
        flows.category.push(category);
        flows.track.push(track);
        flows.id.push(id);
        flows.end.push(match event.phase {
            b's' => End::Begin,
            b't' => End::Step,
            _ => End::Finish,
        });
    }

    fn async_event(&mut self, event: &Event<'_>, order: Order) {
        let Some(time) = self.note_time(event) else {
            return;
        };
        if is_row_title(event) {
            return;
        }
        let (name, category, track) = (self.name(event), self.category(event), self.track(event));
        let id = self.async_id(event);
        let id = self.as_value(id);
        let asyncs = &mut self.trace.asyncs;
        asyncs.time.push(time);
        asyncs.name.push(name);
        asyncs.category.push(category);
        asyncs.track.push(track);
        asyncs.id.push(id);
        asyncs.end.push(match event.phase {
            b'b' | b'S' => End::Begin,
            b'e' | b'F' => End::Finish,
            _ => End::Step,
        });
        asyncs.is_legacy.push(matches!(event.phase, b'S' | b'T' | b'p' | b'F'));
        asyncs.order.push(order);
    }

    /// Returns the id of an async event. An id that is local to a process is preceded by the process id.
    fn async_id(&mut self, event: &Event<'_>) -> StringId {
        match event.async_id() {
            None => StringId::EMPTY,
            Some((id, false)) => self.trace.strings.intern(&id),
            Some((id, true)) => {
                let pid = event.pid.map(|pid| pid.decode()).unwrap_or_default();
                self.trace.strings.intern(&format!("{pid}/{id}"))
            }
        }
    }

    fn counter(&mut self, event: &Event<'_>) {
        let (Some(time), Some(args)) = (self.note_time(event), event.args) else {
            return;
        };
        let (name, track) = (self.name(event), self.track(event));
        for_each_member(args, |key, value| {
            let Some(number) = value.plain().and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()) else {
                return;
            };
            let series = self.trace.strings.intern(&key.decode());
            let series = self.as_name(series);
            let counters = &mut self.trace.counters;
            counters.time.push(time);
            counters.name.push(name);
            counters.series.push(series);
            counters.track.push(track);
            counters.value.push(number);
        });
    }

    fn metadata(&mut self, event: &Event<'_>) {
        self.rows.describe(event, &mut self.trace.strings, &mut self.trace.tracks);
    }

    fn keep_args(&mut self, event: &Event<'_>, order: Order) {
        match event.wanted_args {
            Some(args) => args.iter().for_each(|arg| self.keep_arg(arg.number, arg.value, order)),
            None => for_each_member(event.args.unwrap_or_default(), |key, value| {
                if let Some(column) = self.wanted.find(key.raw) {
                    self.keep_arg(column, value, order);
                }
            }),
        }
    }

    #[inline]
    fn keep_arg(&mut self, column: u32, value: Scalar<'_>, order: Order) {
        // Decoding an integer would take longer than parsing it.
        let integer = value.plain().and_then(ArgValue::integer);
        let value = integer.unwrap_or_else(|| ArgValue::intern(&value.decode(), &mut self.trace.strings));
        if let ArgValue::Text(text) = value {
            self.as_value(text);
        }
        let column = &mut self.trace.args[column as usize];
        // If a key occurs twice, the last value counts, as in other readers.
        if column.order.last() == Some(&order) {
            column.order.pop();
            column.value.pop();
        }
        column.order.push(order);
        column.value.push(value);
    }

    /// Returns the time of an event and extends the time range of the trace by it.
    fn note_time(&mut self, event: &Event<'_>) -> Option<i64> {
        let time = event.start.nanos()?;
        self.trace.census.note_time(time, time);
        Some(time)
    }

    #[inline]
    fn name(&mut self, event: &Event<'_>) -> StringId {
        let name = self.scalar(event.name);
        self.as_name(name)
    }

    #[inline]
    fn category(&mut self, event: &Event<'_>) -> StringId {
        let plain = event.category.and_then(|category| category.plain());
        if let Some(raw) = plain
            && raw == self.last_category.raw
        {
            return self.last_category.id;
        }
        let id = self.scalar(event.category);
        let id = self.as_name(id);
        if let Some(raw) = plain {
            self.last_category = LastText { raw: raw.to_vec(), id };
        }
        id
    }

    #[inline]
    fn scalar(&mut self, scalar: Option<Scalar<'_>>) -> StringId {
        scalar.map_or(StringId::EMPTY, |scalar| intern(&mut self.trace.strings, scalar))
    }

    #[inline]
    fn track(&mut self, event: &Event<'_>) -> TrackId {
        self.rows.track(event, &mut self.trace.strings, &mut self.trace.tracks)
    }
}
