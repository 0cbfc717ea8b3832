//! Changes single fields of an event, and keeps the others byte for byte.

use ferrum_trace_format::chrome::read::{Cursor, Stop};

/// New values of fields.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    fields: Vec<(&'static str, Option<Vec<u8>>)>,
    /// Members that are added to `args`, each as JSON.
    args: Vec<(&'static str, Vec<u8>)>,
}

impl Edits {
    /// Returns true if nothing is changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.args.is_empty()
    }

    /// Returns true if a field is changed.
    pub(crate) fn changes(&self, key: &str) -> bool {
        self.fields.iter().any(|(changed, _)| *changed == key)
    }

    /// Sets the value of a field, as JSON.
    pub(crate) fn set(&mut self, key: &'static str, value: impl Into<Vec<u8>>) {
        self.put(key, Some(value.into()));
    }

    /// Removes a field.
    pub(crate) fn remove(&mut self, key: &'static str) {
        self.put(key, None);
    }

    /// Adds an argument, as JSON.
    pub(crate) fn add_arg(&mut self, key: &'static str, value: impl Into<Vec<u8>>) {
        self.args.push((key, value.into()));
    }

    fn put(&mut self, key: &'static str, value: Option<Vec<u8>>) {
        match self.fields.iter_mut().find(|(other, _)| *other == key) {
            Some(field) => field.1 = value,
            None => self.fields.push((key, value)),
        }
    }

    /// Returns the event with these changes.
    pub(crate) fn apply(mut self, json: &[u8], args: Option<&[u8]>) -> Vec<u8> {
        if !self.args.is_empty() {
            let args = match self.fields.iter().find(|(key, _)| *key == "args") {
                Some((_, changed)) => changed.as_deref(),
                None => args,
            };
            let args = self.args.iter().fold(args.unwrap_or(b"{}").to_vec(), |args, (key, value)| {
                join_objects(&args, &[b"{\"", key.as_bytes(), b"\":", value, b"}"].concat())
            });
            self.set("args", args);
        }
        let mut out = Vec::with_capacity(json.len() + 64);
        out.push(b'{');
        let mut is_written = vec![false; self.fields.len()];
        for_each_field(json, |key, field| {
            match self.fields.iter().position(|(changed, _)| changed.as_bytes() == key) {
                None => push_field(&mut out, field),
                // Only the first of duplicate fields is kept.
                Some(n) if !std::mem::replace(&mut is_written[n], true) => {
                    let (key, value) = &self.fields[n];
                    if let Some(value) = value {
                        push_member(&mut out, key, value);
                    }
                }
                Some(_) => {}
            }
        });
        for (n, (key, value)) in self.fields.iter().enumerate() {
            if let (false, Some(value)) = (is_written[n], value) {
                push_member(&mut out, key, value);
            }
        }
        out.push(b'}');
        out
    }
}

fn push_field(out: &mut Vec<u8>, field: &[u8]) {
    if out.len() > 1 {
        out.push(b',');
    }
    out.extend_from_slice(field);
}

fn push_member(out: &mut Vec<u8>, key: &str, value: &[u8]) {
    push_field(out, b"\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(value);
}

/// Joins the members of two objects. Values that are not objects have none.
pub(crate) fn join_objects(one: &[u8], other: &[u8]) -> Vec<u8> {
    let members = |object: &[u8]| -> Vec<u8> {
        let inner = object.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
        inner.unwrap_or_default().trim_ascii().to_vec()
    };
    let (one, other) = (members(one), members(other));
    let comma: &[u8] = if one.is_empty() || other.is_empty() { b"" } else { b"," };
    [b"{", &one[..], comma, &other[..], b"}"].concat()
}

/// Visits the fields of an object: the key, and key with value in their spelling.
fn for_each_field<'a>(json: &'a [u8], mut look: impl FnMut(&'a [u8], &'a [u8])) {
    let mut cursor = Cursor::new(json, 0);
    let mut next = || -> Result<(&'a [u8], &'a [u8]), Stop> {
        cursor.step();
        cursor.skip_space();
        let begin = cursor.at();
        let key = cursor.key()?;
        cursor.skip_value()?;
        let field = &json[begin..cursor.at()];
        cursor.skip_space();
        Ok((key.raw, field))
    };
    while let Ok((key, field)) = next() {
        look(key, field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(json: &str, edit: impl FnOnce(&mut Edits)) -> String {
        let mut edits = Edits::default();
        edit(&mut edits);
        String::from_utf8(edits.apply(json.as_bytes(), None)).unwrap()
    }

    #[test]
    fn only_the_given_fields_change() {
        let json = r#"{ "a" : 1 , "b":[1, 2],"c":"x", "b" : 3 }"#;
        assert_eq!(edited(json, |edits| edits.set("b", "7")), r#"{"a" : 1,"b":7,"c":"x"}"#);
        assert_eq!(edited(json, |edits| edits.remove("a")), r#"{"b":[1, 2],"c":"x","b" : 3}"#);
        assert_eq!(edited("{}", |edits| edits.set("d", "\"y\"")), r#"{"d":"y"}"#);
    }

    #[test]
    fn arguments_are_added_to_existing_ones() {
        let add = |edits: &mut Edits| edits.add_arg("k", "1");
        assert_eq!(edited(r#"{"a":1}"#, add), r#"{"a":1,"args":{"k":1}}"#);
        let mut edits = Edits::default();
        add(&mut edits);
        let json = br#"{"args":{ "x":2 },"a":1}"#;
        assert_eq!(edits.apply(json, Some(b"{ \"x\":2 }")), br#"{"args":{"x":2,"k":1},"a":1}"#);
    }

    #[test]
    fn objects_are_joined() {
        assert_eq!(join_objects(b"{\"a\":1}", b"{\"b\":2}"), b"{\"a\":1,\"b\":2}");
        assert_eq!(join_objects(b"null", b"{\"b\":2}"), b"{\"b\":2}");
        assert_eq!(join_objects(b"{ }", b"{}"), b"{}");
    }
}
