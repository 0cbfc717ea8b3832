//! Asynchronous events become requests.

use ferrum_trace_model::vocab::request;
use ferrum_trace_model::{ArgColumn, End, Order, StringId, Trace, TrackId};
use std::ops::Range;

/// One request. Times are nanoseconds, as the file has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its id, as text.
    pub id: StringId,
    /// Where its first event was recorded.
    pub track: TrackId,
    /// When it came.
    pub arrival: i64,
    /// When it ended; `None` if the trace ends before.
    pub end: Option<i64>,
    /// How long the prompt is.
    pub prompt_tokens: Option<u64>,
    /// How many tokens were generated, as the end of it says.
    pub output_tokens: Option<u64>,
    /// Why it ended.
    pub reason: Option<StringId>,
    /// When tokens came: one entry an arrival, in order.
    pub arrivals: Vec<i64>,
    /// How many tokens came in these.
    pub n_arrived: u64,
    /// What it was in, in order; those that have no end last to the end of the request.
    pub stages: Vec<Stage>,
}

/// What a request is in for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What it is in.
    pub kind: StageKind,
    /// From when to when.
    pub time: Range<i64>,
}

/// What a request can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageKind {
    /// It waits to be run for the first time.
    Queued,
    /// Its prompt is computed.
    Prefill,
    /// It gets token after token.
    Decode,
    /// Its cache was taken away.
    Preempted,
}

impl Request {
    /// From its arrival to its end.
    pub fn latency(&self) -> Option<i64> {
        Some(self.end?.saturating_sub(self.arrival))
    }

    /// When the first token came.
    pub fn first_token(&self) -> Option<i64> {
        self.arrivals.first().copied()
    }

    /// From its arrival to its first token: TTFT.
    pub fn time_to_first_token(&self) -> Option<i64> {
        Some(self.first_token()?.saturating_sub(self.arrival))
    }

    /// How many tokens were generated: as its end says, else as many as came.
    pub fn tokens(&self) -> u64 {
        self.output_tokens.unwrap_or(self.n_arrived)
    }

    /// The time for each token after the first, TPOT; `None` if there is no such token.
    pub fn time_per_output_token(&self) -> Option<f64> {
        let n_further = self.tokens().checked_sub(1).filter(|&n_further| n_further > 0)?;
        let after_first = self.latency()?.saturating_sub(self.time_to_first_token()?);
        Some(after_first as f64 / n_further as f64)
    }

    /// How long it waited to be run for the first time; `None` if that was not recorded.
    pub fn queue_time(&self) -> Option<i64> {
        let queued = self.stages.iter().filter(|stage| stage.kind == StageKind::Queued);
        queued.map(|stage| stage.time.end.saturating_sub(stage.time.start)).reduce(i64::saturating_add)
    }
}

/// The argument in which a format without asynchronous events keeps their id.
pub const ID: &str = "id";
/// The argument that [`repair`](crate::repair) gives to what has no end, and to the end that it makes for it.
pub const UNCLOSED: &str = "unclosed";

/// What was found.
#[derive(Debug, Default)]
pub struct Collected {
    pub requests: Vec<Request>,
    pub n_strays: u64,
}

/// Finds the requests of a trace.
pub fn collect(trace: &Trace) -> Collected {
    let Some(words) = Words::of(trace) else { return Collected::default() };
    let mut events = events(trace, &words);
    events.sort_unstable_by_key(|event| (event.group, event.time, event.rank(), event.order));
    let mut collected = Collected::default();
    for of_group in events.chunk_by(|one, other| one.group == other.group) {
        Assembly { trace, words: &words, collected: &mut collected, open: None }.add_all(of_group);
    }
    collected.requests.sort_by_key(|request| (request.arrival, request.id));
    collected
}

/// What events of one request have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// The id of asynchronous events.
    Id(StringId),
    /// The track of slices and instants, as Perfetto keeps what is asynchronous.
    Track(TrackId),
}

/// Something about a request.
#[derive(Clone, Copy, Debug)]
struct Event {
    group: Group,
    time: i64,
    order: Order,
    track: TrackId,
    id: StringId,
    kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventKind {
    Begin,
    Finish,
    StageBegin(StageKind),
    StageFinish(StageKind),
    /// A stage of which the end is known already.
    Stage(StageKind, i64),
    Tokens,
}

impl Event {
    /// On a track, what happens at the same time has an order of its own: a request may begin where another one ends.
    fn rank(&self) -> u8 {
        match (self.group, self.kind) {
            (Group::Id(_), _) | (_, EventKind::Tokens) => 0,
            (_, EventKind::Finish | EventKind::StageFinish(_)) => 1,
            (_, EventKind::Begin) => 2,
            (_, EventKind::StageBegin(_) | EventKind::Stage(..)) => 3,
        }
    }
}

/// All events of requests.
fn events(trace: &Trace, words: &Words) -> Vec<Event> {
    let mut events = Vec::new();
    let asyncs = &trace.asyncs;
    for event in 0..asyncs.time.len() {
        if asyncs.category[event] == words.category
            && !asyncs.is_legacy[event]
            && let Some(kind) = words.kind(asyncs.name[event], asyncs.end[event])
        {
            let (id, track) = (asyncs.id[event], asyncs.track[event]);
            let (time, order) = (asyncs.time[event], asyncs.order[event]);
            events.push(Event { group: Group::Id(id), time, order, track, id, kind });
        }
    }
    add_slices(trace, words, &mut events);
    if events.iter().any(|event| matches!(event.group, Group::Track(_))) {
        add_instants(trace, words, &mut events);
    }
    events
}

fn add_slices(trace: &Trace, words: &Words, events: &mut Vec<Event>) {
    let slices = &trace.slices;
    for slice in (0..slices.len()).filter(|&slice| slices.category[slice] == words.category) {
        let (track, order) = (slices.track[slice], slices.order[slice]);
        let id = words.args[4].and_then(|ids| ids.of(order)).or(trace.tracks.get(track).tid).unwrap_or_default();
        let event = |time: i64, kind: EventKind| Event { group: Group::Track(track), time, order, track, id, kind };
        let (start, end) = (slices.start[slice], slices.end(slice));
        if Some(slices.name[slice]) == words.request {
            events.extend([event(start, EventKind::Begin), event(end, EventKind::Finish)]);
        } else if let Some(kind) = words.stage(slices.name[slice]) {
            events.push(event(start, EventKind::Stage(kind, end)));
        }
    }
}

fn add_instants(trace: &Trace, words: &Words, events: &mut Vec<Event>) {
    let instants = &trace.instants;
    for instant in (0..instants.time.len()).filter(|&instant| instants.category[instant] == words.category) {
        if let Some(kind @ EventKind::Tokens) = words.kind(instants.name[instant], End::Step) {
            let (time, track, order) = (instants.time[instant], instants.track[instant], instants.order[instant]);
            events.push(Event { group: Group::Track(track), time, order, track, id: StringId::EMPTY, kind });
        }
    }
}

/// Our words as numbers of texts. What a trace does not have is `None`.
struct Words<'a> {
    category: StringId,
    request: Option<StringId>,
    stages: [(Option<StringId>, StageKind); 4],
    tokens: [Option<StringId>; 2],
    args: [Option<&'a ArgColumn>; 6],
}

impl<'a> Words<'a> {
    fn of(trace: &'a Trace) -> Option<Self> {
        let id = |text: &str| trace.strings.find(text);
        let column = |key: &str| trace.args.iter().find(|column| column.key == key);
        Some(Self {
            category: id(request::CATEGORY)?,
            request: id(request::REQUEST),
            stages: [
                (id(request::QUEUED), StageKind::Queued),
                (id(request::PREFILL), StageKind::Prefill),
                (id(request::DECODE), StageKind::Decode),
                (id(request::PREEMPTED), StageKind::Preempted),
            ],
            tokens: [request::FIRST_TOKEN, request::TOKEN].map(id),
            args: super::REQUEST_ARGS.map(column),
        })
    }

    /// What an event of this name and end tells; `None` if that is nothing that counts.
    fn kind(&self, name: StringId, end: End) -> Option<EventKind> {
        if Some(name) == self.request {
            return match end {
                End::Begin => Some(EventKind::Begin),
                End::Finish => Some(EventKind::Finish),
                End::Step => None,
            };
        }
        match (self.stage(name), end) {
            (Some(kind), End::Begin) => Some(EventKind::StageBegin(kind)),
            (Some(kind), End::Finish) => Some(EventKind::StageFinish(kind)),
            (None, End::Step) if self.tokens.contains(&Some(name)) => Some(EventKind::Tokens),
            _ => None,
        }
    }

    fn stage(&self, name: StringId) -> Option<StageKind> {
        self.stages.iter().find(|(word, _)| *word == Some(name)).map(|(_, kind)| *kind)
    }
}

/// Puts the events of one id together.
struct Assembly<'a> {
    trace: &'a Trace,
    words: &'a Words<'a>,
    collected: &'a mut Collected,
    open: Option<Open>,
}

/// A request that has begun, and the stages that it is in.
struct Open {
    request: Request,
    stages: Vec<(StageKind, i64)>,
}

impl Assembly<'_> {
    fn add_all(mut self, events: &[Event]) {
        for event in events {
            self.add(event);
        }
        // The trace ends before the request does.
        self.close(None);
    }

    fn add(&mut self, event: &Event) {
        let n_tokens = self.argument(3, event);
        let open = match (&mut self.open, event.kind) {
            (_, EventKind::Begin) => return self.begin(event),
            (Some(_), EventKind::Finish) => return self.finish(event),
            (Some(open), _) => open,
            (None, _) => {
                self.collected.n_strays += 1;
                return;
            }
        };
        match event.kind {
            EventKind::StageBegin(kind) => open.stages.push((kind, event.time)),
            EventKind::StageFinish(kind) => open.end_stage(kind, event.time),
            EventKind::Stage(kind, end) => open.request.stages.push(Stage { kind, time: event.time..end }),
            EventKind::Tokens => {
                open.request.arrivals.push(event.time);
                open.request.n_arrived = open.request.n_arrived.saturating_add(n_tokens.unwrap_or(1));
            }
            EventKind::Begin | EventKind::Finish => {}
        }
    }

    fn begin(&mut self, event: &Event) {
        // Two requests that follow each other may share an id.
        self.close(None);
        let request = Request {
            id: event.id,
            track: event.track,
            arrival: event.time,
            end: None,
            prompt_tokens: self.argument(0, event),
            output_tokens: None,
            reason: None,
            arrivals: Vec::new(),
            n_arrived: 0,
            stages: Vec::new(),
        };
        self.open = Some(Open { request, stages: Vec::new() });
    }

    fn finish(&mut self, event: &Event) {
        let (output_tokens, reason) = (self.argument(1, event), self.value(2, event));
        let prompt_tokens: Option<u64> = self.argument(0, event);
        if let Some(open) = &mut self.open {
            open.request.output_tokens = output_tokens;
            open.request.reason = reason;
            open.request.prompt_tokens = open.request.prompt_tokens.or(prompt_tokens);
        }
        let is_real = self.value(5, event).is_none();
        self.close(is_real.then_some(event.time));
    }

    fn close(&mut self, end: Option<i64>) {
        let Some(mut open) = self.open.take() else { return };
        open.request.end = end;
        if let Some(end) = end {
            while let Some((kind, start)) = open.stages.pop() {
                open.request.stages.push(Stage { kind, time: start..end });
            }
        }
        open.request.stages.sort_by_key(|stage| (stage.time.start, stage.kind));
        self.collected.requests.push(open.request);
    }

    fn value(&self, argument: usize, event: &Event) -> Option<StringId> {
        self.words.args.get(argument).copied().flatten()?.of(event.order)
    }

    fn argument(&self, argument: usize, event: &Event) -> Option<u64> {
        self.trace.strings.get(self.value(argument, event)?).parse().ok()
    }
}

impl Open {
    /// Ends the stage of that kind that began last. One that never began is passed over.
    fn end_stage(&mut self, kind: StageKind, time: i64) {
        if let Some(place) = self.stages.iter().rposition(|(open, _)| *open == kind) {
            let (kind, start) = self.stages.remove(place);
            self.request.stages.push(Stage { kind, time: start..time });
        }
    }
}
