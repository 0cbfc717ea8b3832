//! Iterates over the members of JSON objects and the elements of JSON lists.

use super::event::Scalar;
use crate::chrome::cursor::Cursor;
use crate::chrome::text::Text;

/// Calls `look` with each member of an object, which must be valid JSON. Other values have no members.
pub fn for_each_member<'a>(json: &'a [u8], mut look: impl FnMut(Text<'a>, Scalar<'a>)) {
    let mut cursor = Cursor::new(json, 0);
    if cursor.expect(b'{', "`{`").is_err() {
        return;
    }
    loop {
        cursor.skip_space();
        let Ok(key) = cursor.key() else {
            return;
        };
        cursor.skip_space();
        let value = match cursor.peek() {
            Some(b'"') => cursor.text().map(Scalar::Text),
            _ => cursor.value().map(Scalar::Other),
        };
        let Ok(value) = value else {
            return;
        };
        look(key, value);
        if cursor.expect(b',', "`,`").is_err() {
            return;
        }
    }
}

/// Calls `look` with each element of a list, which must be valid JSON. Other values have no elements.
pub fn for_each_element<'a>(json: &'a [u8], mut look: impl FnMut(&'a [u8])) {
    let mut cursor = Cursor::new(json, 0);
    if cursor.expect(b'[', "`[`").is_err() {
        return;
    }
    while let Ok(value) = cursor.value() {
        look(value);
        if cursor.expect(b',', "`,`").is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_a_list_are_found_in_order() {
        let elements = |json: &'static str| {
            let mut found = Vec::new();
            for_each_element(json.as_bytes(), |element| found.push(std::str::from_utf8(element).unwrap()));
            found
        };
        assert_eq!(elements(r#"[ 1 , {"a":[2]},"]", [] ]"#), ["1", r#"{"a":[2]}"#, r#""]""#, "[]"]);
        assert_eq!((elements("[]"), elements("{}")), (vec![], vec![]));
    }
}
