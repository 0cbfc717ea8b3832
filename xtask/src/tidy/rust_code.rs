//! Rust code without its comments and literals, so that rules do not match text in them.

/// Returns the text with a blank for every character of a comment or a literal; line breaks stay.
pub(super) fn blanked(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let len = opaque_len(rest);
        if len == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..len].chars().map(|ch| if ch == '\n' { '\n' } else { ' ' }));
            rest = &rest[len..];
        }
    }
    code
}

/// Length of the comment or literal at the start of `rest`, or 0.
fn opaque_len(rest: &str) -> usize {
    match rest.as_bytes() {
        [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment_len(rest),
        [b'"', ..] => quoted_len(rest, '"'),
        [b'r', b'"' | b'#', ..] => raw_string_len(rest),
        [b'\'', ..] => char_len(rest),
        _ => 0,
    }
}

/// Length of a block comment; they nest.
fn block_comment_len(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let (step, change) = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        at += step;
        depth += change;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn quoted_len(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, ch) in rest.char_indices().skip(1) {
        match ch {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if ch == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length of `r"…"` with any number of `#`; 0 for a raw identifier such as `r#type`.
fn raw_string_len(rest: &str) -> usize {
    let hashes = rest[1..].bytes().take_while(|&byte| byte == b'#').count();
    let body = 1 + hashes + 1;
    if rest.as_bytes().get(body - 1) != Some(&b'"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    rest[body..].find(&end).map_or(rest.len(), |at| body + at + end.len())
}

/// Length of `'x'` or an escape such as `'\n'`; 0 for a lifetime.
fn char_len(rest: &str) -> usize {
    let mut chars = rest.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted_len(rest, '\''),
        (Some(inner), Some('\'')) => inner.len_utf8() + 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> String {
        blanked(source).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_vanish_and_lines_stay() {
        let source = "a // b\n/* c /* d */\ne */ f";
        assert_eq!(words(source), "a f");
        assert_eq!(blanked(source).lines().count(), 3);
    }

    #[test]
    fn literals_vanish_whatever_they_contain() {
        assert_eq!(words(r#"f("a // \" b") + g"#), "f( ) + g");
        assert_eq!(words("r#\"a \" b\"# + c"), "+ c");
        assert_eq!(words(r"['a', '\'', '\u{41}', '\\'] x"), "[ , , , ] x");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        assert_eq!(words("fn f<'a>(r#type: &'a str) {}"), "fn f<'a>(r#type: &'a str) {}");
    }

    #[test]
    fn an_unterminated_literal_or_comment_is_blank_to_the_end() {
        for source in ["\"a", "/* a", "r#\"a\"", "'\\", "r", "r#", "'"] {
            assert_eq!(blanked(source).len(), source.len(), "`{source}`");
        }
    }
}
