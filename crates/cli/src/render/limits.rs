//! Notes about traces with more names or tracks than can be distinguished.

use super::units::{count, number};
use ferrum_trace_format::chrome::read::Limits;
use ferrum_trace_model::{Beyond, OTHER_NAMES, Trace};

/// Returns a note for each limit that a trace exceeds.
pub(crate) fn notes(trace: &Trace) -> Vec<String> {
    let Beyond { names, on_tracks } = trace.census.beyond;
    let Limits { names: names_max, tracks: tracks_max } = Limits::default();
    let mut notes = Vec::new();
    if names > 0 {
        notes.push(format!(
            "more than {} different names: later ones are counted as `{OTHER_NAMES}`, {}",
            number(names_max as u64),
            count(names, "time")
        ));
    }
    if on_tracks > 0 {
        notes.push(format!(
            "more than {} tracks: {} of later ones left out of all figures",
            number(tracks_max as u64),
            count(on_tracks, "event")
        ));
    }
    notes
}
