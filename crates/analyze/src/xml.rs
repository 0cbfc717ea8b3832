//! Text in XML and HTML.

use crate::visible::REPLACEMENT;

/// Escapes the characters that XML or HTML would interpret, and replaces those that XML does not allow, other than
/// control characters.
pub fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in XML.
            '\u{fffe}' | '\u{ffff}' => out.push(REPLACEMENT),
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped() {
        let escaped = escape_xml("<script>alert('1' + \"2\")</script> & ]]>\u{ffff}");
        assert_eq!(escaped, "&lt;script&gt;alert(&#39;1&#39; + &quot;2&quot;)&lt;/script&gt; &amp; ]]&gt;\u{fffd}");
    }
}
