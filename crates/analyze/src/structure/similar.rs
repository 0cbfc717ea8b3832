//! Finds texts that are similar to a pattern that matches none of them.

use super::glob::Glob;

/// The number of texts that are suggested.
const SUGGESTED: usize = 3;
/// The number of texts that are compared, to bound the work.
const LOOKED_AT: usize = 20_000;
/// The longest text, in characters, whose edit distance is computed.
const CHARS_MAX: usize = 64;
/// The shortest text that is looked for in others, in characters.
const PART_CHARS_MIN: usize = 3;

/// Returns the texts that are most similar to a pattern, the best first: texts that differ in case only, then texts
/// that contain the pattern's text or are contained in it, then texts with few typing errors.
pub(super) fn similar<'a>(pattern: &str, texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = Wanted::new(pattern);
    let mut found: Vec<(usize, &str)> =
        texts.take(LOOKED_AT).filter_map(|text| Some((wanted.difference(text)?, text))).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(SUGGESTED).map(|(_, text)| text).collect()
}

struct Wanted {
    lowercase: Glob,
    /// The pattern without `*` and `?`, in lower case.
    letters: String,
    chars: Vec<char>,
}

impl Wanted {
    fn new(pattern: &str) -> Self {
        let lowercase = pattern.to_lowercase();
        let letters = lowercase.replace(['*', '?'], "");
        Self { lowercase: Glob::new(lowercase), chars: letters.chars().collect(), letters }
    }

    /// Returns the difference of a text; `None` if it is not similar.
    fn difference(&self, text: &str) -> Option<usize> {
        let text = text.to_lowercase();
        if self.lowercase.matches(&text) {
            return Some(0);
        }
        let is_part = |part: &str, whole: &str| part.chars().count() >= PART_CHARS_MIN && whole.contains(part);
        if is_part(&self.letters, &text) || is_part(&text, &self.letters) {
            return Some(1);
        }
        let text: Vec<char> = text.chars().take(CHARS_MAX + 1).collect();
        let distance_max = (self.chars.len() / 3).max(1);
        let is_comparable = text.len() <= CHARS_MAX
            && self.chars.len() <= CHARS_MAX
            && !self.chars.is_empty()
            && text.len().abs_diff(self.chars.len()) <= distance_max;
        let distance = is_comparable.then(|| edit_distance(&self.chars, &text))?;
        (distance <= distance_max).then_some(1 + distance)
    }
}

/// The number of characters that must be inserted, deleted or replaced to get from one text to the other.
fn edit_distance(one: &[char], other: &[char]) -> usize {
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (n, from) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut above[0], n + 1);
        for (m, to) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = above[m + 1];
            above[m + 1] = replaced.min(diagonal + 1).min(above[m] + 1);
        }
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edit_distance_counts_single_changes() {
        let distance = |one: &str, other: &str| {
            edit_distance(&one.chars().collect::<Vec<_>>(), &other.chars().collect::<Vec<_>>())
        };
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!([distance("", "abc"), distance("abc", ""), distance("abc", "abc")], [3, 3, 0]);
        assert_eq!(distance("atention", "attention"), 1);
    }

    #[test]
    fn similar_texts_are_sorted_by_how_much_they_differ() {
        let texts = ["attention", "Atention", "my_atention_2", "gemm", "at"];
        assert_eq!(similar("atention", texts.into_iter()), ["Atention", "my_atention_2", "attention"]);
        assert_eq!(similar("GEM*", texts.into_iter()), ["gemm"]);
        assert_eq!(similar("zzz", texts.into_iter()), [""; 0]);
        assert_eq!(similar("*", [].into_iter()), [""; 0]);
    }

    #[test]
    fn long_texts_are_compared_by_containment() {
        let long = format!("void kernel<{}>", "x".repeat(200));
        assert_eq!(similar("kernel", [long.as_str()].into_iter()), [long.as_str()]);
        assert_eq!(similar(&"y".repeat(200), [long.as_str()].into_iter()), [""; 0]);
    }
}
