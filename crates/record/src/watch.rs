//! Who watches over steps, requests, panics and signals, and asks for a dump when something is wrong.
//!
//! What nobody watches costs one relaxed load for a step or the arrival of a request, and nothing for anything else.

use crate::attach;
use crate::buffer;
use crate::clock;
use crate::config::Options;
use crate::dump;
use crate::global;
use crate::llm::{EndedStep, Step};
use crate::running_p99::RunningP99;
use crate::say::say;
use crate::session::Session;
use crate::signal::{self, Signal};
use crate::trigger::{StepLimit, Trigger, time_text};
use ferrum_trace_model::vocab::Phase;
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

/// In [`WATCHED`]: somebody watches over steps.
const STEPS: u8 = 1;
/// In [`WATCHED`]: somebody watches over requests.
const REQUESTS: u8 = 2;
/// In [`WATCHED`]: somebody watches over panics.
const PANICS: u8 = 4;

/// What is watched over in the process's recording.
static WATCHED: AtomicU8 = AtomicU8::new(0);
/// Steps that have ended while they were watched over.
static N_STEPS: AtomicU64 = AtomicU64::new(0);

/// A question that the program asks at the end of each step.
#[derive(Clone)]
pub struct Predicate {
    pub name: String,
    pub is_wrong: Arc<dyn Fn(&EndedStep) -> bool + Send + Sync>,
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Predicate").field(&self.name).finish()
    }
}

/// What one recording watches over.
#[derive(Debug, Default)]
pub struct Watch {
    triggers: Vec<Trigger>,
    predicates: Vec<Predicate>,
    /// By phase; only if a trigger asks for it.
    p99: Option<Box<[RunningP99; Phase::ALL.len()]>>,
}

/// Why a dump is asked for.
struct Alarm {
    reason: String,
    what: String,
}

impl Watch {
    /// Nothing without a ring: nothing could be written.
    pub fn new(options: &Options) -> Self {
        let Options { triggers, predicates, ring, .. } = options;
        if ring.is_none() {
            if !triggers.is_empty() || !predicates.is_empty() {
                say("triggers write out what a flight recorder has, and this is none: FERRUM_TRACE_RING is not set");
            }
            return Self::default();
        }
        let asks_for_p99 = |trigger: &Trigger| matches!(trigger, Trigger::Step { over: StepLimit::TimesP99(_), .. });
        let p99 = triggers.iter().any(asks_for_p99).then(|| Box::new(std::array::from_fn(|_| RunningP99::new())));
        Self { triggers: triggers.clone(), predicates: predicates.clone(), p99 }
    }

    /// Begins to watch. The caller has the registry.
    pub fn begin(&self) {
        let mut watched = if self.predicates.is_empty() { 0 } else { STEPS };
        for trigger in &self.triggers {
            watched |= match trigger {
                Trigger::Step { .. } => STEPS,
                Trigger::Request(_) | Trigger::Ttft(_) | Trigger::Tpot(_) => REQUESTS,
                Trigger::Panic => PANICS,
                Trigger::Signal(signal) => {
                    if let Err(error) = signal::listen(*signal, heard) {
                        say(&format!("{trigger}: {error}; it is left out"));
                    }
                    0
                }
            };
        }
        N_STEPS.store(0, Ordering::Relaxed);
        WATCHED.store(watched, Ordering::Relaxed);
    }

    /// What is wrong with a step, if anything is.
    fn judge_step(&self, ended: &EndedStep) -> Option<Alarm> {
        let p99 = self.p99.as_ref().map(|by_phase| &by_phase[ended.step.phase as usize]);
        let limit = p99.and_then(RunningP99::get);
        let slow = self.triggers.iter().find_map(|trigger| too_slow(trigger, ended, limit));
        if let Some(p99) = p99 {
            p99.add(nanos_of(ended.duration));
        }
        let what = |limit: &str| {
            let EndedStep { number, step, duration } = ended;
            format!("{} step {number} took {duration:.1?}{limit}", step.phase)
        };
        // All of them are asked, since they may keep count. One that panics has told so by the panic's message.
        let is_wrong = |predicate: &&Predicate| catch_unwind(AssertUnwindSafe(|| (predicate.is_wrong)(ended)));
        let mut wrong = None;
        for predicate in self.predicates.iter().filter(|predicate| is_wrong(predicate).unwrap_or(false)) {
            wrong.get_or_insert(predicate);
        }
        match (slow, wrong) {
            (Some((trigger, limit)), _) => {
                Some(Alarm { reason: trigger.to_string(), what: what(&format!(" > {limit}")) })
            }
            (None, Some(predicate)) => Some(Alarm { reason: predicate.name.clone(), what: what("") }),
            (None, None) => None,
        }
    }

    /// What is wrong with a request, if anything is that was not before.
    fn judge_request(&self, request: &mut WatchedRequest, seen: &Seen) -> Option<Alarm> {
        let own = request.slo.map(|slo| (OWN_SLO, Trigger::Request(slo)));
        let all = self.triggers.iter().enumerate().map(|(n, trigger)| (n as u32 % OWN_SLO, *trigger));
        let mut news = own.into_iter().chain(all).filter_map(|(n, trigger)| {
            if request.told & 1 << n != 0 {
                return None;
            }
            let (what, limit) = request.too_long(&trigger, seen)?;
            request.told |= 1 << n;
            let limit = time_text(limit);
            let reason = if n == OWN_SLO { format!("slo>{limit}") } else { trigger.to_string() };
            Some(Alarm { reason, what: format!("request {} {what} > {limit}", seen.id) })
        });
        let first = news.next();
        // One dump is enough for all that is wrong at the same moment.
        news.for_each(drop);
        first
    }
}

/// The trigger and, in words, its limit, if a step took longer. `p99` is that of its phase.
fn too_slow<'a>(trigger: &'a Trigger, ended: &EndedStep, p99: Option<u64>) -> Option<(&'a Trigger, String)> {
    let Trigger::Step { phase, over } = trigger else { return None };
    if phase.is_some_and(|phase| phase != ended.step.phase) {
        return None;
    }
    match *over {
        StepLimit::Time(limit) => (ended.duration > limit).then(|| (trigger, time_text(limit))),
        StepLimit::TimesP99(factor) => {
            let p99 = p99?;
            let is_over = nanos_of(ended.duration) as f64 > factor * p99 as f64;
            is_over.then(|| (trigger, format!("{factor} x {:.1?} (p99)", Duration::from_nanos(p99))))
        }
    }
}

fn nanos_of(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Nothing is watched over any more.
pub fn end() {
    WATCHED.store(0, Ordering::Relaxed);
}

#[inline(always)]
fn is_watched(what: u8) -> bool {
    !crate::COMPILED_OUT && WATCHED.load(Ordering::Relaxed) & what != 0
}

/// A step begins. Returns the time for [`step_ends`], or 0 if nobody watches.
#[inline(always)]
pub fn step_begins() -> u64 {
    if is_watched(STEPS) { now_if_watched() } else { 0 }
}

#[cold]
#[inline(never)]
fn now_if_watched() -> u64 {
    clock::monotonic_nanos().max(1)
}

/// A step has ended just now. Returns what is wrong with it, if anything is.
pub fn step_ends(step: Step, since_nanos: u64) -> Option<StepAlarm> {
    let duration = Duration::from_nanos(clock::monotonic_nanos().saturating_sub(since_nanos));
    let number = N_STEPS.fetch_add(1, Ordering::Relaxed);
    let session = attach::session()?;
    let alarm = session.watch().judge_step(&EndedStep { number, step, duration })?;
    Some(StepAlarm { session, alarm })
}

/// What is wrong with a step.
pub struct StepAlarm {
    session: Arc<Session>,
    alarm: Alarm,
}

impl StepAlarm {
    /// Why it is to be marked.
    pub fn reason(&self) -> &str {
        &self.alarm.reason
    }

    /// Asks for a dump.
    pub fn fire(&self) {
        dump::fire(&self.session, &self.alarm.reason, Some(&self.alarm.what));
    }
}

/// The bit of a request's own objective among those that were told of. Triggers beyond so many share the others.
const OWN_SLO: u32 = 63;

/// What is known of a request that is watched over.
#[derive(Debug)]
pub struct WatchedRequest {
    slo: Option<Duration>,
    arrival_nanos: u64,
    first_token_nanos: Option<u64>,
    /// Which triggers it has been too long for, a bit each.
    told: u64,
    /// Why it was first.
    reason: Option<String>,
}

/// An event of a request.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub id: u64,
    /// How many it has by now.
    pub output_tokens: usize,
    pub is_over: bool,
    pub nanos: u64,
}

impl Seen {
    /// It happens now.
    pub fn now(id: u64, output_tokens: usize, is_over: bool) -> Self {
        Self { id, output_tokens, is_over, nanos: clock::monotonic_nanos() }
    }
}

/// A request arrives: `None` if nobody watches.
#[inline]
pub fn request_arrives(slo: Option<Duration>) -> Option<Box<WatchedRequest>> {
    if slo.is_none() && !is_watched(REQUESTS) {
        return None;
    }
    let arrival_nanos = clock::monotonic_nanos();
    Some(Box::new(WatchedRequest { slo, arrival_nanos, first_token_nanos: None, told: 0, reason: None }))
}

impl WatchedRequest {
    /// Something happens to the request. If it has taken too long by now, a dump is asked for; returns why.
    pub fn sees(&mut self, seen: &Seen) -> Option<String> {
        if seen.output_tokens > 0 && self.first_token_nanos.is_none() {
            self.first_token_nanos = Some(seen.nanos);
        }
        let session = attach::session()?;
        let Alarm { reason, what } = session.watch().judge_request(self, seen)?;
        dump::fire(&session, &reason, Some(&what));
        self.reason.get_or_insert(reason.clone());
        Some(reason)
    }

    /// Why it was too long first, if it was.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// What took too long and the limit of that.
    fn too_long(&self, trigger: &Trigger, seen: &Seen) -> Option<(String, Duration)> {
        let now = seen.nanos;
        let since = |begin: u64, end: u64| Duration::from_nanos(end.saturating_sub(begin));
        let (took, limit, words) = match *trigger {
            Trigger::Request(limit) => (since(self.arrival_nanos, now), limit, ["took", ""]),
            Trigger::Ttft(limit) => {
                let until = self.first_token_nanos.unwrap_or(now);
                (since(self.arrival_nanos, until), limit, ["waited", " for its first token"])
            }
            Trigger::Tpot(limit) => {
                let n_further = u32::try_from(seen.output_tokens.checked_sub(1)?).ok()?;
                let all = since(self.first_token_nanos.filter(|_| seen.is_over)?, now);
                (all.checked_div(n_further)?, limit, ["took", " a token"])
            }
            Trigger::Step { .. } | Trigger::Panic | Trigger::Signal(_) => return None,
        };
        (took > limit).then(|| (format!("{} {took:.1?}{}", words[0], words[1]), limit))
    }
}

/// A signal came, and this is the thread that tells of it.
fn heard(signal: Signal) {
    let trigger = Trigger::Signal(signal);
    // As it is: a signal begins no recording.
    if let Some(session) = global::running().filter(|session| session.watch().triggers.contains(&trigger)) {
        dump::fire(&session, &trigger.to_string(), None);
    }
}

/// Has panics seen, if they are watched over. Not to be called while a lock of ours is held: a thread that panics right now may wait
/// for it in a hook that we would wait for.
pub fn see_panics() {
    static ONCE: Once = Once::new();
    if !is_watched(PANICS) || ONCE.is_completed() {
        return;
    }
    if std::thread::panicking() {
        say("panic: a thread that panics cannot watch over panics; it is left out");
        return;
    }
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let session = panic_comes(info);
            before(info);
            // Nothing comes after this hook: no thread that writes the file, and no end that waits for it.
            if let Some(session) = session.filter(|_| is_about_to_abort(info)) {
                dump::write_at_last(&session);
            }
        }));
    });
}

/// Asks for a dump, unless the panic that led to this one has. A panic of the recorder itself is not told: it may hold what would be
/// needed for that.
fn panic_comes(info: &PanicHookInfo<'_>) -> Option<Arc<Session>> {
    if !is_watched(PANICS) || buffer::current().is_held() {
        return None;
    }
    let session = attach::session()?;
    if is_sequel(info) {
        return Some(session);
    }
    let place = info.location().map_or_else(String::new, |place| format!(" at {place}"));
    let message = info.payload_as_str().map_or_else(String::new, |message| format!(": {message}"));
    dump::fire(&session, &Trigger::Panic.to_string(), Some(&format!("panicked{place}{message}")));
    Some(session)
}

/// Whether this panic does not unwind.
fn is_about_to_abort(info: &PanicHookInfo<'_>) -> bool {
    cfg!(panic = "abort") || is_sequel(info)
}

/// Whether this is what the standard library makes of a panic that got to where nothing may unwind. It tells by the message alone.
fn is_sequel(info: &PanicHookInfo<'_>) -> bool {
    const MESSAGES: [&str; 2] = ["panic in a function that cannot unwind", "panic in a destructor during cleanup"];
    info.payload_as_str().is_some_and(|message| MESSAGES.contains(&message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring;
    use crate::trigger::parse_triggers;
    use std::sync::atomic::AtomicU64;

    fn watch(triggers: &str, predicates: Vec<Predicate>) -> Watch {
        let triggers = parse_triggers(triggers, |error| panic!("{error}"));
        let ring = Some(ring::Extent::Bytes(1));
        Watch::new(&Options { triggers, predicates, ring, ..Options::new("trace.json".into()) })
    }

    fn ended(phase: Phase, micros: u64) -> EndedStep {
        let step = Step { phase, batch: 8, prefill_tokens: 0, decode_tokens: 8, context_tokens: 99 };
        EndedStep { number: 7, step, duration: Duration::from_micros(micros) }
    }

    fn told(alarm: Option<Alarm>) -> Option<(String, String)> {
        alarm.map(|alarm| (alarm.reason, alarm.what))
    }

    #[test]
    fn a_step_is_slow_only_beyond_its_limit() {
        let watch = watch("decode>50ms,step>2s", vec![]);
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 50_000))), None);
        let what = "decode step 7 took 61.2ms > 50ms";
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 61_200))), Some(("decode>50ms".into(), what.into())));
        assert_eq!(told(watch.judge_step(&ended(Phase::Prefill, 61_200))), None);
        assert_eq!(told(watch.judge_step(&ended(Phase::Mixed, 2_000_001))).unwrap().0, "step>2s");
    }

    #[test]
    fn a_step_is_held_against_others_of_its_phase_once_there_are_enough() {
        let watch = watch("step>3xp99", vec![]);
        for _ in 0..99 {
            assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 1_000))), None);
        }
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 1_000_000))), None, "too few are known");
        for _ in 0..200 {
            assert_eq!(told(watch.judge_step(&ended(Phase::Prefill, 40_000))), None);
        }
        let slow = told(watch.judge_step(&ended(Phase::Decode, 4_000))).unwrap();
        assert_eq!(slow.0, "step>3xp99");
        assert!(slow.1.starts_with("decode step 7 took 4.0ms > 3 x "), "{}", slow.1);
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 2_000))), None);
        assert_eq!(told(watch.judge_step(&ended(Phase::Mixed, 2_000_000))), None, "none of its phase is known");
    }

    #[test]
    fn every_predicate_is_asked_about_every_step_and_one_that_panics_says_no() {
        let n_asked = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&n_asked);
        let predicate = |name: &str, is_wrong: Arc<dyn Fn(&EndedStep) -> bool + Send + Sync>| Predicate {
            name: name.into(),
            is_wrong,
        };
        let watch = watch(
            "step>1s",
            vec![
                predicate("panics", Arc::new(|_| panic!("as it was asked to"))),
                predicate("large", Arc::new(|ended| ended.step.batch > 7 && ended.duration > Duration::from_millis(1))),
                predicate("counts", Arc::new(move |_| counts.fetch_add(1, Ordering::Relaxed) > 100)),
            ],
        );
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 1_000))), None);
        let large = Some(("large".into(), "decode step 7 took 2.0ms".into()));
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 2_000))), large);
        assert_eq!(told(watch.judge_step(&ended(Phase::Decode, 2_000_000))).unwrap().0, "step>1s");
        assert_eq!(n_asked.load(Ordering::Relaxed), 3);
    }

    /// What is told of a request at each of its events: milliseconds after its arrival, and tokens by then. The last is its end.
    fn reasons(watch: &Watch, slo: Option<Duration>, events: &[(u64, usize)]) -> Vec<Option<String>> {
        const ARRIVAL: u64 = 5_000_000;
        let mut request =
            WatchedRequest { slo, arrival_nanos: ARRIVAL, first_token_nanos: None, told: 0, reason: None };
        let mut see = |(n, &(millis, output_tokens)): (usize, &(u64, usize))| {
            let nanos = ARRIVAL + 1_000_000 * millis;
            let seen = Seen { id: 17, output_tokens, is_over: n + 1 == events.len(), nanos };
            if output_tokens > 0 {
                request.first_token_nanos.get_or_insert(nanos);
            }
            watch.judge_request(&mut request, &seen).map(|alarm| alarm.what)
        };
        events.iter().enumerate().map(&mut see).collect()
    }

    #[test]
    fn a_request_is_told_of_at_the_first_event_that_shows_it() {
        let late = |what: &str| Some(format!("request 17 {what}"));
        let all = watch("request>2s,ttft>500ms,tpot>80ms", vec![]);
        assert_eq!(reasons(&all, None, &[(1, 0), (500, 1), (580, 2), (660, 3)]), [None, None, None, None]);
        assert_eq!(
            reasons(&all, None, &[(600, 0), (700, 1), (2001, 17), (2100, 18), (2200, 19)]),
            [
                late("waited 600.0ms for its first token > 500ms"),
                None,
                late("took 2.0s > 2s"),
                None,
                late("took 83.3ms a token > 80ms")
            ]
        );
        assert_eq!(reasons(&all, None, &[(10, 1), (1000, 2)]), [None, late("took 990.0ms a token > 80ms")]);
        assert_eq!(reasons(&all, None, &[(10, 1), (1000, 1)]), [None, None], "there is no further token");
    }

    #[test]
    fn a_request_may_have_an_objective_of_its_own() {
        let none = watch("", vec![]);
        let told = reasons(&none, Some(Duration::from_millis(100)), &[(99, 1), (101, 2), (200, 3)]);
        assert_eq!(told, [None, Some("request 17 took 101.0ms > 100ms".into()), None]);
    }

    #[test]
    fn without_a_ring_nothing_is_watched_over() {
        let options = Options::new("trace.json".into());
        let watch = Watch::new(&Options { triggers: vec![Trigger::Panic], ..options });
        assert!(watch.triggers.is_empty());
    }
}
