//! Texts of a trace for people: characters that cannot be seen, or that change how others are shown, are replaced.

/// Stands for a replaced character.
pub const REPLACEMENT: char = '\u{fffd}';

/// Replaces every hidden character by [`REPLACEMENT`], so that a text of a trace neither controls a terminal nor looks
/// like another one.
///
/// ```
/// use ferrum_trace_analyze::visible;
///
/// assert_eq!(visible("gemm\u{202e}fdp.exe\n"), "gemm\u{fffd}fdp.exe\u{fffd}");
/// ```
pub fn visible(text: &str) -> String {
    text.chars().map(|char| if is_hidden(char) { REPLACEMENT } else { char }).collect()
}

/// Returns true for control characters (C0, DEL and C1), line and paragraph separators, controls of the bidirectional
/// algorithm, and characters without a glyph.
///
/// The last are those that Unicode lists as `Default_Ignorable_Code_Point`, except for variation selectors, which only
/// choose between shapes of the character before them.
pub fn is_hidden(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_control();
    }
    char.is_control()
        || matches!(char,
            // Soft hyphen, joiners, fillers, and the separators of Mongolian.
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{3164}' | '\u{ffa0}'
            // Arabic letter mark; zero-width characters and direction marks; separators and embeddings; isolates.
            | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Byte order mark, interlinear annotations, and what surrounds them.
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            // Controls of shorthand and of music; tags.
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}'
            | '\u{e01f0}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_replaced() {
        let hidden = "\0\t\n\r\u{1b}\u{7f}\u{85}\u{9b}\u{ad}\u{61c}\u{200b}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\
                      \u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{feff}\u{fff9}\u{e0041}";
        assert_eq!(visible(hidden), REPLACEMENT.to_string().repeat(hidden.chars().count()));
    }

    #[test]
    fn other_characters_are_kept() {
        for text in
            ["", "void gemm<float>(int*)", "µs …→ 漢字 é e\u{301} ⚠\u{fe0f} \u{a0} \u{2027} \u{202f}", "\u{fffd}"]
        {
            assert_eq!(visible(text), text);
        }
    }
}
