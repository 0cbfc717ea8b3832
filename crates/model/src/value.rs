//! The value of one argument of an event.

use std::borrow::Cow;

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A float, which may be NaN or infinite.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// Text.
    Text(Cow<'a, str>),
    /// The value was recorded, but the buffer had no room for it.
    Lost,
}
