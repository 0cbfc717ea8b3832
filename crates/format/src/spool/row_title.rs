//! Titles of the rows of asynchronous events.
//!
//! Viewers draw all asynchronous events of one id on one row, and call the row by the first of them. So that rows can be told
//! apart, an event that has a title is written with another one around it, whose name is the title, such as `request 42`. Its argument
//! [`ROW_OF`](ferrum_trace_model::vocab::ROW_OF) tells readers that it is no event of its own. It is made when a spool is converted: the spool does not have it.

use super::dictionary::Site;
use super::encoding::Event;
use super::record::Record;
use crate::ReadAt;
use ferrum_trace_model::Value;

/// Last key of a site whose begins and ends have a title. The value is the title; without a value, the title is the name and the value
/// of the first of [`ID_KEYS`] that the event has. It is no name of an argument that a program could give.
pub const TITLE_KEY: &str = "(row title)";

/// Last key of a site whose begins and ends have a title made of their name and the id of the event. It never has a value.
pub const ID_TITLE_KEY: &str = "(row title by id)";

/// Arguments that tell what an asynchronous event is for, the most telling first.
pub const ID_KEYS: [&str; 5] = ["request_id", "request", "req_id", "req", "id"];

/// Most characters of an id in a title: a field may hold a whole request as text.
const ID_CHARS_MAX: usize = 64;

/// How the begins and ends of a site get titles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowTitle {
    /// Not at all.
    None,
    /// By their name and id.
    ById,
    /// By their arguments.
    ByArgs,
}

impl RowTitle {
    /// Of a site with these keys.
    pub fn of(keys: &[String]) -> Self {
        match keys.last().map(String::as_str) {
            Some(TITLE_KEY) => Self::ByArgs,
            Some(ID_TITLE_KEY) => Self::ById,
            _ => Self::None,
        }
    }
}

/// The place of the title among the arguments of a record, if it has one.
pub fn title_arg(site: &Site, record: &Record<'_>) -> Option<usize> {
    let is_there = site.row_title == RowTitle::ByArgs && record.n_args() == site.keys.len();
    is_there.then(|| record.n_args().wrapping_sub(1))
}

/// The title of the row that an asynchronous begin or end is on.
pub fn title_of<R: ReadAt + ?Sized>(event: &Event<'_, R>) -> Option<Box<str>> {
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

/// A title of a name and an id.
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
