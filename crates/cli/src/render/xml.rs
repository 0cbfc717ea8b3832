//! Text for SVG and HTML.

use super::table::{clean, cut};
pub(crate) use ferrum_trace_analyze::escape_xml as escape;

/// Escapes a text for SVG and HTML, as content or as a quoted attribute, and cuts it to `width`.
pub(crate) fn escaped(text: &str, width: usize) -> String {
    escape(&cut(&clean(text), width))
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
