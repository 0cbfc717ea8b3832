//! Checks the ids of processes and threads.

use super::events::PhaseRole;
use super::findings::Findings;
use super::rules::ids::{ID_RANGE, MISSING_ID, MIXED_ID, TEXT_ID, TID_ZERO};
use ferrum_trace_format::chrome::read::{Event, RowFinder, Scalar, for_each_member};
use ferrum_trace_model::{StringId, Strings, TrackId, Tracks};

/// The largest id that all viewers distinguish.
const ID_MAX: u32 = i32::MAX as u32;

/// Tracks of a file and their spellings.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// Ids and names of the tracks.
    pub tracks: Tracks,
    /// Texts of the ids and names.
    pub strings: Strings,
    /// Usage by track.
    uses: Vec<Use>,
    rows: RowFinder,
}

/// Usage of a track.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Use {
    /// True if something is shown on it.
    pub is_shown: bool,
    /// Spellings of its process id, to find ids that are numbers in some events and texts in others.
    pid_spelling: Spelling,
    tid_spelling: Spelling,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spelling {
    number: bool,
    text: bool,
}

impl Ids {
    /// Checks the ids of an event, and returns its track.
    pub(crate) fn look(&mut self, event: &Event<'_>, findings: &mut Findings) -> TrackId {
        let kind = PhaseRole::of(event);
        let track = self.track(event);
        if kind == PhaseRole::Metadata {
            self.name(event, track);
        }
        let is_about_process = is_about_process(event, kind);
        let usage = &mut self.uses[track.index()];
        usage.is_shown |= is_bound(event, kind);
        if event.pid.is_none() || (event.tid.is_none() && kind.is_on_thread()) {
            findings.note(&MISSING_ID, event);
        }
        let ids = [(event.pid, &mut usage.pid_spelling), (event.tid, &mut usage.tid_spelling)];
        let mut is_mixed = false;
        for (id, spelling) in ids {
            match id {
                Some(Scalar::Text(_)) => {
                    findings.note(&TEXT_ID, event);
                    spelling.text = true;
                }
                Some(Scalar::Other(id)) => {
                    if number(id).is_none() {
                        findings.note(&ID_RANGE, event);
                    }
                    spelling.number = true;
                }
                None => {}
            }
            is_mixed |= spelling.number && spelling.text;
        }
        if is_mixed {
            findings.note(&MIXED_ID, event);
        }
        if !is_about_process && is_zero(event.tid) && !is_zero(event.pid) && is_bound(event, kind) {
            findings.note(&TID_ZERO, event);
        }
        track
    }

    /// Returns the usage of a track.
    pub(crate) fn usage(&self, track: TrackId) -> Use {
        self.uses.get(track.index()).copied().unwrap_or_default()
    }

    /// Returns the track of an event.
    pub(crate) fn track(&mut self, event: &Event<'_>) -> TrackId {
        let track = self.rows.track(event, &mut self.strings, &mut self.tracks);
        if self.uses.len() < self.tracks.len() {
            self.uses.resize(self.tracks.len(), Use::default());
        }
        track
    }

    fn name(&mut self, event: &Event<'_>, track: TrackId) {
        let (Some(kind), Some(args)) = (event.name, event.args) else {
            return;
        };
        let process = self.tracks.get(track).process;
        let kind = kind.decode();
        for_each_member(args, |key, value| {
            let name = match (&*kind, key.raw) {
                ("process_name", b"name") => &mut self.tracks.get_process_mut(process).name,
                ("thread_name", b"name") => &mut self.tracks.get_mut(track).name,
                ("thread_sort_index", b"sort_index") => {
                    self.tracks.get_mut(track).sort_index = value.decode().parse().ok();
                    return;
                }
                _ => return,
            };
            if !value.decode().is_empty() {
                *name = Some(self.strings.intern(&value.decode()));
            }
        });
    }

    /// Returns the text of an id.
    pub(crate) fn text(&self, id: StringId) -> &str {
        self.strings.get(id)
    }
}

/// Returns true if an event describes a process, so that its thread is irrelevant.
pub(crate) fn is_about_process(event: &Event<'_>, kind: PhaseRole) -> bool {
    kind == PhaseRole::Metadata && event.name.is_some_and(|name| name.decode().starts_with("process_"))
}

/// Returns true if the thread of an event matters.
fn is_bound(event: &Event<'_>, kind: PhaseRole) -> bool {
    kind.is_on_thread()
        || (kind == PhaseRole::Metadata && event.name.is_some_and(|name| name.decode() == "thread_name"))
}

fn is_zero(id: Option<Scalar<'_>>) -> bool {
    matches!(id, Some(Scalar::Other(b"0")))
}

/// Returns the number of an id if viewers accept it.
pub(crate) fn number(id: &[u8]) -> Option<u32> {
    let is_plain = id.iter().all(u8::is_ascii_digit) && (id.len() == 1 || id.first() != Some(&b'0'));
    let number: u32 = is_plain.then(|| std::str::from_utf8(id).ok()?.parse().ok()).flatten()?;
    (number <= ID_MAX).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_decimal_numbers_of_31_bits_are_ids() {
        for (id, expected) in [("7", Some(7)), ("0", Some(0)), ("2147483647", Some(i32::MAX as u32))] {
            assert_eq!(number(id.as_bytes()), expected);
        }
        for id in ["2147483648", "-1", "7.0", "07", "", "x", "99999999999999999999"] {
            assert_eq!(number(id.as_bytes()), None, "{id}");
        }
    }
}
