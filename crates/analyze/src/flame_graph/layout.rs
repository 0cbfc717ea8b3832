//! The frames that are drawn, with their places on the axis of time.

use super::frames::Frames;
use std::cmp::Reverse;

/// Frames with less than 1/`PARTS` of the whole time are merged: they are narrower than a tenth of a pixel.
const PARTS: u64 = 12_000;

/// Maximum number of frames, apart from merged ones. Browsers take a second for so many; more of the narrow ones are
/// merged until the others fit.
const FRAMES_MAX: usize = 40_000;

/// A part of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) content: Content,
    /// Number of frames around it.
    pub(super) level: usize,
    /// Its begin on the axis of time.
    pub(super) start_ns: u64,
    /// Its length, with the frames in it.
    pub(super) total_ns: u64,
}

/// Content of a part of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// One frame.
    Frame(usize),
    /// Neighbors that are too narrow, with all frames in them.
    Merged(u64),
}

/// Places, the outer frame before those in it.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) places: Vec<Place>,
    pub(super) n_levels: usize,
    /// Number of frames that are not drawn by themselves.
    pub(super) n_merged: u64,
}

impl Layout {
    /// Places the frames. There are none if there is no time.
    pub(super) fn of(frames: &impl Frames) -> Self {
        let tree = Tree::of(frames);
        let mut layout = Self::default();
        let whole = tree.totals.first().copied().unwrap_or(0);
        if whole == 0 {
            return layout;
        }
        let children = tree.children(frames);
        let mut open = vec![Place { content: Content::Frame(0), level: 0, start_ns: 0, total_ns: whole }];
        while let Some(place) = open.pop() {
            layout.places.push(place);
            layout.n_levels = layout.n_levels.max(place.level + 1);
            if let Content::Frame(frame) = place.content {
                let first = open.len();
                layout.n_merged += tree.push_inner(frames, &children, (frame, place), &mut open);
                // The first one is taken from the end.
                open[first..].reverse();
            }
        }
        layout
    }
}

/// Figures of each frame.
struct Tree {
    /// Times with the frames in them.
    totals: Vec<u64>,
    /// Number of frames in a frame, itself included.
    sizes: Vec<u32>,
    /// The shortest time that is drawn.
    least_ns: u64,
}

impl Tree {
    fn of(frames: &impl Frames) -> Self {
        let mut totals: Vec<u64> = (0..frames.len()).map(|frame| frames.self_ns(frame)).collect();
        let mut sizes = vec![1_u32; frames.len()];
        // A frame comes after its parent, so one pass from the end sums up.
        for frame in (1..frames.len()).rev() {
            let parent = frames.parent(frame);
            totals[parent] = totals[parent].saturating_add(totals[frame]);
            sizes[parent] = sizes[parent].saturating_add(sizes[frame]);
        }
        let least_ns = least_time(&totals);
        Self { totals, sizes, least_ns }
    }

    /// Returns the frames that are drawn, by parent, then by time, the longest first.
    fn children(&self, frames: &impl Frames) -> Vec<usize> {
        let mut drawn: Vec<usize> =
            (1..self.totals.len()).filter(|&frame| self.totals[frame] >= self.least_ns).collect();
        drawn.sort_by_key(|&frame| (frames.parent(frame), Reverse(self.totals[frame]), frames.name(frame), frame));
        drawn
    }

    /// Adds the places in a frame, from left to right. Returns the number of frames that are merged.
    fn push_inner(
        &self,
        frames: &impl Frames,
        children: &[usize],
        (frame, around): (usize, Place),
        places: &mut Vec<Place>,
    ) -> u64 {
        let from = children.partition_point(|&child| frames.parent(child) < frame);
        let to = children.partition_point(|&child| frames.parent(child) <= frame);
        let level = around.level + 1;
        let mut start_ns = around.start_ns;
        let mut n_merged = u64::from(self.sizes[frame]) - 1;
        for &child in &children[from..to] {
            let total_ns = self.totals[child];
            places.push(Place { content: Content::Frame(child), level, start_ns, total_ns });
            start_ns = start_ns.saturating_add(total_ns);
            n_merged -= u64::from(self.sizes[child]);
        }
        let own_ns = frames.self_ns(frame);
        let merged_ns = (around.start_ns + around.total_ns).saturating_sub(start_ns).saturating_sub(own_ns);
        if n_merged > 0 && merged_ns >= self.least_ns {
            places.push(Place { content: Content::Merged(n_merged), level, start_ns, total_ns: merged_ns });
        }
        n_merged
    }
}

/// Returns the shortest time that is drawn. A frame in another one is not longer than that, so if a frame is drawn, the
/// frames around it are.
fn least_time(totals: &[u64]) -> u64 {
    let least_ns = (totals.first().copied().unwrap_or(0) / PARTS).max(1);
    let mut long: Vec<u64> = totals.iter().copied().filter(|&total| total >= least_ns).collect();
    if long.len() <= FRAMES_MAX {
        return least_ns;
    }
    let (_, &mut first_left_out, _) = long.select_nth_unstable_by_key(FRAMES_MAX, |&total| Reverse(total));
    first_left_out + 1
}

#[cfg(test)]
mod tests {
    use super::super::frames::test_frames::frames;
    use super::*;

    fn spelled(layout: &Layout) -> Vec<(Content, usize, u64, u64)> {
        layout.places.iter().map(|it| (it.content, it.level, it.start_ns, it.total_ns)).collect()
    }

    #[test]
    fn frames_are_ordered_by_time_and_lie_in_the_frame_around_them() {
        let layout = Layout::of(&frames(&[
            (0, "", "", 0),
            (0, "a", "", 10),
            (0, "b", "", 20),
            (1, "c", "", 40),
            (1, "d", "", 30),
            (2, "e", "", 0),
        ]));
        let expected = [(0, 0, 0, 100), (1, 1, 0, 80), (3, 2, 0, 40), (4, 2, 40, 30), (2, 1, 80, 20)];
        let expected = expected.map(|(frame, level, start, total)| (Content::Frame(frame), level, start, total));
        assert_eq!(spelled(&layout), expected);
        assert_eq!((layout.n_levels, layout.n_merged), (3, 1), "the frame without time is not drawn");
    }

    #[test]
    fn frames_of_equal_length_are_ordered_by_name() {
        let layout = Layout::of(&frames(&[(0, "", "", 0), (0, "b", "", 5), (0, "a", "", 5)]));
        assert_eq!(layout.places.iter().map(|it| it.content).collect::<Vec<_>>(), [0, 2, 1].map(Content::Frame));
    }

    #[test]
    fn narrow_neighbors_are_merged_with_the_frames_in_them() {
        let mut stacks = frames(&[(0, "", "", 0), (0, "long", "", 1_200_000)]);
        for narrow in 0..50 {
            stacks.push((0, format!("narrow {narrow}"), "", 60));
            stacks.push((2 + 2 * narrow, "in it".to_owned(), "", 30));
        }
        let layout = Layout::of(&stacks);
        let expected = [
            (Content::Frame(0), 0, 0, 1_204_500),
            (Content::Frame(1), 1, 0, 1_200_000),
            (Content::Merged(100), 1, 1_200_000, 4_500),
        ];
        assert_eq!(spelled(&layout), expected);
        assert_eq!(layout.n_merged, 100);
    }

    #[test]
    fn merged_frames_that_are_narrow_together_are_only_counted() {
        let layout = Layout::of(&frames(&[(0, "", "", 0), (0, "long", "", 1_200_000), (0, "narrow", "", 3)]));
        assert_eq!((layout.places.len(), layout.n_merged), (2, 1));
    }

    #[test]
    fn the_number_of_frames_is_bounded() {
        let mut stacks = frames(&[(0, "", "", 0), (0, "a", "", 1)]);
        for level in 0..20 {
            for place in 0..5_000 {
                let parent = if level == 0 { 1 } else { 2 + (level - 1) * 5_000 + place };
                stacks.push((parent, place.to_string(), "", 1_000 + place as u64));
            }
        }
        let layout = Layout::of(&stacks);
        let n_frames = layout.places.iter().filter(|it| matches!(it.content, Content::Frame(_))).count();
        assert!((30_000..=FRAMES_MAX).contains(&n_frames), "{n_frames}");
        assert_eq!(n_frames as u64 + layout.n_merged, stacks.len() as u64);
        let inside = |outer: &Place, inner: &Place| {
            outer.start_ns <= inner.start_ns && inner.start_ns + inner.total_ns <= outer.start_ns + outer.total_ns
        };
        assert!(layout.places.iter().all(|place| inside(&layout.places[0], place)));
    }

    #[test]
    fn without_time_there_are_no_places() {
        assert_eq!(Layout::of(&frames(&[(0, "", "", 0), (0, "a", "", 0)])).places, []);
        assert_eq!(Layout::of(&frames(&[])).places, []);
    }
}
