//! The last check of text before it is printed.

use ferrum_trace_analyze::{REPLACEMENT, is_hidden};
use std::borrow::Cow;

/// Replaces hidden characters of a finished output, except for line breaks and the sequences that set colors.
///
/// Texts of a trace are cleaned before they become part of an output, because only there line breaks and colors of a
/// trace can be told from those of the output, and because widths depend on it. This is for those that are not.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|char| is_hidden(char) && char != '\n') {
        return text.into();
    }
    let mut printed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let taken = match color_bytes(rest) {
            0 => char.len_utf8(),
            n_bytes => n_bytes,
        };
        match taken == char.len_utf8() && is_hidden(char) && char != '\n' {
            true => printed.push(REPLACEMENT),
            false => printed.push_str(&rest[..taken]),
        }
        rest = &rest[taken..];
    }
    printed.into()
}

/// Returns the length of the sequence that sets a color at the beginning of a text; 0 if there is none.
fn color_bytes(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return 0 };
    let n_bytes = parameters.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if parameters.as_bytes().get(n_bytes) == Some(&b'm') { n_bytes + 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_and_line_breaks_are_kept() {
        let text = "\u{1b}[1;31merror:\u{1b}[0m a\n";
        assert_eq!(printable(text), text);
        assert!(matches!(printable("a µ\nb"), Cow::Borrowed(_)));
    }

    #[test]
    fn other_hidden_characters_are_replaced() {
        let text = "\u{1b}[1mt\u{1b}[0m\ta\u{202e}b\u{1b}[2Jc\u{1b}]0;d\u{7}\u{9b}31m\n\u{1b}[1";
        let expected = "\u{1b}[1mt\u{1b}[0m\u{fffd}a\u{fffd}b\u{fffd}[2Jc\u{fffd}]0;d\u{fffd}\u{fffd}31m\n\u{fffd}[1";
        assert_eq!(printable(text), expected);
    }
}
