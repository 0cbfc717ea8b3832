//! Marks that are written as a begin and an end.

use super::marks::{Mark, mark_of};
use ferrum_trace_format::chrome::read::Event;
use ferrum_trace_model::TrackId;

/// Number of marks of a track that may be open in each other; what is more is damage.
const OPEN_MAX: usize = 64;

/// What is open on each track of a file.
#[derive(Debug, Default)]
pub(super) struct OpenMarks {
    of_tracks: Vec<OfTrack>,
}

#[derive(Debug, Default)]
struct OfTrack {
    /// Number of begins that are open.
    depth: u64,
    /// Those of them that are marks: depth, mark and begin.
    marks: Vec<(u64, Mark, i64)>,
    last: Option<i64>,
    /// Times went back, so that it is not known which end is whose.
    is_unordered: bool,
}

impl OpenMarks {
    /// Looks at a begin or an end. Gives a mark that has ended, and when it began.
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
