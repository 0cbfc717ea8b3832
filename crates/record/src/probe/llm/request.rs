//! Requests, from arrival to end.

use crate::probe::mode::mode;
use crate::process::categories::is_muted;
use crate::process::current;
use crate::process::event::point_at;
use crate::process::switch::{self, OFF};
use crate::process::value::Value;
use crate::thread::arg::Arg;
use crate::thread::site::Site;
use crate::util::compiled_out::COMPILED_OUT;
use crate::watch::requests::{self, Progress, WatchedRequest};
use crate::watch::window::{self, RequestChoice};
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

/// Creates a request that is about to arrive. Requests that exist at the same time must have different ids.
///
/// ```
/// use ferrum_trace::llm;
///
/// let mut request = llm::request(17).prompt_tokens(512).arrived();
/// request.prefill();     // the first step that works on it
/// request.first_token();
/// request.token();
/// request.preempted();   // its cache is freed,
/// request.prefill();     // and computed again
/// request.tokens(3);
/// request.finished("length");
/// ```
#[inline]
pub fn request(id: u64) -> Arrival {
    Arrival { id, prompt_tokens: None, slo: None }
}

/// Properties of a request that are known when it arrives. Made by [`request`].
#[must_use = "nothing is recorded until it has `arrived`"]
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    id: u64,
    prompt_tokens: Option<usize>,
    slo: Option<Duration>,
}

impl Arrival {
    /// Sets the length of its prompt.
    #[inline]
    pub fn prompt_tokens(self, n: usize) -> Self {
        Self { prompt_tokens: Some(n), ..self }
    }

    /// Sets the time it may take: if it takes longer, a flight recorder writes a [`dump`](crate::dump()), as for
    /// [`Trigger::Request`](crate::Trigger::Request).
    #[inline]
    pub fn slo(self, latency: Duration) -> Self {
        Self { slo: Some(latency), ..self }
    }

    /// Records that it has arrived and waits.
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
        if !COMPILED_OUT {
            request.arrive_if_recorded(&self);
        }
        request
    }
}

/// The stage that a request is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Queued,
    Prefill,
    Decode,
    Preempted,
    /// Finished, or not recorded.
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

/// A request that has arrived. The engine calls its methods as the request proceeds, on any thread. Made by
/// [`Arrival::arrived`].
///
/// In the trace it is an async slice with an inner slice for each stage. Calls that do not fit the current stage, such
/// as a second end, are ignored. A request that arrived while recording was off is not recorded later either.
#[must_use = "a request ends when it is dropped: keep it, and call `finished`"]
#[derive(Debug)]
pub struct Request {
    id: u64,
    stage: Stage,
    output_tokens: usize,
    /// The recording in which it arrived.
    recording: u64,
    /// True if a window is open because of this request.
    is_chosen: bool,
    /// Time of the last event. The next event is made later, though the counters of two cores may differ a little.
    last: u64,
    /// Trigger state of this request.
    watched: Option<Box<WatchedRequest>>,
}

impl Request {
    /// Returns its id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Records that the first step works on its prompt, or the first one after a preemption. Not needed for further
    /// steps.
    #[inline]
    pub fn prefill(&mut self) {
        if !COMPILED_OUT && matches!(self.stage, Stage::Queued | Stage::Preempted) {
            self.pass_to(Stage::Prefill);
        }
    }

    /// Records its first token. Same as [`token`](Self::token), which detects the first token by itself.
    #[inline]
    pub fn first_token(&mut self) {
        self.tokens(1);
    }

    /// Records a token.
    #[inline]
    pub fn token(&mut self) {
        self.tokens(1);
    }

    /// Records several tokens that were generated at once.
    #[inline]
    pub fn tokens(&mut self, n: usize) {
        if !COMPILED_OUT && self.stage != Stage::Over && n > 0 {
            self.generate(n);
        }
    }

    /// Records that its cache was freed; it waits until its next [`prefill`](Self::prefill).
    #[inline]
    pub fn preempted(&mut self) {
        if !COMPILED_OUT && matches!(self.stage, Stage::Prefill | Stage::Decode) {
            self.pass_to(Stage::Preempted);
        }
    }

    /// Records its end and the reason: `stop`, `length`, `abort` or the engine's own name for it.
    #[inline]
    pub fn finished(&mut self, reason: &str) {
        if !COMPILED_OUT && self.stage != Stage::Over {
            self.finish(reason);
        }
    }

    /// Records the arrival if recording is on. The window is checked first, since this request may open it, but only
    /// after the first call of `mode` has read the environment.
    fn arrive_if_recorded(&mut self, arrival: &Arrival) {
        mode();
        self.recording = current::recording_id();
        let choice = window::request_arrives(self.id);
        self.is_chosen = choice == RequestChoice::Chosen;
        if choice != RequestChoice::Skipped && mode() != OFF && !is_muted(&REQUEST) {
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

    /// Releases the window that is open because of this request.
    fn leave(&mut self) {
        if std::mem::take(&mut self.is_chosen) && current::is_recording(self.recording) {
            window::request_ends();
        }
    }

    /// Records an instant on its row if a trigger finds that it has taken too long.
    fn look(&mut self, now: u64, is_over: bool) {
        if let Some(watched) = &mut self.watched
            && let Some(reason) = watched.update(&Progress::now(self.id, self.output_tokens, is_over))
        {
            self.record(now, RecordKind::AsyncInstant, &TRIGGER, &[reason.to_arg()]);
        }
    }

    /// Ends the current stage and begins another. `token` is the token that caused it, if any.
    fn enter(&mut self, now: u64, stage: Stage, token: Option<(&'static Site, &[Arg])>) {
        if let Some(site) = self.stage.site() {
            self.record(now, RecordKind::AsyncEnd, site, &[]);
        }
        if let Some(site) = stage.site() {
            self.record(now, RecordKind::AsyncBegin, site, &[]);
        }
        // Last: viewers would draw the stage over a token that is recorded before the begin.
        if let Some((site, args)) = token {
            self.record(now, RecordKind::AsyncInstant, site, args);
        }
        self.stage = stage;
    }

    /// Returns the time for the next event, or `None` if the recording in which the request arrived has ended: the
    /// request does not continue in another recording.
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
