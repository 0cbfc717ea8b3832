//! Titles of the rows of async events.
//!
//! Viewers draw all async events of one id on one row and name the row after the first of them. To tell rows apart, an
//! event with a title is written inside another one whose name is the title, such as `request 42`. The argument
//! [`ROW_OF`](ferrum_trace_model::vocab::ROW_OF) marks the outer event as a title. It is added when a spool is
//! converted and is not in the spool.

use super::dictionary::Site;
use super::encoding::Event;
use super::record::Record;
use crate::ReadAt;
use ferrum_trace_model::Value;

/// Last key of a site whose begins and ends have a title. Its value is the title; without a value, the title is the
/// name and the value of the first of [`ID_KEYS`] that the event has. Programs cannot use this text as the name of an
/// argument.
pub const TITLE_KEY: &str = "(row title)";

/// Last key of a site whose begins and ends have a title of their name and id. It never has a value.
pub const ID_TITLE_KEY: &str = "(row title by id)";

/// Arguments that identify the subject of an async event, the most specific first.
pub const ID_KEYS: [&str; 5] = ["request_id", "request", "req_id", "req", "id"];

/// Maximum number of characters of an id in a title: a field may contain a whole request as text.
const ID_CHARS_MAX: usize = 64;

/// The kind of title of a site's begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowTitle {
    /// No title.
    None,
    /// Name and id.
    ById,
    /// Name and arguments.
    ByArgs,
}

impl RowTitle {
    /// Returns the kind for a site with these keys.
    pub(crate) fn of(keys: &[String]) -> Self {
        match keys.last().map(String::as_str) {
            Some(TITLE_KEY) => Self::ByArgs,
            Some(ID_TITLE_KEY) => Self::ById,
            _ => Self::None,
        }
    }
}

/// Returns the index of the title among the arguments of a record, if it has one.
pub(crate) fn title_arg(site: &Site, record: &Record<'_>) -> Option<usize> {
    let is_there = site.row_title == RowTitle::ByArgs && record.n_args() == site.keys.len();
    is_there.then(|| record.n_args().wrapping_sub(1))
}

/// Returns the title of the row of an async begin or end.
pub(crate) fn title_of<R: ReadAt + ?Sized>(event: &Event<'_, R>) -> Option<Box<str>> {
    match event.site.row_title {
        RowTitle::None => None,
        RowTitle::ById => Some(format!("{} {}", event.site.name, event.record.leading(0)).into()),
        RowTitle::ByArgs => match title_arg(event.site, &event.record) {
            Some(place) => text_of(&event.value(place)).map(Into::into),
            None => title_by_id(event),
        },
    }
}

fn title_by_id<R: ReadAt + ?Sized>(event: &Event<'_, R>) -> Option<Box<str>> {
    let keys = event.site.keys.iter().take(event.record.n_args());
    let place = ID_KEYS.iter().find_map(|id_key| keys.clone().position(|key| key == id_key))?;
    let id = text_of(&event.value(place))?;
    Some(titled(&event.site.name, &id).into())
}

/// Joins a name and an id to a title.
pub fn titled(name: &str, id: &str) -> String {
    match id.char_indices().nth(ID_CHARS_MAX) {
        Some((end, _)) => format!("{name} {}…", &id[..end]),
        None => format!("{name} {id}"),
    }
}

fn text_of(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Signed(number) => Some(number.to_string()),
        Value::Unsigned(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Text(text) => Some(text.to_string()),
        Value::Lost => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ids_are_cut_between_characters() {
        assert_eq!(titled("request", "42"), "request 42");
        assert_eq!(titled("r", &"é".repeat(100)), format!("r {}…", "é".repeat(64)));
    }
}
