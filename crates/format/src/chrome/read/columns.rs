//! Makes columns of events.

use super::cursor::Cursor;
use super::event::{Event, Scalar};
use super::loss::Loss;
use super::losses::Losses;
use super::scanner::Sink;
use super::text::Text;
use ferrum_trace_model::{End, Order, Slice, StringId, Strings, Trace, TrackId};

/// Begins and ends of slices, before they are paired.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    pub time: Vec<i64>,
    pub name: Vec<StringId>,
    pub category: Vec<StringId>,
    pub track: Vec<TrackId>,
    pub order: Vec<Order>,
    pub is_begin: Vec<bool>,
}

/// The columns of a part of a file. Texts, tracks and orders are numbered from the beginning of that part.
#[derive(Debug, Default)]
pub struct Columns<'w> {
    pub trace: Trace,
    pub edges: Edges,
    pub losses: Losses,
    pub fields: Vec<(String, Vec<u8>)>,
    /// The arguments that are wanted.
    wanted: &'w [String],
    last_track: LastTrack,
    last_category: LastText,
}

impl<'w> Columns<'w> {
    pub fn new(wanted: &'w [String]) -> Self {
        let mut columns = Self { wanted, ..Self::default() };
        let empty = |key: &String| ferrum_trace_model::ArgColumn { key: key.clone(), ..Default::default() };
        columns.trace.args = wanted.iter().map(empty).collect();
        columns
    }
}

impl Columns<'_> {
    /// Ready for another part; the memory stays.
    pub fn clear(&mut self) {
        self.trace.clear();
        self.edges.clear();
        self.losses = Losses::default();
        self.fields.clear();
        self.last_track = LastTrack::default();
        self.last_category = LastText::default();
    }
}

impl Edges {
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

/// The track of the event before: most often that of the next one too.
#[derive(Debug, Default)]
struct LastTrack {
    pid: Vec<u8>,
    tid: Vec<u8>,
    id: Option<TrackId>,
}

#[derive(Debug, Default)]
struct LastText {
    raw: Vec<u8>,
    id: StringId,
}

impl Sink for Columns<'_> {
    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        let order = self.trace.census.events as Order;
        self.trace.census.events += 1;
        let phase = if event.phase.is_ascii() { event.phase } else { 0 };
        self.trace.census.phases[usize::from(phase)] += 1;
        match phase {
            b'X' => self.complete(event, order),
            b'B' | b'E' => self.edge(event, order, phase == b'B'),
            b'M' => self.metadata(event),
            b'C' => self.counter(event),
            b's' | b't' | b'f' => self.flow(event),
            b'b' | b'n' | b'e' | b'S' | b'T' | b'p' | b'F' => self.asynchronous(event),
            b'i' | b'I' | b'R' => self.instant(event),
            _ => {
                self.note_time(event);
            }
        }
        if !self.wanted.is_empty() && matches!(phase, b'X' | b'B') {
            self.keep_args(event, order);
        }
    }

    fn loss(&mut self, loss: Loss) {
        self.losses.push(loss);
    }

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        self.fields.push((key.decode().into_owned(), value.to_vec()));
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

    fn edge(&mut self, event: &Event<'_>, order: Order, is_begin: bool) {
        let Some(time) = self.note_time(event) else {
            self.trace.census.anomalies.unusable += 1;
            return;
        };
        let (name, category, track) = (self.name(event), self.category(event), self.track(event));
        let edges = &mut self.edges;
        edges.time.push(time);
        edges.name.push(name);
        edges.category.push(category);
        edges.track.push(track);
        edges.order.push(order);
        edges.is_begin.push(is_begin);
    }

    fn instant(&mut self, event: &Event<'_>) {
        let Some(time) = self.note_time(event) else {
            return;
        };
        let (name, category, track) = (self.name(event), self.category(event), self.track(event));
        let instants = &mut self.trace.instants;
        instants.time.push(time);
        instants.name.push(name);
        instants.category.push(category);
        instants.track.push(track);
    }

    fn flow(&mut self, event: &Event<'_>) {
        let (Some(time), id) = (self.note_time(event), event.id) else {
            return;
        };
        let (name, category, track) = (self.name(event), self.category(event), self.track(event));
        let id = self.scalar(id);
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

    fn asynchronous(&mut self, event: &Event<'_>) {
        let Some(time) = self.note_time(event) else {
            return;
        };
        let (name, category, track) = (self.name(event), self.category(event), self.track(event));
        let id = self.async_id(event);
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
    }

    /// An id that is local to a process has the process's before it.
    fn async_id(&mut self, event: &Event<'_>) -> StringId {
        let Some(id2) = event.id2 else {
            return self.scalar(event.id);
        };
        let mut id = StringId::EMPTY;
        for_each_member(id2, |key, value| match key.raw {
            b"global" => id = self.trace.strings.intern(&value.decode()),
            b"local" => {
                let pid = event.pid.map(|pid| pid.decode()).unwrap_or_default();
                id = self.trace.strings.intern(&format!("{pid}/{}", value.decode()));
            }
            _ => {}
        });
        id
    }

    fn counter(&mut self, event: &Event<'_>) {
        let (Some(time), Some(args)) = (self.note_time(event), event.args) else {
            return;
        };
        let (name, track) = (self.name(event), self.track(event));
        let Trace { strings, counters, .. } = &mut self.trace;
        for_each_member(args, |key, value| {
            let Some(number) = value.plain().and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()) else {
                return;
            };
            counters.time.push(time);
            counters.name.push(name);
            counters.series.push(strings.intern(&key.decode()));
            counters.track.push(track);
            counters.value.push(number);
        });
    }

    fn metadata(&mut self, event: &Event<'_>) {
        let (Some(kind), Some(args)) = (event.name, event.args) else {
            return;
        };
        let track = self.track(event);
        let Trace { strings, tracks, .. } = &mut self.trace;
        let process = tracks.get(track).process;
        let kind = kind.decode();
        for_each_member(args, |key, value| {
            let text = || value.decode();
            match (&*kind, key.raw) {
                ("process_name", b"name") => tracks.get_process_mut(process).name = Some(strings.intern(&text())),
                ("process_labels", b"labels") => tracks.get_process_mut(process).labels = Some(strings.intern(&text())),
                ("process_sort_index", b"sort_index") => {
                    tracks.get_process_mut(process).sort_index = text().parse().ok();
                }
                ("thread_name", b"name") => tracks.get_mut(track).name = Some(strings.intern(&text())),
                ("thread_sort_index", b"sort_index") => tracks.get_mut(track).sort_index = text().parse().ok(),
                _ => {}
            }
        });
    }

    fn keep_args(&mut self, event: &Event<'_>, order: Order) {
        let Trace { strings, args: columns, .. } = &mut self.trace;
        for_each_member(event.args.unwrap_or_default(), |key, value| {
            for column in columns.iter_mut().filter(|column| column.key.as_bytes() == key.raw) {
                // Of two values for one key the last one counts, as everywhere.
                if column.order.last() == Some(&order) {
                    column.order.pop();
                    column.value.pop();
                }
                column.order.push(order);
                column.value.push(strings.intern(&value.decode()));
            }
        });
    }

    /// The event's time, which counts for the span of the trace.
    fn note_time(&mut self, event: &Event<'_>) -> Option<i64> {
        let time = event.start.nanos()?;
        self.trace.census.note_time(time, time);
        Some(time)
    }

    #[inline]
    fn name(&mut self, event: &Event<'_>) -> StringId {
        self.scalar(event.name)
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
        let plain = |id: Option<Scalar<'_>>| id.and_then(|id| id.plain().map(<[u8]>::to_vec));
        let is = |id: Option<Scalar<'_>>, last: &[u8]| id.and_then(|id| id.plain()).is_some_and(|raw| raw == last);
        if let Some(id) = self.last_track.id
            && is(event.pid, &self.last_track.pid)
            && is(event.tid, &self.last_track.tid)
        {
            return id;
        }
        let strings = &mut self.trace.strings;
        let [pid, tid] = [event.pid, event.tid].map(|id| id.map(|id| intern(strings, id)));
        let id = self.trace.tracks.track(pid, tid);
        if let (Some(pid), Some(tid)) = (plain(event.pid), plain(event.tid)) {
            self.last_track = LastTrack { pid, tid, id: Some(id) };
        }
        id
    }
}

#[inline]
fn intern(strings: &mut Strings, scalar: Scalar<'_>) -> StringId {
    match scalar.plain() {
        Some(raw) => strings.intern_bytes(raw),
        None => strings.intern(&scalar.decode()),
    }
}

/// Looks at the members of an object, of which it is known that it is JSON. What is no object has none.
pub fn for_each_member<'a>(json: &'a [u8], mut look: impl FnMut(Text<'a>, Scalar<'a>)) {
    let mut cursor = Cursor::new(json, 0);
    if cursor.expect(b'{', "`{`").is_err() {
        return;
    }
    loop {
        cursor.skip_space();
        let Ok(key) = cursor.key() else {
            return;
        };
        cursor.skip_space();
        let value = match cursor.peek() {
            Some(b'"') => cursor.text().map(Scalar::Text),
            _ => cursor.value().map(Scalar::Other),
        };
        let Ok(value) = value else {
            return;
        };
        look(key, value);
        if cursor.expect(b',', "`,`").is_err() {
            return;
        }
    }
}
