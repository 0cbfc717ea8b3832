//! Colors of categories.

use super::frames::Frames;
use super::style::N_COLORS;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The class of frames without a color of their own.
pub(super) const OTHER: &str = "other";

/// Classes of categories, with the time of each.
#[derive(Debug)]
pub(super) struct Colors<'a> {
    class_of: HashMap<&'a str, usize>,
    /// Colored categories and their self time, the longest first.
    pub(super) legend: Vec<(&'a str, u64)>,
    /// The self time of all other frames.
    pub(super) other_ns: u64,
}

impl<'a> Colors<'a> {
    /// Gives a color to the categories with the most time.
    ///
    /// The color follows from the name of the category, so that it is the same in other pictures, unless a category
    /// with more time has it.
    pub(super) fn of(frames: &'a impl Frames) -> Self {
        let mut times: HashMap<&str, u64> = HashMap::new();
        for frame in 0..frames.len() {
            let time = times.entry(frames.category(frame)).or_default();
            *time = time.saturating_add(frames.self_ns(frame));
        }
        let mut other_ns = times.remove("").unwrap_or(0);
        let mut legend: Vec<(&str, u64)> = times.into_iter().collect();
        legend.sort_by_key(|&(category, ns)| (Reverse(ns), category));
        for (_, ns) in legend.drain(N_COLORS.min(legend.len())..) {
            other_ns = other_ns.saturating_add(ns);
        }
        let mut is_taken = [false; N_COLORS];
        let mut class_of = HashMap::new();
        for &(category, _) in &legend {
            let first = hash(category) % N_COLORS;
            let free = (first..first + N_COLORS).map(|class| class % N_COLORS).find(|&class| !is_taken[class]);
            let class = free.unwrap_or(first);
            is_taken[class] = true;
            class_of.insert(category, class);
        }
        Self { class_of, legend, other_ns }
    }

    /// Returns the class of a category.
    pub(super) fn class(&self, category: &str) -> String {
        self.class_of.get(category).map_or_else(|| OTHER.to_owned(), |class| format!("c{class}"))
    }
}

/// Returns the same number for a name in every run: FNV-1a.
fn hash(name: &str) -> usize {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 16)) as usize
}

#[cfg(test)]
mod tests {
    use super::super::frames::test_frames::frames;
    use super::*;

    #[test]
    fn the_categories_with_the_most_time_get_different_colors() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let mut stacks = frames(&[(0, "", "", 3)]);
        stacks.extend(names.into_iter().zip(1..).map(|(category, ns)| (0, "x".to_owned(), category, ns)));
        let colors = Colors::of(&stacks);
        assert_eq!(colors.legend.first(), Some(&("j", 10)));
        assert_eq!((colors.legend.len(), colors.other_ns), (N_COLORS, 3 + 1 + 2));
        let mut classes: Vec<String> = names.iter().map(|name| colors.class(name)).collect();
        assert_eq!(classes[..2], [OTHER; 2], "those with the least time");
        classes.sort();
        classes.dedup();
        assert_eq!(classes.len(), N_COLORS + 1);
    }

    #[test]
    fn the_color_of_a_category_does_not_depend_on_others() {
        let class = |stacks: &[(usize, &str, &'static str, u64)]| Colors::of(&frames(stacks)).class("attention");
        let alone = class(&[(0, "", "", 0), (0, "x", "attention", 5)]);
        assert_ne!(alone, OTHER);
        assert_eq!(class(&[(0, "", "", 0), (0, "y", "zzz", 1), (0, "x", "attention", 5)]), alone);
    }
}
