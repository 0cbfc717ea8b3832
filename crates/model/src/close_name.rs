//! Finds the known name that a misspelled one most likely stands for.

/// Returns the candidate with the smallest edit distance to `name`, or `None` if more than a third of the letters
/// differ. Case is ignored, and two swapped neighbors count as one difference. The first of several equally close
/// candidates wins.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let most = (name.len() / 3).max(1);
    let distances = candidates.into_iter().filter_map(|candidate| {
        let letters: Vec<char> = candidate.to_lowercase().chars().collect();
        let may_be_close = letters.len().abs_diff(name.len()) <= most;
        may_be_close.then(|| (distance(&name, &letters), candidate))
    });
    let closest = distances.min_by_key(|&(distance, _)| distance);
    closest.filter(|&(distance, _)| distance <= most && distance < name.len()).map(|(_, candidate)| candidate)
}

/// Returns the number of letters to insert, remove, replace or swap with their neighbor.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_name_is_found_and_an_unrelated_name_is_not() {
        let known = ["attention", "gemm", "norm", "kv_cache", "layer"];
        for (name, meant) in [
            ("atention", Some("attention")),
            ("attenttion", Some("attention")),
            ("gmem", Some("gemm")),
            ("Gemm", Some("gemm")),
            ("kv-cache", Some("kv_cache")),
            ("layers", Some("layer")),
            ("request", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(closest(name, known), meant, "{name}");
        }
    }
}
