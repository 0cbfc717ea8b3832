//! Pairs the begins and ends of marks.

use super::marks::{Mark, mark_of};
use ferrum_trace_format::chrome::read::Event;
use ferrum_trace_model::TrackId;

/// Maximum number of nested open marks on a track; more indicate damage.
const OPEN_MAX: usize = 64;

/// Open begins of each track of a file.
#[derive(Debug, Default)]
pub(super) struct OpenMarks {
    of_tracks: Vec<OfTrack>,
}

#[derive(Debug, Default)]
struct OfTrack {
    /// Number of open begins.
    depth: u64,
    /// Open marks among them: depth, mark and begin.
    marks: Vec<(u64, Mark, i64)>,
    last: Option<i64>,
    /// True if times went back, so that begins and ends cannot be paired.
    is_unordered: bool,
}

impl OpenMarks {
    /// Adds a begin or an end. Returns a mark that has ended, and its begin.
    pub(super) fn look(&mut self, event: &Event<'_>, track: TrackId, time: i64) -> Option<(Mark, i64)> {
        if self.of_tracks.len() <= track.index() {
            self.of_tracks.resize_with(track.index() + 1, OfTrack::default);
        }
        let of_track = &mut self.of_tracks[track.index()];
        of_track.is_unordered |= of_track.last.is_some_and(|last| time < last);
        of_track.last = Some(time);
        if of_track.is_unordered {
            of_track.marks.clear();
            return None;
        }
        if event.phase == b'B' {
            if let Some(mark) = mark_of(event).filter(|_| of_track.marks.len() < OPEN_MAX) {
                of_track.marks.push((of_track.depth, mark, time));
            }
            of_track.depth += 1;
            return None;
        }
        of_track.depth = of_track.depth.saturating_sub(1);
        let (_, mark, begin) = of_track.marks.pop_if(|(depth, ..)| *depth >= of_track.depth)?;
        Some((mark, begin))
    }
}
