//! Texts that are hard to write, and the documented spelling of each.

/// Length in bytes up to which a text is kept whole.
pub const KEPT_WHOLE: usize = 8 * 1024;

/// Texts with everything that may break JSON, viewers or buffers. The last four are too long to keep.
pub fn strange() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "\"",
        "\\",
        "\\\"",
        "\\u0041 \\n are not escapes",
        "a\"b\\c/d",
        "line\nline\r\n\ttab",
        "\0",
        "before\0after",
        "7 bytes",
        "8 bytes.",
        "\u{7f}\u{80}\u{9f}",
        "\u{feff}byte order mark",
        "\u{2028}\u{2029}",
        "🦀",
        "👩‍👩‍👧‍👦 and 🇺🇳",
        "über straße, e\u{301}",
        "العربية עברית",
        "\u{fffd}\u{fffe}\u{ffff}\u{10ffff}",
        "{\"name\":\"not an event\"},",
        "</script><!--",
        "null",
        "%s%n%p",
    ]
    .map(String::from)
    .into();
    texts.extend((0..0x20u8).map(|byte| format!("[{}]", char::from(byte))));
    texts.push("w".repeat(KEPT_WHOLE - 1));
    texts.push("w".repeat(KEPT_WHOLE));
    texts.push("w".repeat(KEPT_WHOLE + 1));
    texts.push("x".repeat(1 << 20));
    texts.push("\"\\\0".repeat(350_000));
    texts.push("🦀".repeat(1 << 18));
    texts
}

/// The text as it must be in the file: NUL is `␀`, and a text longer than 8 KiB is cut between characters, with a note
/// of its length, to 8 KiB in total.
pub fn spelled(text: &str) -> String {
    cut(text).replace('\0', "␀")
}

fn cut(text: &str) -> String {
    if text.len() <= KEPT_WHOLE {
        return text.to_owned();
    }
    let note = format!("… [cut: {} bytes]", text.len());
    let kept = text.char_indices().map(|(at, ch)| at + ch.len_utf8()).take_while(|end| end + note.len() <= KEPT_WHOLE);
    format!("{}{note}", &text[..kept.last().unwrap_or(0)])
}
