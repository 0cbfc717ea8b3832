//! Text for SVG and HTML.

use super::table::{clean, cut};

/// Escapes a text for SVG and HTML, as content or as a quoted attribute, and cuts it to `width`.
pub(crate) fn escaped(text: &str, width: usize) -> String {
    escape(&cut(&visible(text), width))
}

/// Escapes the characters that XML or HTML would interpret, and replaces those that XML does not allow.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in XML.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(char),
        }
    }
    out
}

/// Replaces control characters, and characters that reorder the text around them.
pub(crate) fn visible(text: &str) -> String {
    clean(text).chars().map(|char| if is_bidi_control(char) { '\u{fffd}' } else { char }).collect()
}

/// Returns true for the controls of the bidirectional algorithm of Unicode.
fn is_bidi_control(char: char) -> bool {
    matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped() {
        let escaped = escaped("<script>alert('1' + \"2\")</script> & ]]>", 200);
        assert_eq!(escaped, "&lt;script&gt;alert(&#39;1&#39; + &quot;2&quot;)&lt;/script&gt; &amp; ]]&gt;");
    }

    #[test]
    fn invisible_characters_are_replaced() {
        assert_eq!(escaped("a\0b\u{202e}c\u{2066}d\ne\u{ffff}f\u{7f}", 200), "a�b�c�d�e�f�");
    }

    #[test]
    fn a_text_is_cut_before_it_is_escaped() {
        assert_eq!(escaped("<<<<<<", 3), "&lt;…&lt;");
    }
}
