//! Metadata events in a field next to the list of events.
//!
//! Some readers of PyTorch traces refuse metadata events with unknown names, so `convert --to torch` moves them into
//! the field [`about::NAME`] of the object around the list.

use super::event::Event;
use crate::chrome::cursor::{Cursor, Stop};
use crate::chrome::text::Text;
use ferrum_trace_model::vocab::about;

/// Calls `look` with each metadata event of the field [`about::NAME`]. Returns false, without any call, if this is
/// another field or its value is not a list of metadata events.
pub fn for_each_event_in_field(key: Text<'_>, value: &[u8], look: impl FnMut(&Event<'_>)) -> bool {
    if key.raw != about::NAME.as_bytes() {
        return false;
    }
    let Ok(events) = events(value) else {
        return false;
    };
    let is_metadata = events.iter().all(|event| event.phase == b'M');
    if is_metadata {
        events.iter().for_each(look);
    }
    is_metadata
}

/// Reads a list of events.
fn events(list: &[u8]) -> Result<Vec<Event<'_>>, Stop> {
    let mut cursor = Cursor::new(list, 0);
    let mut events = Vec::new();
    cursor.expect(b'[', "`[`")?;
    if cursor.next_visible()? == b']' {
        return Ok(events);
    }
    loop {
        cursor.skip_space();
        events.push(Event::read(&mut cursor, 0)?);
        match cursor.next_visible()? {
            b',' => cursor.step(),
            b']' => return Ok(events),
            _ => return Err(cursor.bad("`,` or `]`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(key: &str, value: &str) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let is_read = for_each_event_in_field(Text::plain(key.as_bytes()), value.as_bytes(), |event| {
            names.push(event.name.map(|name| name.decode().into_owned()).unwrap_or_default());
        });
        assert!(is_read || names.is_empty());
        is_read.then_some(names)
    }

    #[test]
    fn metadata_events_of_the_field_are_read() {
        let list = r#"[ {"ph":"M","name":"ferrum_trace","pid":7,"args":{"dropped":3}} ,
            {"ph":"M","name":"num_cpus"}]"#;
        assert_eq!(names("ferrum_trace", list), Some(vec!["ferrum_trace".to_owned(), "num_cpus".to_owned()]));
        assert_eq!(names("ferrum_trace", " [ ] "), Some(Vec::new()));
    }

    #[test]
    fn other_fields_and_other_values_are_left_alone() {
        assert_eq!(names("metadata", r#"[{"ph":"M","name":"a"}]"#), None);
        for value in ["{}", "7", "[7]", r#"[{"ph":"M","name":"a"},{"ph":"X","name":"b"}]"#, r#"[{"ph":"M"}"#, ""] {
            assert_eq!(names("ferrum_trace", value), None, "{value}");
        }
    }
}
