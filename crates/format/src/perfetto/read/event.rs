//! Reads a track event.

use crate::perfetto::field::{event, legacy};
use crate::perfetto::wire::{Broken, Fields};

/// The fields of a `TrackEvent` that are used.
#[derive(Debug, Default)]
pub(crate) struct TrackEvent<'a> {
    /// One of the types in `field::event`; zero for a legacy event.
    pub kind: u64,
    pub track: Option<u64>,
    pub name_iid: Option<u64>,
    pub name: Option<&'a [u8]>,
    pub category_iids: Vec<u64>,
    pub categories: Vec<&'a [u8]>,
    pub annotations: Vec<&'a [u8]>,
    pub counter_value: Option<i64>,
    pub double_counter_value: Option<f64>,
    pub flows: Vec<u64>,
    pub terminating_flows: Vec<u64>,
    pub delta_us: Option<i64>,
    pub absolute_us: Option<i64>,
    pub legacy: Option<Legacy<'a>>,
}

/// The fields of `LegacyEvent`, for Chrome's format.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Legacy<'a> {
    pub name_iid: Option<u64>,
    pub phase: u8,
    pub duration_us: Option<i64>,
    pub id: Option<Id>,
    pub id_scope: &'a [u8],
    pub bind_id: Option<u64>,
    pub binds_to_enclosing: bool,
    pub is_flow_in: bool,
    pub is_flow_out: bool,
    pub instant_scope: u64,
    pub pid: Option<i64>,
    pub tid: Option<i64>,
}

/// An id and its scope.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Id {
    Unscoped(u64),
    Local(u64),
    Global(u64),
}

impl<'a> TrackEvent<'a> {
    pub(crate) fn read(data: &'a [u8]) -> Result<Self, Broken> {
        let mut it = Self::default();
        let mut fields = Fields::new(data);
        while let Some((field, payload)) = fields.next()? {
            match field {
                event::TYPE => it.kind = payload.number(),
                event::TRACK_UUID => it.track = Some(payload.number()),
                event::NAME_IID => it.name_iid = Some(payload.number()),
                event::NAME => it.name = Some(payload.bytes()),
                event::CATEGORY_IIDS => payload.numbers(|id| it.category_iids.push(id)),
                event::CATEGORIES => it.categories.push(payload.bytes()),
                event::DEBUG_ANNOTATIONS => it.annotations.push(payload.bytes()),
                event::COUNTER_VALUE => it.counter_value = Some(payload.number() as i64),
                event::DOUBLE_COUNTER_VALUE => it.double_counter_value = Some(payload.float()),
                event::FLOW_IDS => payload.fixed_numbers(|id| it.flows.push(id)),
                event::FLOW_IDS_OLD => payload.numbers(|id| it.flows.push(id)),
                event::TERMINATING_FLOW_IDS => payload.fixed_numbers(|id| it.terminating_flows.push(id)),
                event::TERMINATING_FLOW_IDS_OLD => payload.numbers(|id| it.terminating_flows.push(id)),
                event::TIMESTAMP_DELTA_US => it.delta_us = Some(payload.number() as i64),
                event::TIMESTAMP_ABSOLUTE_US => it.absolute_us = Some(payload.number() as i64),
                event::LEGACY_EVENT => it.legacy = Some(Legacy::read(payload.bytes())?),
                _ => {}
            }
        }
        Ok(it)
    }

    /// Returns true if there is nothing in the event but its type and its track. Categories are ignored: some writers
    /// repeat those of the begin at the end.
    pub(crate) fn is_bare(&self) -> bool {
        let has_text = self.name_iid.is_some() || self.name.is_some() || !self.annotations.is_empty();
        let has_arrow = !self.flows.is_empty() || !self.terminating_flows.is_empty();
        !has_text && !has_arrow && self.legacy.is_none()
    }

    /// Returns the legacy event, if this is an event of Chrome's format.
    pub(crate) fn legacy_phase(&self) -> Option<Legacy<'a>> {
        self.legacy.filter(|legacy| self.kind == 0 && legacy.phase.is_ascii_graphic())
    }
}

impl<'a> Legacy<'a> {
    /// Returns true if this is the begin, a step or the end of a flow.
    pub(crate) fn is_flow_point(&self) -> bool {
        matches!(self.phase, b's' | b't' | b'f')
    }

    fn read(data: &'a [u8]) -> Result<Self, Broken> {
        let mut it = Self::default();
        let mut fields = Fields::new(data);
        while let Some((field, payload)) = fields.next()? {
            let number = payload.number();
            match field {
                legacy::NAME_IID => it.name_iid = Some(number),
                legacy::PHASE => it.phase = u8::try_from(number).unwrap_or(0),
                legacy::DURATION_US => it.duration_us = Some(number as i64),
                legacy::UNSCOPED_ID => it.id = Some(Id::Unscoped(number)),
                legacy::LOCAL_ID => it.id = Some(Id::Local(number)),
                legacy::GLOBAL_ID => it.id = Some(Id::Global(number)),
                legacy::ID_SCOPE => it.id_scope = payload.bytes(),
                legacy::BIND_ID => it.bind_id = Some(number),
                legacy::BIND_TO_ENCLOSING => it.binds_to_enclosing = number != 0,
                // 1 is in, 2 is out, 3 is both.
                legacy::FLOW_DIRECTION => (it.is_flow_in, it.is_flow_out) = (number & 1 != 0, number & 2 != 0),
                legacy::INSTANT_SCOPE => it.instant_scope = number,
                legacy::PID_OVERRIDE => it.pid = Some(number as i64).filter(|&pid| pid != -1),
                legacy::TID_OVERRIDE => it.tid = Some(number as i64).filter(|&tid| tid != -1),
                _ => {}
            }
        }
        Ok(it)
    }
}
