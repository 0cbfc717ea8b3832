//! Evaluates triggers on requests.

use crate::flight::triggers::TriggerHit;
use crate::os::clock;
use crate::process::attach;
use crate::watch::dump;
use crate::watch::steps::{REQUESTS, is_watched};
use ferrum_trace_model::settings::{Trigger, time_text};
use std::time::Duration;

/// Bit of a request's own objective in [`WatchedRequest::reported`]. If there are more triggers than other bits, they
/// share them.
const OWN_SLO: u32 = 63;

/// Trigger state of one request.
#[derive(Debug)]
pub(crate) struct WatchedRequest {
    slo: Option<Duration>,
    arrival_nanos: u64,
    first_token_nanos: Option<u64>,
    /// Triggers that have been reported for this request, one bit each.
    reported: u64,
    /// Reason of the first trigger.
    reason: Option<String>,
}

/// State of a request at one of its events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub id: u64,
    /// Number of tokens generated so far.
    pub output_tokens: usize,
    pub is_over: bool,
    pub nanos: u64,
}

impl Progress {
    /// Returns the state at the present time.
    pub(crate) fn now(id: u64, output_tokens: usize, is_over: bool) -> Self {
        Self { id, output_tokens, is_over, nanos: clock::monotonic_nanos() }
    }
}

/// Creates the trigger state of a request that arrives. Returns `None` if no trigger concerns it.
#[inline]
pub(crate) fn request_arrives(slo: Option<Duration>) -> Option<Box<WatchedRequest>> {
    if slo.is_none() && !is_watched(REQUESTS) {
        return None;
    }
    let arrival_nanos = clock::monotonic_nanos();
    Some(Box::new(WatchedRequest { slo, arrival_nanos, first_token_nanos: None, reported: 0, reason: None }))
}

impl WatchedRequest {
    /// Evaluates the triggers at an event of the request. If one is met for the first time, requests a dump and returns
    /// the reason.
    pub(crate) fn update(&mut self, progress: &Progress) -> Option<String> {
        if progress.output_tokens > 0 && self.first_token_nanos.is_none() {
            self.first_token_nanos = Some(progress.nanos);
        }
        let recording = attach::recording()?;
        let TriggerHit { reason, description } = evaluate(recording.triggers().list(), self, progress)?;
        let _ = dump::fire(&recording, &reason, Some(&description));
        self.reason.get_or_insert(reason.clone());
        Some(reason)
    }

    /// Returns the reason of the first trigger that was met, if any.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Returns the time that exceeds the limit of a trigger, in words, and the limit.
    fn exceeded(&self, trigger: &Trigger, progress: &Progress) -> Option<(String, Duration)> {
        let now = progress.nanos;
        let since = |begin: u64, end: u64| Duration::from_nanos(end.saturating_sub(begin));
        let (took, limit, words) = match *trigger {
            Trigger::Request(limit) => (since(self.arrival_nanos, now), limit, ["took", ""]),
            Trigger::Ttft(limit) => {
                let until = self.first_token_nanos.unwrap_or(now);
                (since(self.arrival_nanos, until), limit, ["waited", " for its first token"])
            }
            Trigger::Tpot(limit) => {
                let n_further = u32::try_from(progress.output_tokens.checked_sub(1)?).ok()?;
                let all = since(self.first_token_nanos.filter(|_| progress.is_over)?, now);
                (all.checked_div(n_further)?, limit, ["took", " a token"])
            }
            _ => return None,
        };
        (took > limit).then(|| (format!("{} {took:.1?}{}", words[0], words[1]), limit))
    }
}

/// Returns the first trigger that is met and has not been reported before. Marks all that are met as reported.
fn evaluate(triggers: &[Trigger], request: &mut WatchedRequest, progress: &Progress) -> Option<TriggerHit> {
    let own = request.slo.map(|slo| (OWN_SLO, Trigger::Request(slo)));
    let all = triggers.iter().enumerate().map(|(n, trigger)| (n as u32 % OWN_SLO, *trigger));
    let mut met = own.into_iter().chain(all).filter_map(|(n, trigger)| {
        if request.reported & 1 << n != 0 {
            return None;
        }
        let (what, limit) = request.exceeded(&trigger, progress)?;
        request.reported |= 1 << n;
        let limit = time_text(limit);
        let reason = if n == OWN_SLO { format!("slo>{limit}") } else { trigger.to_string() };
        Some(TriggerHit { reason, description: format!("request {} {what} > {limit}", progress.id) })
    });
    let first = met.next();
    // One dump is enough for all triggers that are met at the same event.
    met.for_each(drop);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_model::settings::parse_triggers;

    /// Returns the description reported at each event. An event is given by the milliseconds since the arrival and the
    /// number of tokens; the last one is the end.
    fn reasons(triggers: &str, slo: Option<Duration>, events: &[(u64, usize)]) -> Vec<Option<String>> {
        const ARRIVAL: u64 = 5_000_000;
        let triggers = parse_triggers(triggers, |error| panic!("{error}"));
        let mut request =
            WatchedRequest { slo, arrival_nanos: ARRIVAL, first_token_nanos: None, reported: 0, reason: None };
        let mut see = |(n, &(millis, output_tokens)): (usize, &(u64, usize))| {
            let nanos = ARRIVAL + 1_000_000 * millis;
            let progress = Progress { id: 17, output_tokens, is_over: n + 1 == events.len(), nanos };
            if output_tokens > 0 {
                request.first_token_nanos.get_or_insert(nanos);
            }
            evaluate(&triggers, &mut request, &progress).map(|hit| hit.description)
        };
        events.iter().enumerate().map(&mut see).collect()
    }

    #[test]
    fn a_slow_request_is_reported_at_the_first_event_beyond_its_limit() {
        let late = |what: &str| Some(format!("request 17 {what}"));
        let all = "request>2s,ttft>500ms,tpot>80ms";
        assert_eq!(reasons(all, None, &[(1, 0), (500, 1), (580, 2), (660, 3)]), [None, None, None, None]);
        assert_eq!(
            reasons(all, None, &[(600, 0), (700, 1), (2001, 17), (2100, 18), (2200, 19)]),
            [
                late("waited 600.0ms for its first token > 500ms"),
                None,
                late("took 2.0s > 2s"),
                None,
                late("took 83.3ms a token > 80ms")
            ]
        );
        assert_eq!(reasons(all, None, &[(10, 1), (1000, 2)]), [None, late("took 990.0ms a token > 80ms")]);
        assert_eq!(reasons(all, None, &[(10, 1), (1000, 1)]), [None, None], "there is no further token");
    }

    #[test]
    fn a_request_may_have_its_own_objective() {
        let reported = reasons("", Some(Duration::from_millis(100)), &[(99, 1), (101, 2), (200, 3)]);
        assert_eq!(reported, [None, Some("request 17 took 101.0ms > 100ms".into()), None]);
    }
}
