//! Requests that take too long.

use crate::flight::triggers::TriggerHit;
use crate::os::clock;
use crate::process::attach;
use crate::watch::dump;
use crate::watch::steps::{REQUESTS, is_watched};
use ferrum_trace_model::settings::{Trigger, time_text};
use std::time::Duration;

/// The bit of a request's own objective among those that were reported of. Triggers beyond so many share the others.
const OWN_SLO: u32 = 63;

/// What is known of a request that is watched over.
#[derive(Debug)]
pub struct WatchedRequest {
    slo: Option<Duration>,
    arrival_nanos: u64,
    first_token_nanos: Option<u64>,
    /// Which triggers it has been too long for, a bit each.
    reported: u64,
    /// Why it was first.
    reason: Option<String>,
}

/// An event of a request.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub id: u64,
    /// How many it has by now.
    pub output_tokens: usize,
    pub is_over: bool,
    pub nanos: u64,
}

impl Progress {
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
    Some(Box::new(WatchedRequest { slo, arrival_nanos, first_token_nanos: None, reported: 0, reason: None }))
}

impl WatchedRequest {
    /// Something happens to the request. If it has taken too long by now, a dump is asked for; returns why.
    pub fn update(&mut self, progress: &Progress) -> Option<String> {
        if progress.output_tokens > 0 && self.first_token_nanos.is_none() {
            self.first_token_nanos = Some(progress.nanos);
        }
        let recording = attach::recording()?;
        let TriggerHit { reason, description } = evaluate(recording.triggers().list(), self, progress)?;
        let _ = dump::fire(&recording, &reason, Some(&description));
        self.reason.get_or_insert(reason.clone());
        Some(reason)
    }

    /// Why it was too long first, if it was.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// What took too long and the limit of that.
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

/// What is wrong with a request, if anything is that was not before.
fn evaluate(triggers: &[Trigger], request: &mut WatchedRequest, progress: &Progress) -> Option<TriggerHit> {
    let own = request.slo.map(|slo| (OWN_SLO, Trigger::Request(slo)));
    let all = triggers.iter().enumerate().map(|(n, trigger)| (n as u32 % OWN_SLO, *trigger));
    let mut news = own.into_iter().chain(all).filter_map(|(n, trigger)| {
        if request.reported & 1 << n != 0 {
            return None;
        }
        let (what, limit) = request.exceeded(&trigger, progress)?;
        request.reported |= 1 << n;
        let limit = time_text(limit);
        let reason = if n == OWN_SLO { format!("slo>{limit}") } else { trigger.to_string() };
        Some(TriggerHit { reason, description: format!("request {} {what} > {limit}", progress.id) })
    });
    let first = news.next();
    // One dump is enough for all that is wrong at the same moment.
    news.for_each(drop);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_model::settings::parse_triggers;

    /// What is reported of a request at each of its events: milliseconds after its arrival, and tokens by then. The last is its end.
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
    fn a_request_is_told_of_at_the_first_event_that_shows_it() {
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
    fn a_request_may_have_an_objective_of_its_own() {
        let reported = reasons("", Some(Duration::from_millis(100)), &[(99, 1), (101, 2), (200, 3)]);
        assert_eq!(reported, [None, Some("request 17 took 101.0ms > 100ms".into()), None]);
    }
}
