//! First pass over a file: checks each event, and logs events that need others to be checked.

use super::asyncs::{AsyncLog, AsyncPlan};
use super::document::{Seen, Watch, check_document, check_loss};
use super::events::{EXACT_NANOS_MAX, PhaseRole, check_event, has_counter_value};
use super::fields::check_field;
use super::findings::Findings;
use super::flows::{FlowLog, FlowPlan};
use super::ids::Ids;
use super::profiles::{ProfileLog, ProfilePlan};
use super::rules::document::NO_SLICES;
use super::rules::events::ODD_NUMBER;
use super::rules::times::{EPOCH_PRECISION, LONG_SPAN};
use super::slices::{SliceLog, SlicePlan};
use crate::opener::Opener;
use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{Event, EventSink, Loss, Outline, Text, for_each, with_valid_numbers};
use ferrum_trace_model::Order;

/// State of the first pass.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    findings: Findings,
    ids: Ids,
    slices: SliceLog,
    flows: FlowLog,
    asyncs: AsyncLog,
    profiles: ProfileLog,
    n_events: Order,
    /// Time of the first event that is certainly kept.
    first: Option<i64>,
    /// The last time.
    last: Option<i64>,
    last_event_end: Option<u64>,
}

/// Result of the first pass.
#[derive(Debug)]
pub(crate) struct Surveyed {
    /// Findings.
    pub findings: Findings,
    /// Its processes and threads.
    pub ids: Ids,
    /// Changes to slices.
    pub slices: SlicePlan,
    /// Changes to flows.
    pub flows: FlowPlan,
    /// Changes to async events.
    pub asyncs: AsyncPlan,
    /// Changes to samples of profiles.
    pub profiles: ProfilePlan,
    /// Shape of the document, and metadata of the recorder.
    pub outline: Outline,
    /// Number of events.
    pub n_events: Order,
    /// Time of the first event that is certainly kept, and the last time of all, if there are any.
    pub span: Option<(i64, i64)>,
}

/// Reads a file for the first time.
pub(crate) fn survey(open: Opener<'_>) -> Result<Surveyed, Error> {
    let mut survey = Survey::default();
    let mut watch = Watch::new(open()?);
    let outline = for_each(&mut watch, &mut survey)?;
    Ok(survey.finish(outline, &watch.finish()))
}

impl Survey {
    fn finish(self, outline: Outline, seen: &Seen) -> Surveyed {
        let Self {
            mut findings, ids, slices, mut flows, asyncs, profiles, n_events, first, last, last_event_end, ..
        } = self;
        let span = first.zip(last);
        check_document(seen, outline.shape, u64::from(n_events), last_event_end, &mut findings);
        if slices.is_empty() && n_events > 0 {
            findings.note_place(&NO_SLICES, 0, "no slices");
        }
        if span.is_some_and(|(first, _)| (0..=EXACT_NANOS_MAX).contains(&first)) {
            // A shift to the first time would not help.
            findings.rename(&EPOCH_PRECISION, &LONG_SPAN);
        }
        let last = span.map_or(0, |(_, last)| last);
        let (slices, moved_flows) = slices.plan(last, &mut flows, &mut findings);
        let flows = flows.plan(moved_flows, &mut findings);
        let asyncs = asyncs.plan(&mut findings);
        let profiles = profiles.plan(&mut findings);
        Surveyed { findings, ids, slices, flows, asyncs, profiles, outline, n_events, span }
    }

    fn note_last(&mut self, time: i64) {
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
    }

    fn sound_event(&mut self, event: &Event<'_>) {
        let order = self.n_events;
        // Event numbers saturate after four billion, but nothing breaks.
        self.n_events = self.n_events.saturating_add(1);
        check_event(event, &mut self.findings);
        let kind = PhaseRole::of(event);
        if kind == PhaseRole::Missing {
            return;
        }
        let track = self.ids.look(event, &mut self.findings);
        let Some(time) = event.start.nanos() else {
            return;
        };
        if kind == PhaseRole::Metadata {
            return;
        }
        self.note_last(time);
        if may_be_first(event, kind) {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
        }
        match kind {
            PhaseRole::Complete => {
                let duration = event.duration.nanos().filter(|&duration| duration >= 0);
                if let (Some(duration), Some(end)) = (duration, event.end()) {
                    self.note_last(end);
                    self.slices.complete(time, duration, track, order);
                    self.flows.add_slice(event, time, track, order);
                }
            }
            PhaseRole::Begin | PhaseRole::End => {
                self.slices.edge(event, time, track, order, &mut self.findings);
                if kind == PhaseRole::Begin {
                    self.flows.add_slice(event, time, track, order);
                }
            }
            PhaseRole::Flow => self.flows.add(event, time, track, order),
            PhaseRole::Async | PhaseRole::LegacyAsync => {
                let process = self.ids.tracks.get(track).process;
                self.asyncs.add(event, time, process, order);
            }
            PhaseRole::Other if event.phase == b'P' => {
                let process = self.ids.tracks.get(track).process;
                self.profiles.add(event, process, order);
            }
            _ => {}
        }
    }
}

/// Returns true if an event is kept regardless of the others, so that a trace may begin with it. Flows and ends are
/// kept only after their begins.
fn may_be_first(event: &Event<'_>, kind: PhaseRole) -> bool {
    match kind {
        PhaseRole::Flow | PhaseRole::End => false,
        PhaseRole::Async | PhaseRole::LegacyAsync => event.async_id().is_some() && !matches!(event.phase, b'e' | b'F'),
        PhaseRole::Counter => has_counter_value(event),
        _ => true,
    }
}

impl EventSink for Survey {
    fn event(&mut self, event: &Event<'_>) {
        self.last_event_end = Some(event.offset + event.json.len() as u64);
        if event.has_invalid_number {
            self.findings.note(&ODD_NUMBER, event);
        }
        with_valid_numbers(event, |event| self.sound_event(event));
    }

    fn loss(&mut self, loss: Loss) {
        check_loss(&loss, &mut self.findings);
    }

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        check_field(key, value, &mut self.findings);
    }
}
