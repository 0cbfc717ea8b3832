//! Builds requests from events.

use super::events::{Event, EventKind, Words, events};
use super::request::{Request, Stage, StageKind};
use ferrum_trace_model::Trace;

/// Requests that were found.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub requests: Vec<Request>,
    pub n_strays: u64,
}

/// Finds the requests of a trace.
pub(super) fn collect(trace: &Trace) -> Collected {
    let Some(words) = Words::of(trace) else { return Collected::default() };
    let mut events = events(trace, &words);
    events.sort_unstable_by_key(|event| (event.group, event.time, event.rank(), event.order));
    let mut collected = Collected::default();
    for of_group in events.chunk_by(|one, other| one.group == other.group) {
        Assembly { words: &words, collected: &mut collected, open: None }.add_all(of_group);
    }
    collected.requests.sort_by_key(|request| (request.arrival, request.id));
    collected
}

/// Joins the events of one id.
struct Assembly<'a> {
    words: &'a Words<'a>,
    collected: &'a mut Collected,
    open: Option<Open>,
}

/// A request that has begun, and its open stages.
struct Open {
    request: Request,
    /// Begins of the open stages, by [`StageKind`].
    stages: [Vec<i64>; StageKind::ALL.len()],
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
            EventKind::StageBegin(kind) => open.stages[kind as usize].push(event.time),
            EventKind::StageFinish(kind) => open.end_stage(kind, event.time),
            EventKind::Stage(kind, end) => open.request.stages.push(Stage { kind, time: event.time..end }),
            EventKind::Tokens => {
                let n_tokens = self.words.args.tokens.number(event.order).unwrap_or(1);
                open.request.arrivals.push(event.time);
                open.request.n_arrived = open.request.n_arrived.saturating_add(n_tokens);
            }
            EventKind::Begin | EventKind::Finish => {}
        }
    }

    fn begin(&mut self, event: &Event) {
        // Two consecutive requests may share an id.
        self.close(None);
        let request = Request {
            id: event.id,
            track: event.track,
            arrival: event.time,
            end: None,
            prompt_tokens: self.words.args.prompt_tokens.number(event.order),
            output_tokens: None,
            reason: None,
            arrivals: Vec::new(),
            n_arrived: 0,
            stages: Vec::new(),
            is_early: false,
        };
        self.open = Some(Open { request, stages: Default::default() });
    }

    fn finish(&mut self, event: &Event) {
        let args = &self.words.args;
        if let Some(open) = &mut self.open {
            open.request.output_tokens = args.output_tokens.number(event.order);
            open.request.reason = args.reason.value(event.order);
        }
        let is_real = args.unclosed.value(event.order).is_none();
        self.close(is_real.then_some(event.time));
    }

    fn close(&mut self, end: Option<i64>) {
        let Some(mut open) = self.open.take() else { return };
        open.request.end = end;
        if let Some(end) = end {
            for (&kind, starts) in StageKind::ALL.iter().zip(open.stages) {
                open.request.stages.extend(starts.into_iter().rev().map(|start| Stage { kind, time: start..end }));
            }
        }
        open.request.stages.sort_by_key(|stage| (stage.time.start, stage.kind));
        self.collected.requests.push(open.request);
    }
}

impl Open {
    /// Ends the stage of this kind that began last. Ignores one that never began.
    fn end_stage(&mut self, kind: StageKind, time: i64) {
        if let Some(start) = self.stages[kind as usize].pop() {
            self.request.stages.push(Stage { kind, time: start..time });
        }
    }
}
