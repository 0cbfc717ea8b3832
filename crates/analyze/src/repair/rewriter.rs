//! Edits the events of a file.

use super::track_numbers::TrackNumbers;
use crate::check::Rule;
use crate::check::asyncs::AsyncPlan;
use crate::check::events::{
    CounterValue, PhaseRole, flow_number, has_empty_name, has_good_scope, has_sub_nanoseconds, is_object_or_null,
};
use crate::check::flows::FlowPlan;
use crate::check::ids::{Ids, is_about_process};
use crate::check::profiles::ProfilePlan;
use crate::check::rules::asyncs::{ASYNC_WITHOUT_ID, UNMATCHED_ASYNC};
use crate::check::rules::counters::{COUNTER_NOT_NUMBER, COUNTER_WITHOUT_ARGS};
use crate::check::rules::events::{EMPTY_EVENT, EMPTY_ROW_NAME};
use crate::check::rules::flows::FLOW_WITHOUT_ID;
use crate::check::rules::profiles::PROFILE_DATA;
use crate::check::rules::slices::UNMATCHED_END;
use crate::check::rules::times::MISSING_TS;
use crate::check::slices::SlicePlan;
use crate::rewrite::edit::Edits;
use crate::rewrite::json::{micros, text};
use crate::rewrite::numbering::Id;
use ferrum_trace_format::chrome::push_decimal;
use ferrum_trace_format::chrome::read::{Event, Number, Scalar, for_each_member};
use ferrum_trace_model::vocab::UNCLOSED;
use ferrum_trace_model::{Order, TrackId};

/// Data for the edits of events.
#[derive(Debug)]
pub(super) struct Rewriter {
    /// The tracks of the file.
    pub ids: Ids,
    /// Changes to slices.
    pub slices: SlicePlan,
    /// Changes to flows.
    pub flows: FlowPlan,
    /// Changes to async events.
    pub asyncs: AsyncPlan,
    /// Changes to samples of profiles.
    pub profiles: ProfilePlan,
    /// Numbers of processes and threads.
    pub numbering: TrackNumbers,
    /// Nanoseconds that are subtracted from each time.
    pub shift: i64,
    /// End of the trace.
    pub last: i64,
}

/// Treatment of an event.
pub(super) enum Treatment {
    /// Write it with these changes.
    Kept(Edits),
    /// Leave it out.
    LeftOut(&'static Rule),
    /// Join it to this begin, with which it is written as one event.
    EndOf(Order),
}

impl Rewriter {
    /// Decides about an event.
    pub(super) fn decide(&mut self, event: &Event<'_>, order: Order) -> Treatment {
        let kind = PhaseRole::of(event);
        if kind == PhaseRole::Missing {
            return Treatment::LeftOut(&EMPTY_EVENT);
        }
        if kind != PhaseRole::Metadata && event.start.nanos().is_none() {
            return Treatment::LeftOut(&MISSING_TS);
        }
        let mut edits = Edits::default();
        let mut lane = 0;
        let left_out = match kind {
            PhaseRole::Complete => {
                lane = self.slices.lane(order);
                edit_complete(event, &mut edits);
                self.edit_bound_flow(event, order, &mut edits);
                None
            }
            PhaseRole::Begin => {
                lane = self.slices.lane(order);
                self.edit_begin(order, &mut edits);
                self.edit_bound_flow(event, order, &mut edits);
                None
            }
            PhaseRole::End => match self.slices.end(order) {
                Some(Some(begin)) => return Treatment::EndOf(begin),
                Some(None) => Some(&UNMATCHED_END),
                None => None,
            },
            PhaseRole::Instant => {
                if !has_good_scope(event) {
                    edits.set("s", "\"t\"");
                }
                None
            }
            PhaseRole::Counter => edit_counter(event, &mut edits),
            PhaseRole::Flow => {
                lane = self.flows.lane(order);
                self.edit_flow(event, order, &mut edits)
            }
            PhaseRole::Async | PhaseRole::LegacyAsync => self.edit_async(event, order, &mut edits),
            PhaseRole::Unknown => {
                edits.set("ph", "\"i\"");
                edits.set("s", "\"t\"");
                edits.add_arg("ph", text(&char::from(event.phase).to_string()));
                None
            }
            PhaseRole::Metadata if has_empty_name(event) => Some(&EMPTY_ROW_NAME),
            PhaseRole::Other if self.profiles.is_dropped(order) => Some(&PROFILE_DATA),
            PhaseRole::Other => {
                if let Some(id) = self.profiles.id(order) {
                    edits.remove("id2");
                    edits.set("id", format!("\"{id:#x}\""));
                }
                None
            }
            PhaseRole::Metadata | PhaseRole::Missing => None,
        };
        if let Some(rule) = left_out {
            return Treatment::LeftOut(rule);
        }
        edit_name_and_args(event, kind, &mut edits);
        self.edit_ids(event, kind, lane, &mut edits);
        self.edit_times(event, kind, &mut edits);
        Treatment::Kept(edits)
    }

    fn edit_begin(&self, order: Order, edits: &mut Edits) {
        if let Some(joined) = self.slices.joined(order) {
            edits.set("ph", "\"X\"");
            edits.set("dur", micros(joined.duration));
            if joined.is_unclosed {
                edits.add_arg(UNCLOSED, "true");
            }
        }
    }

    /// Edits the flow of a slice with `bind_id`.
    fn edit_bound_flow(&self, event: &Event<'_>, order: Order, edits: &mut Edits) {
        let Some(id) = event.bind_id else {
            return;
        };
        if let Some(new) = self.flows.id(order) {
            edits.set("bind_id", format!("\"{new:#x}\""));
        } else if self.flows.dropped(order).is_some() {
            edits.remove("bind_id");
            edits.remove("flow_in");
            edits.remove("flow_out");
            edits.add_arg("bind_id", text(&id.decode()));
        }
    }

    fn edit_flow(&self, event: &Event<'_>, order: Order, edits: &mut Edits) -> Option<&'static Rule> {
        let Some(id) = event.id else {
            return Some(&FLOW_WITHOUT_ID);
        };
        if let Some(new) = self.flows.id(order) {
            edits.set("id", new.to_string());
        } else if flow_number(id).is_none() {
            // A flow without a usable time is in no plan.
            return self.flows.dropped(order).or(Some(&FLOW_WITHOUT_ID));
        }
        if self.flows.needs_bp(order) {
            edits.set("bp", "\"e\"");
        }
        self.flows.dropped(order)
    }

    fn edit_async(&self, event: &Event<'_>, order: Order, edits: &mut Edits) -> Option<&'static Rule> {
        let Some((id, is_local)) = event.async_id() else {
            return Some(&ASYNC_WITHOUT_ID);
        };
        if self.asyncs.is_dropped(order) {
            return Some(&UNMATCHED_ASYNC);
        }
        match event.phase {
            b'S' => edits.set("ph", "\"b\""),
            b'T' | b'p' => edits.set("ph", "\"n\""),
            b'F' => edits.set("ph", "\"e\""),
            _ => {}
        }
        let becomes_local = self.asyncs.is_local(order);
        let other = self.asyncs.id(order).map(|n| format!("{id} ({})", n + 1));
        if becomes_local || other.is_some() {
            let id = text(other.as_deref().unwrap_or(&id));
            edits.remove("id");
            let scope: &[u8] = if becomes_local || is_local { b"{\"local\":" } else { b"{\"global\":" };
            edits.set("id2", [scope, &id, b"}"].concat());
        }
        None
    }

    fn edit_ids(&mut self, event: &Event<'_>, kind: PhaseRole, lane: u32, edits: &mut Edits) {
        let track = self.ids.track(event);
        let process = self.ids.tracks.get(track).process;
        let pid = self.numbering.pid(process);
        edit_id(event.pid, pid, "pid", edits);
        if is_about_process(event, kind) && event.tid.is_none_or(|tid| tid.plain() == Some(b"0")) {
            self.keep_old_pid(event, pid, edits);
            return;
        }
        let tid = self.numbering.tid(track, lane);
        edit_id(event.tid, tid, "tid", edits);
        if kind == PhaseRole::Metadata {
            self.keep_old_pid(event, pid, edits);
            self.keep_old_tid(event, track, edits);
        }
    }

    /// Keeps the old number of a named process that gets a new one, as an argument of its name.
    fn keep_old_pid(&self, event: &Event<'_>, pid: Option<Id>, edits: &mut Edits) {
        let is_name = event.name.is_some_and(|name| name.decode() == "process_name");
        if let (true, Some(old), true) = (is_name, event.pid, pid.is_some_and(|pid| pid.is_new)) {
            edits.add_arg("old_pid", text(&old.decode()));
        }
    }

    fn keep_old_tid(&self, event: &Event<'_>, track: TrackId, edits: &mut Edits) {
        let is_name = event.name.is_some_and(|name| name.decode() == "thread_name");
        let is_new = self.numbering.tid(track, 0).is_some_and(|tid| tid.is_new);
        if let (true, Some(old), true) = (is_name, event.tid, is_new) {
            edits.add_arg("old_tid", text(&old.decode()));
        }
    }

    fn edit_times(&self, event: &Event<'_>, kind: PhaseRole, edits: &mut Edits) {
        let is_odd = |number: Number<'_>| matches!(number, Number::Quoted(_));
        let is_inexact = has_sub_nanoseconds(event);
        if let Some(start) = event.start.nanos()
            && (self.shift != 0 || is_odd(event.start) || is_inexact)
        {
            let start = start.saturating_sub(self.shift);
            let is_metadata = kind == PhaseRole::Metadata;
            edits.set("ts", micros(if is_metadata { start.max(0) } else { start }));
        }
        if let Some(duration) = event.duration.nanos()
            && !edits.changes("dur")
            && (is_odd(event.duration) || is_inexact)
        {
            edits.set("dur", micros(duration));
        }
    }

    /// Returns the end of an async slice that has none. It only has the fields that join it to its begin.
    pub(super) fn end_of_async(&self, begin: &[u8]) -> Vec<u8> {
        let mut edits = Edits::default();
        edits.set("ph", "\"e\"");
        edits.set("ts", micros(self.last.saturating_sub(self.shift)));
        edits.set("args", format!("{{\"{UNCLOSED}\":true}}"));
        edits.apply(begin, None)
    }
}

fn has_usable_duration(event: &Event<'_>) -> bool {
    event.duration.nanos().is_some_and(|duration| duration >= 0) && event.end().is_some()
}

/// Turns a slice without a usable duration into an instant at the same time.
fn edit_complete(event: &Event<'_>, edits: &mut Edits) {
    if has_usable_duration(event) {
        return;
    }
    edits.set("ph", "\"i\"");
    edits.set("s", "\"t\"");
    edits.remove("dur");
    let duration = match event.duration {
        Number::Missing => "missing".to_owned(),
        Number::Nanos(nanos) | Number::Quoted(nanos) => String::from_utf8_lossy(&micros(nanos)).into_owned(),
        Number::Unusable(spelling) => String::from_utf8_lossy(spelling).into_owned(),
    };
    edits.add_arg("unusable_dur", text(&duration));
}

/// Removes the values of a counter that are not numbers.
fn edit_counter(event: &Event<'_>, edits: &mut Edits) -> Option<&'static Rule> {
    let mut args = Vec::new();
    let (mut n_values, mut n_changed) = (0, 0);
    for_each_member(event.args.unwrap_or_default(), |key, value| {
        n_values += 1;
        let number = match CounterValue::of(value) {
            CounterValue::Number(spelling) => spelling.to_vec(),
            CounterValue::Hidden(number) => {
                n_changed += 1;
                format!("{number}").into_bytes()
            }
            CounterValue::None => {
                n_changed += 1;
                return;
            }
        };
        args.extend_from_slice(if args.is_empty() { b"{\"" } else { b",\"" });
        args.extend_from_slice(key.raw);
        args.extend_from_slice(b"\":");
        args.extend_from_slice(&number);
    });
    if n_values == 0 {
        return Some(&COUNTER_WITHOUT_ARGS);
    }
    if args.is_empty() {
        return Some(&COUNTER_NOT_NUMBER);
    }
    if n_changed > 0 {
        args.push(b'}');
        edits.set("args", args);
    }
    None
}

fn edit_name_and_args(event: &Event<'_>, kind: PhaseRole, edits: &mut Edits) {
    match event.name {
        Some(Scalar::Text(_)) => {}
        Some(Scalar::Other(spelling)) => edits.set("name", text(&String::from_utf8_lossy(spelling))),
        None => edits.set("name", "\"\""),
    }
    if let Some(args) = event.args
        && kind != PhaseRole::Counter
        && !is_object_or_null(args)
    {
        edits.set("args", [b"{\"value\":", args, b"}"].concat());
    }
}

fn edit_id(id: Option<Scalar<'_>>, wanted: Option<Id>, key: &'static str, edits: &mut Edits) {
    let Some(wanted) = wanted else {
        return;
    };
    let mut number = Vec::new();
    push_decimal(&mut number, u64::from(wanted.number));
    if id != Some(Scalar::Other(&number)) {
        edits.set(key, number);
    }
}
