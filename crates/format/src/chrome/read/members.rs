//! The members of an object: arguments, metadata, ids in two parts.

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
