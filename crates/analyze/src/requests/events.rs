//! Events of requests.

use super::request::StageKind;
use ferrum_trace_model::vocab;
use ferrum_trace_model::vocab::request;
use ferrum_trace_model::{ArgColumn, ArgValue, End, Order, StringId, Strings, Trace, TrackId};

/// The argument that has the id in formats without async events.
pub(super) const ID: &str = "id";

/// Property that the events of one request share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// The id of async events.
    Id(StringId),
    /// The track of slices and instants, which Perfetto uses for async events.
    Track(TrackId),
}

/// Event of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub group: Group,
    pub time: i64,
    pub order: Order,
    pub track: TrackId,
    pub id: ArgValue,
    pub kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Begin,
    Finish,
    StageBegin(StageKind),
    StageFinish(StageKind),
    /// A stage with a known end.
    Stage(StageKind, i64),
    Tokens,
}

impl Event {
    /// Returns the sort rank of events at the same time on a track: a request may begin where another one ends.
    pub(super) fn rank(&self) -> u8 {
        match (self.group, self.kind) {
            (Group::Id(_), _) | (_, EventKind::Tokens) => 0,
            (_, EventKind::Finish | EventKind::StageFinish(_)) => 1,
            (_, EventKind::Begin) => 2,
            (_, EventKind::StageBegin(_) | EventKind::Stage(..)) => 3,
        }
    }
}

/// Returns all events of requests.
pub(super) fn events(trace: &Trace, words: &Words) -> Vec<Event> {
    let mut events = Vec::new();
    let asyncs = &trace.asyncs;
    for event in 0..asyncs.time.len() {
        if asyncs.category[event] == words.category
            && !asyncs.is_legacy[event]
            && let Some(kind) = words.kind(asyncs.name[event], asyncs.end[event])
        {
            let (id, track) = (asyncs.id[event], asyncs.track[event]);
            let (time, order) = (asyncs.time[event], asyncs.order[event]);
            events.push(Event { group: Group::Id(id), time, order, track, id: ArgValue::Text(id), kind });
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
        let tid = || trace.tracks.get(track).tid.unwrap_or_default();
        let id = words.args.id.value(order).unwrap_or_else(|| ArgValue::Text(tid()));
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
            events.push(Event {
                group: Group::Track(track),
                time,
                order,
                track,
                id: ArgValue::Text(StringId::EMPTY),
                kind,
            });
        }
    }
}

/// The words of our vocabulary as ids of texts; `None` for words that do not occur in the trace.
pub(super) struct Words<'a> {
    category: StringId,
    request: Option<StringId>,
    stages: [(Option<StringId>, StageKind); 4],
    tokens: [Option<StringId>; 2],
    pub args: Args<'a>,
}

/// Arguments of events of requests.
pub(super) struct Args<'a> {
    pub prompt_tokens: Argument<'a>,
    pub output_tokens: Argument<'a>,
    pub reason: Argument<'a>,
    pub tokens: Argument<'a>,
    pub unclosed: Argument<'a>,
    id: Argument<'a>,
}

/// One argument, if the trace has it.
#[derive(Clone, Copy)]
pub(super) struct Argument<'a> {
    strings: &'a Strings,
    column: Option<&'a ArgColumn>,
}

impl Argument<'_> {
    /// Returns its value.
    pub(super) fn value(&self, order: Order) -> Option<ArgValue> {
        self.column?.of(order)
    }

    /// Returns its value as a number.
    pub(super) fn number(&self, order: Order) -> Option<u64> {
        self.value(order)?.number(self.strings)
    }
}

impl<'a> Words<'a> {
    pub(super) fn of(trace: &'a Trace) -> Option<Self> {
        let id = |text: &str| trace.strings.find(text);
        let argument = |key: &str| Argument {
            strings: &trace.strings,
            column: trace.args.iter().find(|column| column.key == key),
        };
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
            args: Args {
                prompt_tokens: argument(request::PROMPT_TOKENS),
                output_tokens: argument(request::OUTPUT_TOKENS),
                reason: argument(request::REASON),
                tokens: argument(request::TOKENS),
                unclosed: argument(vocab::UNCLOSED),
                id: argument(ID),
            },
        })
    }

    /// Returns the kind of an event with this name and phase; `None` if it is irrelevant.
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
