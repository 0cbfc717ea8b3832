//! The members of an object: arguments, metadata, ids in two parts; and the elements of a list.

use super::event::Scalar;
use crate::chrome::cursor::Cursor;
use crate::chrome::text::Text;

/// Looks at the members of an object, of which it is known that it is JSON. What is no object has none.
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

/// Looks at the elements of a list, of which it is known that it is JSON. What is no list has none.
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
