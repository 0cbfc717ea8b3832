//! A request, from its arrival to its end.

use crate::probe::mode::mode;
use crate::process::categories::is_muted;
use crate::process::current;
use crate::process::event::point_at;
use crate::process::switch::{self, OFF};
use crate::process::value::Value;
use crate::thread::arg::Arg;
use crate::thread::site::Site;
use crate::watch::requests::{self, Seen, WatchedRequest};
use crate::watch::window::{self, Arrives};
use ferrum_trace_format::spool::record::RecordKind;
use ferrum_trace_format::spool::row_title::ID_TITLE_KEY;
use ferrum_trace_model::vocab::request as words;
use ferrum_trace_model::vocab::trigger;
use std::time::Duration;

static REQUEST: Site = site(words::REQUEST, &[words::ID, ID_TITLE_KEY]);
static REQUEST_WITH_PROMPT: Site = site(words::REQUEST, &[words::ID, words::PROMPT_TOKENS, ID_TITLE_KEY]);
static REQUEST_END: Site = site(words::REQUEST, &[words::OUTPUT_TOKENS, words::REASON, ID_TITLE_KEY]);
static REQUEST_MARKED_END: Site =
    site(words::REQUEST, &[words::OUTPUT_TOKENS, words::REASON, trigger::MARK, ID_TITLE_KEY]);
static TRIGGER: Site = site(trigger::NAME, &[trigger::REASON]);
static QUEUED: Site = site(words::QUEUED, &[]);
static PREFILL: Site = site(words::PREFILL, &[]);
static DECODE: Site = site(words::DECODE, &[]);
static PREEMPTED: Site = site(words::PREEMPTED, &[]);
static FIRST_TOKEN: Site = site(words::FIRST_TOKEN, &[]);
static FIRST_TOKENS: Site = site(words::FIRST_TOKEN, &[words::TOKENS]);
static TOKEN: Site = site(words::TOKEN, &[]);
static TOKENS: Site = site(words::TOKEN, &[words::TOKENS]);

const fn site(name: &'static str, keys: &'static [&'static str]) -> Site {
    Site::new(name, words::CATEGORY, keys)
}

/// A request of this id, about to arrive. No two that are there at the same time may share an id.
///
/// ```
/// use ferrum_trace::llm;
///
/// let mut request = llm::request(17).prompt_tokens(512).arrived();
/// request.prefill();     // the first step that works on it
/// request.first_token();
/// request.token();
/// request.preempted();   // its cache is taken away,
/// request.prefill();     // and computed again
/// request.tokens(3);
/// request.finished("length");
/// ```
#[inline]
pub fn request(id: u64) -> Arrival {
    Arrival { id, prompt_tokens: None, slo: None }
}

/// What is known of a request when it arrives. Made by [`request`].
#[must_use = "nothing is recorded until it has `arrived`"]
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    id: u64,
    prompt_tokens: Option<usize>,
    slo: Option<Duration>,
}

impl Arrival {
    /// How long its prompt is.
    #[inline]
    pub fn prompt_tokens(self, n: usize) -> Self {
        Self { prompt_tokens: Some(n), ..self }
    }

    /// How long it may take: if it takes longer, a flight recorder writes a [`dump`](crate::dump()), as for
    /// [`Trigger::Request`](crate::Trigger::Request).
    #[inline]
    pub fn slo(self, latency: Duration) -> Self {
        Self { slo: Some(latency), ..self }
    }

    /// It is here now, and waits.
    #[inline]
    pub fn arrived(self) -> Request {
        let mut request = Request {
            id: self.id,
            stage: Stage::Over,
            output_tokens: 0,
            recording: 0,
            is_chosen: false,
            last: 0,
            watched: None,
        };
        if !crate::COMPILED_OUT {
            request.arrive_if_recorded(&self);
        }
        request
    }
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Queued,
    Prefill,
    Decode,
    Preempted,
    /// It has finished, or is not recorded.
    Over,
}

impl Stage {
    fn site(self) -> Option<&'static Site> {
        match self {
            Self::Queued => Some(&QUEUED),
            Self::Prefill => Some(&PREFILL),
            Self::Decode => Some(&DECODE),
            Self::Preempted => Some(&PREEMPTED),
            Self::Over => None,
        }
    }
}

/// A request that has arrived: its owner tells what happens to it, on whatever thread. Made by [`Arrival::arrived`].
///
/// In the trace it is an asynchronous slice with one slice inside for each stage. What does not fit to the stage it is in,
/// such as a second end, is ignored. A request that arrived while recording was off is not recorded later either.
#[must_use = "a request that is dropped has ended: keep it, and tell how it went"]
#[derive(Debug)]
pub struct Request {
    id: u64,
    stage: Stage,
    output_tokens: usize,
    /// The recording that it arrived in.
    recording: u64,
    /// Whether a window is open because it is there.
    is_chosen: bool,
    /// The time of the last event: the next one is later, though the counters of two cores may differ a little.
    last: u64,
    /// What whoever watches over it needs.
    watched: Option<Box<WatchedRequest>>,
}

impl Request {
    /// Its id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The first step that works on its prompt begins, or the first one after a preemption. Further ones need not tell.
    #[inline]
    pub fn prefill(&mut self) {
        if !crate::COMPILED_OUT && matches!(self.stage, Stage::Queued | Stage::Preempted) {
            self.pass_to(Stage::Prefill);
        }
    }

    /// Its first token is there. The same as [`token`](Self::token), which knows by itself whether it is the first.
    #[inline]
    pub fn first_token(&mut self) {
        self.tokens(1);
    }

    /// A token is there.
    #[inline]
    pub fn token(&mut self) {
        self.tokens(1);
    }

    /// Several tokens are there at once.
    #[inline]
    pub fn tokens(&mut self, n: usize) {
        if !crate::COMPILED_OUT && self.stage != Stage::Over && n > 0 {
            self.generate(n);
        }
    }

    /// Its cache is taken away; it waits until its next [`prefill`](Self::prefill).
    #[inline]
    pub fn preempted(&mut self) {
        if !crate::COMPILED_OUT && matches!(self.stage, Stage::Prefill | Stage::Decode) {
            self.pass_to(Stage::Preempted);
        }
    }

    /// It has ended, and why: `stop`, `length`, `abort` or what the engine calls it.
    #[inline]
    pub fn finished(&mut self, reason: &str) {
        if !crate::COMPILED_OUT && self.stage != Stage::Over {
            self.finish(reason);
        }
    }

    /// A window may be open because of this very request, so it is asked first. Not before it is known whether there is one.
    fn arrive_if_recorded(&mut self, arrival: &Arrival) {
        mode();
        self.recording = current::recording_id();
        let arrives = window::request_arrives(self.id);
        self.is_chosen = arrives == Arrives::Chosen;
        if arrives != Arrives::Unseen && mode() != OFF && !is_muted(&REQUEST) {
            self.watched = requests::request_arrives(arrival.slo);
            self.arrive(arrival.prompt_tokens);
        }
    }

    fn arrive(&mut self, prompt_tokens: Option<usize>) {
        let Some(now) = self.now() else { return };
        let id = self.id.to_arg();
        match prompt_tokens {
            Some(n) => self.record(now, RecordKind::AsyncBegin, &REQUEST_WITH_PROMPT, &[id, n.to_arg()]),
            None => self.record(now, RecordKind::AsyncBegin, &REQUEST, &[id]),
        }
        self.record(now, RecordKind::AsyncBegin, &QUEUED, &[]);
        self.stage = Stage::Queued;
    }

    #[inline(never)]
    fn pass_to(&mut self, stage: Stage) {
        if let Some(now) = self.now() {
            self.enter(now, stage, None);
            self.look(now, false);
        }
    }

    #[inline(never)]
    fn generate(&mut self, n: usize) {
        let Some(now) = self.now() else { return };
        let (one, several) = if self.output_tokens == 0 { (&FIRST_TOKEN, &FIRST_TOKENS) } else { (&TOKEN, &TOKENS) };
        let count = [n.to_arg()];
        let token = if n == 1 { (one, &[][..]) } else { (several, &count[..]) };
        self.output_tokens = self.output_tokens.saturating_add(n);
        match self.stage {
            Stage::Decode => self.record(now, RecordKind::AsyncInstant, token.0, token.1),
            _ => self.enter(now, Stage::Decode, Some(token)),
        }
        self.look(now, false);
    }

    #[inline(never)]
    fn finish(&mut self, reason: &str) {
        let Some(now) = self.now() else { return };
        self.enter(now, Stage::Over, None);
        self.look(now, true);
        let (tokens, reason) = (self.output_tokens.to_arg(), reason.to_arg());
        match self.watched.as_ref().and_then(|watched| watched.reason()) {
            Some(mark) => self.record(now, RecordKind::AsyncEnd, &REQUEST_MARKED_END, &[tokens, reason, mark.to_arg()]),
            None => self.record(now, RecordKind::AsyncEnd, &REQUEST_END, &[tokens, reason]),
        }
        self.leave();
    }

    /// A window that was open because of it need not be.
    fn leave(&mut self) {
        if std::mem::take(&mut self.is_chosen) && current::is_recording(self.recording) {
            window::request_ends();
        }
    }

    /// Marks on its row, if somebody watches over it, that it has taken too long by now.
    fn look(&mut self, now: u64, is_over: bool) {
        if let Some(watched) = &mut self.watched
            && let Some(reason) = watched.sees(&Seen::now(self.id, self.output_tokens, is_over))
        {
            self.record(now, RecordKind::AsyncInstant, &TRIGGER, &[reason.to_arg()]);
        }
    }

    /// Ends the stage it is in and begins another, with a token if that is why.
    fn enter(&mut self, now: u64, stage: Stage, token: Option<(&'static Site, &[Arg])>) {
        if let Some(site) = self.stage.site() {
            self.record(now, RecordKind::AsyncEnd, site, &[]);
        }
        if let Some(site) = stage.site() {
            self.record(now, RecordKind::AsyncBegin, site, &[]);
        }
        // Last: before the begin, viewers would draw the stage over it.
        if let Some((site, args)) = token {
            self.record(now, RecordKind::AsyncInstant, site, args);
        }
        self.stage = stage;
    }

    /// The time of what happens now. None if the recording that the request arrived in has ended: it is of no other.
    fn now(&mut self) -> Option<u64> {
        if !current::is_recording(self.recording) {
            self.stage = Stage::Over;
            return None;
        }
        self.last = switch::now().max(self.last.saturating_add(1));
        Some(self.last)
    }

    fn record(&self, now: u64, kind: RecordKind, site: &'static Site, args: &[Arg]) {
        point_at(now, kind, site, &[self.id], args);
    }
}

impl Drop for Request {
    #[inline]
    fn drop(&mut self) {
        self.finished(words::DROPPED);
        if self.is_chosen {
            self.leave();
        }
    }
}
