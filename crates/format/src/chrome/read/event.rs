//! One event as it stands in the file.

use super::decimal;
use super::members::for_each_member;
use crate::chrome::cursor::{Cursor, Stop};
use crate::chrome::text::Text;
use std::borrow::Cow;

/// One element of the list of events. It borrows the file's bytes and decodes texts only on request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'a> {
    /// The JSON of the event.
    pub json: &'a [u8],
    /// Offset in the file.
    pub offset: u64,
    /// `ph`: the first byte, or zero if it is missing or not a text.
    pub phase: u8,
    /// `name`.
    pub name: Option<Scalar<'a>>,
    /// `cat`.
    pub category: Option<Scalar<'a>>,
    /// `ts`.
    pub start: Number<'a>,
    /// `dur`.
    pub duration: Number<'a>,
    /// `pid`.
    pub pid: Option<Scalar<'a>>,
    /// `tid`.
    pub tid: Option<Scalar<'a>>,
    /// `id`.
    pub id: Option<Scalar<'a>>,
    /// `id2`, as JSON.
    pub id2: Option<&'a [u8]>,
    /// `bind_id`.
    pub bind_id: Option<Scalar<'a>>,
    /// `s`: the scope of an instant.
    pub instant_scope: Option<Scalar<'a>>,
    /// `scope`: the namespace of the id.
    pub id_scope: Option<Scalar<'a>>,
    /// `bp`: the binding point of the end of a flow.
    pub binding_point: Option<Scalar<'a>>,
    /// `flow_in`.
    pub flow_in: bool,
    /// `flow_out`.
    pub flow_out: bool,
    /// `args`, as JSON.
    pub args: Option<&'a [u8]>,
    /// The members of `args` that were asked for; `None` if none were.
    pub wanted_args: Option<&'a [Arg<'a>]>,
    /// True if the event has a number that JSON does not allow; see [`with_valid_numbers`](super::with_valid_numbers).
    pub has_invalid_number: bool,
}

/// An argument that the receiver of an event has asked for.
#[derive(Clone, Copy, Debug)]
pub struct Arg<'a> {
    /// The number that [`wanted_arg`](super::EventSink::wanted_arg) returned for its key.
    pub number: u32,
    /// Its value.
    pub value: Scalar<'a>,
}

/// A value other than a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar<'a> {
    /// A text.
    Text(Text<'a>),
    /// A number, boolean or (in place of a scalar) container, as JSON.
    Other(&'a [u8]),
}

impl<'a> Scalar<'a> {
    /// Creates a scalar from a complete value.
    fn of_json(json: &'a [u8]) -> Self {
        match json {
            [b'"', raw @ .., b'"'] => Self::Text(Text { raw, is_escaped: raw.contains(&b'\\') }),
            _ => Self::Other(json),
        }
    }

    /// Returns the content: the text `"7"` and the number `7` have the same.
    pub fn decode(&self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => text.decode(),
            Self::Other(json) => String::from_utf8_lossy(json),
        }
    }

    /// Returns the content if no decoding is needed; it may still be invalid UTF-8.
    pub fn plain(&self) -> Option<&'a [u8]> {
        match self {
            Self::Text(text) => (!text.is_escaped).then_some(text.raw),
            Self::Other(json) => Some(json),
        }
    }
}

/// A time or a duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Number<'a> {
    /// The field is missing.
    #[default]
    Missing,
    /// Nanoseconds.
    Nanos(i64),
    /// Nanoseconds, from a text that contains a number.
    Quoted(i64),
    /// Another value, as JSON.
    Unusable(&'a [u8]),
}

impl Number<'_> {
    /// Returns the nanoseconds, if there are any.
    #[inline]
    pub fn nanos(self) -> Option<i64> {
        match self {
            Self::Nanos(nanos) | Self::Quoted(nanos) => Some(nanos),
            Self::Missing | Self::Unusable(_) => None,
        }
    }
}

impl<'a> Event<'a> {
    /// Reads the event at the cursor, which is at its brace. `base` is the offset of the cursor's bytes in the file.
    #[inline]
    pub fn read(cursor: &mut Cursor<'a>, base: u64) -> Result<Self, Stop> {
        Self::read_with(cursor, base, Cursor::value)
    }

    /// Reads an event as [`read`](Self::read) does, and puts the arguments with a number
    /// into `args`.
    #[inline]
    pub(crate) fn read_with_args(
        cursor: &mut Cursor<'a>,
        base: u64,
        number_of: impl Fn(&[u8]) -> Option<u32>,
        args: &mut Vec<Arg<'a>>,
    ) -> Result<Self, Stop> {
        args.clear();
        let keep = |args: &mut Vec<Arg<'a>>, key: &[u8], value| {
            if let Some(number) = number_of(key) {
                args.push(Arg { number, value: Scalar::of_json(value) });
            }
        };
        Self::read_with(cursor, base, |cursor| {
            // If an event has two, the last ones count.
            args.clear();
            if let Some(json) = cursor.plain_members(|key, value| keep(args, key, value)) {
                return Ok(json);
            }
            args.clear();
            cursor.value_with_members(|key, value| keep(args, key.raw, value))
        })
    }

    /// Reads an event. `read_args` reads the value of `args`.
    #[inline(always)]
    fn read_with(
        cursor: &mut Cursor<'a>,
        base: u64,
        mut read_args: impl FnMut(&mut Cursor<'a>) -> Result<&'a [u8], Stop>,
    ) -> Result<Self, Stop> {
        let begin = cursor.at();
        let mut event = Self { offset: base + begin as u64, ..Self::default() };
        cursor.take_invalid_number();
        cursor.expect(b'{', "`{`")?;
        if cursor.next_visible()? == b'}' {
            cursor.step();
        } else {
            loop {
                let key = cursor.key()?;
                event.read_field(key, cursor, &mut read_args)?;
                match cursor.next_visible()? {
                    b',' => {
                        cursor.step();
                        cursor.skip_space();
                    }
                    b'}' => {
                        cursor.step();
                        break;
                    }
                    _ => return Err(cursor.bad("`,` or `}`")),
                }
            }
        }
        event.json = &cursor.bytes()[begin..cursor.at()];
        event.has_invalid_number = cursor.take_invalid_number();
        Ok(event)
    }

    #[inline(always)]
    fn read_field(
        &mut self,
        key: Text<'a>,
        cursor: &mut Cursor<'a>,
        read_args: &mut impl FnMut(&mut Cursor<'a>) -> Result<&'a [u8], Stop>,
    ) -> Result<(), Stop> {
        match key.raw {
            b"ph" => self.phase = phase(scalar(cursor)?),
            b"name" => self.name = scalar(cursor)?,
            b"cat" => self.category = scalar(cursor)?,
            b"ts" => self.start = number(cursor)?,
            b"dur" => self.duration = number(cursor)?,
            b"pid" => self.pid = scalar(cursor)?,
            b"tid" => self.tid = scalar(cursor)?,
            b"args" => self.args = Some(read_args(cursor)?),
            b"id" => self.id = scalar(cursor)?,
            b"id2" => self.id2 = Some(cursor.value()?),
            b"bind_id" => self.bind_id = scalar(cursor)?,
            b"s" => self.instant_scope = scalar(cursor)?,
            b"scope" => self.id_scope = scalar(cursor)?,
            b"bp" => self.binding_point = scalar(cursor)?,
            b"flow_in" => self.flow_in = cursor.value()? == b"true",
            b"flow_out" => self.flow_out = cursor.value()? == b"true",
            _ => cursor.skip_value()?,
        }
        Ok(())
    }

    /// Returns the id of an async event, and true if the id is local to its process.
    pub fn async_id(&self) -> Option<(Cow<'a, str>, bool)> {
        let mut found = None;
        for_each_member(self.id2.unwrap_or_default(), |key, value| match key.raw {
            b"local" => found = Some((value.decode(), true)),
            b"global" => found = Some((value.decode(), false)),
            _ => {}
        });
        found.or_else(|| self.id.map(|id| (id.decode(), false)))
    }

    /// Returns the end; equal to the start if there is no duration.
    pub fn end(&self) -> Option<i64> {
        self.start.nanos()?.checked_add(self.duration.nanos().unwrap_or(0))
    }
}

#[inline(always)]
fn phase(scalar: Option<Scalar<'_>>) -> u8 {
    match scalar {
        Some(Scalar::Text(text)) => text.raw.first().copied().unwrap_or(0),
        _ => 0,
    }
}

/// Reads a scalar; `null` counts as missing.
#[inline(always)]
fn scalar<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Scalar<'a>>, Stop> {
    match cursor.next_visible()? {
        b'"' => cursor.text().map(|text| Some(Scalar::Text(text))),
        b'-' | b'0'..=b'9' => cursor.number().map(|number| Some(Scalar::Other(without_zeros(number)))),
        _ => {
            let value = cursor.value()?;
            Ok((value != b"null").then_some(Scalar::Other(value)))
        }
    }
}

/// Removes leading zeros, so that the threads 07 and 7 are the same.
#[inline(always)]
fn without_zeros(number: &[u8]) -> &[u8] {
    match number {
        [b'0', b'0'..=b'9', ..] => {
            let n_zeros = number.iter().take_while(|&&digit| digit == b'0').count();
            let has_digit = number.get(n_zeros).is_some_and(u8::is_ascii_digit);
            &number[n_zeros - usize::from(!has_digit)..]
        }
        _ => number,
    }
}

#[inline(always)]
fn number<'a>(cursor: &mut Cursor<'a>) -> Result<Number<'a>, Stop> {
    match cursor.next_visible()? {
        b'-' | b'0'..=b'9' => {
            let number = cursor.number()?;
            Ok(decimal::nanos(number).map_or(Number::Unusable(number), Number::Nanos))
        }
        b'"' => {
            let text = cursor.text()?;
            Ok(decimal::nanos(text.raw).map_or(Number::Unusable(text.raw), Number::Quoted))
        }
        _ => cursor.value().map(Number::Unusable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Event<'_> {
        Event::read(&mut Cursor::new(text.as_bytes(), 0), 100).unwrap()
    }

    #[test]
    fn fields_are_found_in_any_order() {
        let text =
            r#"{ "args" : {"a":[1]}, "dur":2.5,"ts" :"7", "ph":"X","tid":"stream 7","pid":-1,"name":"a\"b","zz":[{}]}"#;
        let event = read(text);
        assert_eq!((event.phase, event.offset, event.json), (b'X', 100, text.as_bytes()));
        assert_eq!((event.start, event.duration), (Number::Quoted(7000), Number::Nanos(2500)));
        assert_eq!((event.tid.unwrap().decode(), event.pid.unwrap().decode()), ("stream 7".into(), "-1".into()));
        assert_eq!(event.name.unwrap().decode(), "a\"b");
        assert_eq!(event.args, Some(&br#"{"a":[1]}"#[..]));
        assert_eq!(event.category, None);
    }

    #[test]
    fn leading_zeros_of_numbers_are_ignored() {
        let event = read(r#"{"tid":010,"pid":000,"ts":087.830,"id":00.5}"#);
        assert_eq!((event.tid, event.pid), (Some(Scalar::Other(b"10")), Some(Scalar::Other(b"0"))));
        assert_eq!((event.start, event.id), (Number::Nanos(87_830), Some(Scalar::Other(b"0.5"))));
        assert!(event.has_invalid_number);
        assert!(!read(r#"{"tid":10,"args":{"a":"010"}}"#).has_invalid_number);
    }

    #[test]
    fn unusable_values_are_kept_as_json() {
        let event = read(r#"{"ts":null,"dur":"soon","name":null,"pid":[1],"ph":""}"#);
        assert_eq!((event.start, event.duration), (Number::Unusable(b"null"), Number::Unusable(b"soon")));
        assert_eq!((event.name, event.phase), (None, 0));
        assert_eq!(event.pid, Some(Scalar::Other(b"[1]")));
        assert_eq!(read("{}").phase, 0);
    }
}
