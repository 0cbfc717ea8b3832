//! Ranks in names.

/// Separators between the word and the number.
const SEPARATORS: [char; 7] = [' ', '_', '-', '.', ':', '=', '#'];

/// Returns the rank in the name of a file or of a process: `rank3.json`, `trace_rank-3.json.gz`, `rank 3`.
pub fn rank_in(name: &str) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    name.match_indices("rank").find_map(|(place, word)| {
        let rest = name[place + word.len()..].trim_start_matches(SEPARATORS);
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..n_digits].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_found_in_names() {
        let cases = [
            ("rank3.json", Some(3)),
            ("b_rank_7.json.gz", Some(7)),
            ("Rank0", Some(0)),
            ("rank: 12", Some(12)),
            ("frank.json", None),
            ("rank99999999999.json", None),
            ("ranks.rank=4.json", Some(4)),
            ("trace.json", None),
        ];
        for (name, rank) in cases {
            assert_eq!(rank_in(name), rank, "{name}");
        }
    }
}
