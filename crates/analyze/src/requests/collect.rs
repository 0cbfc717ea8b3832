//! Asynchronous events become requests.

use ferrum_trace_model::vocab::request;
use ferrum_trace_model::{ArgColumn, End, StringId, Trace, TrackId};
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

/// What was found.
#[derive(Debug, Default)]
pub struct Collected {
    pub requests: Vec<Request>,
    pub n_strays: u64,
}

/// Finds the requests of a trace.
pub fn collect(trace: &Trace) -> Collected {
    let Some(words) = Words::of(trace) else { return Collected::default() };
    let asyncs = &trace.asyncs;
    let is_ours = |&event: &u32| asyncs.category[event as usize] == words.category && !asyncs.is_legacy[event as usize];
    let mut events: Vec<u32> = (0..asyncs.time.len() as u32).filter(is_ours).collect();
    events.sort_unstable_by_key(|&event| {
        let event = event as usize;
        (asyncs.id[event], asyncs.time[event], asyncs.order[event])
    });
    let mut collected = Collected::default();
    for of_id in events.chunk_by(|&one, &other| asyncs.id[one as usize] == asyncs.id[other as usize]) {
        Assembly { trace, words: &words, collected: &mut collected, open: None }.add_all(of_id);
    }
    collected.requests.sort_by_key(|request| (request.arrival, request.id));
    collected
}

/// Our words as numbers of texts. What a trace does not have is `None`.
struct Words<'a> {
    category: StringId,
    request: Option<StringId>,
    stages: [(Option<StringId>, StageKind); 4],
    tokens: [Option<StringId>; 2],
    args: [Option<&'a ArgColumn>; 4],
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
    fn add_all(mut self, events: &[u32]) {
        for &event in events {
            self.add(event as usize);
        }
        // The trace ends before the request does.
        self.close(None);
    }

    fn add(&mut self, event: usize) {
        let asyncs = &self.trace.asyncs;
        let (name, end, time) = (asyncs.name[event], asyncs.end[event], asyncs.time[event]);
        if Some(name) == self.words.request {
            match end {
                End::Begin => self.begin(event),
                End::Finish if self.open.is_some() => self.finish(event),
                End::Step | End::Finish => self.collected.n_strays += 1,
            }
            return;
        }
        let n_tokens = self.argument(3, event);
        let Some(open) = &mut self.open else {
            self.collected.n_strays += 1;
            return;
        };
        if let Some(kind) = self.words.stage(name) {
            match end {
                End::Begin => open.stages.push((kind, time)),
                End::Finish => open.end_stage(kind, time),
                End::Step => {}
            }
        } else if end == End::Step && self.words.tokens.contains(&Some(name)) {
            open.request.arrivals.push(time);
            open.request.n_arrived = open.request.n_arrived.saturating_add(n_tokens.unwrap_or(1));
        }
    }

    fn begin(&mut self, event: usize) {
        // Two requests that follow each other may share an id.
        self.close(None);
        let asyncs = &self.trace.asyncs;
        let request = Request {
            id: asyncs.id[event],
            track: asyncs.track[event],
            arrival: asyncs.time[event],
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

    fn finish(&mut self, event: usize) {
        let (output_tokens, reason) = (self.argument(1, event), self.value(2, event));
        let prompt_tokens: Option<u64> = self.argument(0, event);
        if let Some(open) = &mut self.open {
            open.request.output_tokens = output_tokens;
            open.request.reason = reason;
            open.request.prompt_tokens = open.request.prompt_tokens.or(prompt_tokens);
        }
        self.close(Some(self.trace.asyncs.time[event]));
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

    fn value(&self, argument: usize, event: usize) -> Option<StringId> {
        self.words.args.get(argument).copied().flatten()?.of(self.trace.asyncs.order[event])
    }

    fn argument(&self, argument: usize, event: usize) -> Option<u64> {
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
