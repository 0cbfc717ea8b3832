//! Finds the events of a document, damaged or not.
//!
//! A scanner keeps its state between calls, so that a document can be scanned in pieces. After damage it continues with
//! the next whole event and reports the skipped bytes as a [`Loss`].

use super::event::{Arg, Event, Number};
use super::loss::Loss;
use crate::Error;
use crate::chrome::cursor::{Cursor, Stop};
use crate::chrome::text::Text;
use memchr::memchr;

/// Receives the events, losses and fields of a document.
pub trait EventSink {
    /// Receives an event, in the order of the file.
    fn event(&mut self, event: &Event<'_>);
    /// Receives a part that was skipped.
    fn loss(&mut self, loss: Loss);
    /// Receives a field of the object around the list of events, with its value as JSON.
    fn field(&mut self, key: Text<'_>, value: &[u8]);
    /// Returns true if events are to be received with [`Event::wanted_args`]. It is cheaper to find arguments while an
    /// event is read than afterwards.
    fn wants_args(&self) -> bool {
        false
    }
    /// Returns the number that [`Event::wanted_args`] is to state for arguments with this key; `None` if it is not to
    /// have them.
    fn wanted_arg(&self, _key: &[u8]) -> Option<u32> {
        None
    }
}

impl<S: EventSink + ?Sized> EventSink for &mut S {
    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        (**self).event(event);
    }

    fn loss(&mut self, loss: Loss) {
        (**self).loss(loss);
    }

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        (**self).field(key, value);
    }

    #[inline]
    fn wants_args(&self) -> bool {
        (**self).wants_args()
    }

    #[inline]
    fn wanted_arg(&self, key: &[u8]) -> Option<u32> {
        (**self).wanted_arg(key)
    }
}

/// The structure of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentShape {
    /// A list of events.
    Array,
    /// An object with a list `traceEvents`.
    Object,
    /// Events one after another, without a list.
    Lines,
}

/// The position of a scanner in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    /// In the object, outside the list.
    Fields,
    /// In the list.
    Events {
        /// True after an event, where a comma or the end of the list must follow.
        needs_comma: bool,
    },
    Done,
}

/// Describes the input after the current bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoreInput {
    /// More bytes follow.
    Coming,
    /// More bytes follow, but the incomplete value exceeds the maximum length.
    TooLong,
    /// The input ends here.
    Nothing,
}

/// Maximum size of an event, and of a field of the object around the list.
pub(crate) const VALUE_BYTES_MAX: usize = 64 << 20;

/// Number of input bytes that are quoted in a message.
const SHOWN_BYTES: usize = 24;

/// Limit for repeated reading after damage: per byte of damage, and a minimum.
const TRIES_PER_BYTE: u64 = 16;
const TRIES_MIN: u64 = 1 << 20;

/// Precedes each document of a stream with several, as in RFC 7464.
pub(crate) const DOCUMENT_SEPARATOR: u8 = 0x1e;

/// The UTF-8 byte order mark, which some producers write at the start of a file.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Finds the events of a document.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    state: State,
    shape: DocumentShape,
    /// Damage whose end has not been found yet.
    damage: Option<Damage>,
    /// Keys of the object before the list is found, for the error message about a file without a list.
    keys: Vec<String>,
    has_list: bool,
}

#[derive(Clone, Debug)]
struct Damage {
    since: u64,
    reason: String,
    /// Number of bytes that were read again without success.
    tried: u64,
}

impl Scanner {
    /// Creates a scanner at the start of a document.
    pub(crate) fn new() -> Self {
        Self { state: State::Start, shape: DocumentShape::Array, damage: None, keys: Vec::new(), has_list: false }
    }

    /// Creates a scanner in the middle of a list, before an event.
    pub(crate) fn before_event(shape: DocumentShape) -> Self {
        Self { state: State::Events { needs_comma: false }, shape, has_list: true, ..Self::new() }
    }

    /// Returns true if the scanner is in the same state as [`before_event`](Self::before_event) of that shape.
    pub(crate) fn is_before_event(&self, shape: DocumentShape) -> bool {
        self.state == State::Events { needs_comma: false } && self.shape == shape && self.damage.is_none()
    }

    /// Returns the structure of the document, as far as known.
    pub(crate) fn shape(&self) -> DocumentShape {
        self.shape
    }

    /// Returns true if the list of events has been found.
    pub(crate) fn has_list(&self) -> bool {
        self.has_list
    }

    /// Scans the complete values in `bytes`, which start at offset `base` of the file. Returns the number of bytes that
    /// are no longer needed; the caller passes the others again, followed by more.
    ///
    /// # Errors
    ///
    /// If the input is not a trace.
    pub(crate) fn scan(
        &mut self,
        bytes: &[u8],
        base: u64,
        more: MoreInput,
        sink: &mut impl EventSink,
    ) -> Result<usize, Error> {
        let mut cursor = Cursor::new(bytes, 0);
        let mut args = Vec::new();
        let position = ScanPosition { base, more };
        loop {
            let step = match self.damage {
                Some(_) => self.seek_event(&mut cursor, position, sink),
                None => self.step(&mut cursor, position, sink, &mut args)?,
            };
            match step {
                Step::Done => {}
                Step::Waits => {
                    if more == MoreInput::Coming {
                        return Ok(cursor.at());
                    }
                    // The input ends here, so an incomplete value is truncated.
                    return self.end(&cursor, position, sink);
                }
            }
        }
    }

    fn end(&mut self, cursor: &Cursor<'_>, position: ScanPosition, sink: &mut impl EventSink) -> Result<usize, Error> {
        let end = cursor.bytes().len();
        if position.more == MoreInput::Nothing {
            if let Some(damage) = self.damage.take() {
                sink.loss(damage.until(position.base + end as u64));
            }
            if !self.has_list {
                return Err(self.no_list(position.base + end as u64));
            }
        }
        Ok(end)
    }

    fn step<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        position: ScanPosition,
        sink: &mut impl EventSink,
        args: &mut Vec<Arg<'a>>,
    ) -> Result<Step, Error> {
        cursor.skip_space();
        let Some(byte) = cursor.peek() else {
            return Ok(Step::Waits);
        };
        if byte == DOCUMENT_SEPARATOR {
            cursor.step();
            self.state = State::Start;
            return Ok(Step::Done);
        }
        match self.state {
            State::Start => self.start(byte, cursor, position),
            State::Fields => Ok(self.field(byte, cursor, position, sink)),
            State::Events { needs_comma } => Ok(self.element(byte, needs_comma, cursor, position, sink, args)),
            State::Done => {
                let at = cursor.at();
                Ok(self.damaged(cursor, at, position, "expected the end of the file, found more"))
            }
        }
    }

    fn start(&mut self, byte: u8, cursor: &mut Cursor<'_>, position: ScanPosition) -> Result<Step, Error> {
        match byte {
            b'[' => {
                cursor.step();
                self.begin_list(DocumentShape::Array);
                Ok(Step::Done)
            }
            b'{' => self.start_object(cursor, position),
            _ if cursor.bytes()[cursor.at()..].starts_with(BYTE_ORDER_MARK) => {
                cursor.jump(cursor.at() + BYTE_ORDER_MARK.len());
                Ok(Step::Done)
            }
            _ if position.more == MoreInput::Coming && cursor.bytes().len() < cursor.at() + SHOWN_BYTES => {
                Ok(Step::Waits)
            }
            // An invalid document does not affect the other documents of the stream.
            _ if self.has_list => {
                let at = cursor.at();
                Ok(self.damaged(cursor, at, position, "expected `[` or `{` at the start of a document"))
            }
            _ => {
                let found = describe(&cursor.bytes()[cursor.at()..]);
                Err(Error::malformed(
                    position.base + cursor.at() as u64,
                    "a trace: JSON that begins with `[` or `{`",
                    found,
                ))
            }
        }
    }

    /// Handles an object, which either contains the list of events or is an event itself.
    fn start_object(&mut self, cursor: &mut Cursor<'_>, position: ScanPosition) -> Result<Step, Error> {
        let begin = cursor.at();
        let is_event = is_event(cursor);
        let has_ended = cursor.at() >= cursor.bytes().len();
        cursor.jump(begin);
        if has_ended && position.more == MoreInput::Coming {
            return Ok(Step::Waits);
        }
        if is_event {
            self.begin_list(DocumentShape::Lines);
        } else {
            cursor.step();
            (self.state, self.shape) = (State::Fields, DocumentShape::Object);
        }
        Ok(Step::Done)
    }

    fn begin_list(&mut self, shape: DocumentShape) {
        self.shape = shape;
        self.has_list = true;
        self.state = State::Events { needs_comma: false };
    }

    fn field(&mut self, byte: u8, cursor: &mut Cursor<'_>, position: ScanPosition, sink: &mut impl EventSink) -> Step {
        match byte {
            b',' => cursor.step(),
            b'}' => {
                cursor.step();
                self.state = State::Done;
            }
            _ => return self.named_field(cursor, position, sink),
        }
        Step::Done
    }

    fn named_field(&mut self, cursor: &mut Cursor<'_>, position: ScanPosition, sink: &mut impl EventSink) -> Step {
        let begin = cursor.at();
        let mut read = || {
            let key = cursor.key()?;
            if key.raw == b"traceEvents" && cursor.next_visible()? == b'[' {
                cursor.step();
                return Ok((key, None));
            }
            Ok((key, Some(cursor.value()?)))
        };
        match read() {
            Ok((_, None)) => self.begin_list(DocumentShape::Object),
            Ok((key, Some(value))) => {
                if self.keys.len() < 8 && !self.has_list {
                    self.keys.push(key.decode().into_owned());
                }
                sink.field(key, value);
            }
            Err(stop) => return self.stopped(cursor, begin, stop, position),
        }
        Step::Done
    }

    #[inline(always)]
    fn element<'a>(
        &mut self,
        byte: u8,
        needs_comma: bool,
        cursor: &mut Cursor<'a>,
        position: ScanPosition,
        sink: &mut impl EventSink,
        args: &mut Vec<Arg<'a>>,
    ) -> Step {
        match byte {
            b'{' => self.object(needs_comma, cursor, position, sink, args),
            b',' => {
                if !needs_comma {
                    sink.loss(position.loss(cursor.at(), 1, "expected an event, found another `,`"));
                }
                cursor.step();
                self.state = State::Events { needs_comma: false };
                Step::Done
            }
            b']' => {
                cursor.step();
                self.state = if self.shape == DocumentShape::Object { State::Fields } else { State::Done };
                Step::Done
            }
            _ => self.no_event(cursor, position, sink),
        }
    }

    #[inline(always)]
    fn object<'a>(
        &mut self,
        needs_comma: bool,
        cursor: &mut Cursor<'a>,
        position: ScanPosition,
        sink: &mut impl EventSink,
        args: &mut Vec<Arg<'a>>,
    ) -> Step {
        let begin = cursor.at();
        let wants_args = sink.wants_args();
        let event = match wants_args {
            true => Event::read_with_args(cursor, position.base, |key| sink.wanted_arg(key), args),
            false => Event::read(cursor, position.base),
        };
        match event {
            Ok(event) => {
                let event = Event { wanted_args: wants_args.then_some(&**args), ..event };
                if needs_comma && self.shape != DocumentShape::Lines {
                    sink.loss(position.loss(begin, 0, "expected `,` between events, found none"));
                }
                sink.event(&event);
                self.state = State::Events { needs_comma: true };
                Step::Done
            }
            Err(stop) => self.stopped(cursor, begin, stop, position),
        }
    }

    /// Handles an element that is not an object.
    fn no_event(&mut self, cursor: &mut Cursor<'_>, position: ScanPosition, sink: &mut impl EventSink) -> Step {
        let begin = cursor.at();
        match cursor.skip_value() {
            Ok(()) => {
                let found = describe(&cursor.bytes()[begin..cursor.at()]);
                sink.loss(position.loss(begin, cursor.at() - begin, &format!("expected an event, found {found}")));
                self.state = State::Events { needs_comma: true };
                Step::Done
            }
            Err(stop) => self.stopped(cursor, begin, stop, position),
        }
    }

    /// Handles a value, starting at `begin`, that could not be read.
    fn stopped(&mut self, cursor: &mut Cursor<'_>, begin: usize, stop: Stop, position: ScanPosition) -> Step {
        match (stop, position.more) {
            (Stop::End, MoreInput::Coming) => {
                cursor.jump(begin);
                Step::Waits
            }
            (Stop::End, MoreInput::TooLong) => self.damaged(cursor, begin, position, "longer than 64 MiB"),
            (Stop::End, MoreInput::Nothing) => {
                self.damaged(cursor, begin, position, "the file ends in the middle of it")
            }
            // The message quotes the input, so wait until enough of it is available.
            (Stop::Bad { at, .. }, MoreInput::Coming) if cursor.bytes().len() < at + SHOWN_BYTES => {
                cursor.jump(begin);
                Step::Waits
            }
            (Stop::Bad { at, expected }, _) => {
                let found = describe(cursor.bytes().get(at..).unwrap_or_default());
                let reason = format!("expected {expected} at byte {}, found {found}", position.base + at as u64);
                self.damaged(cursor, begin, position, &reason)
            }
        }
    }

    fn damaged(&mut self, cursor: &mut Cursor<'_>, begin: usize, position: ScanPosition, reason: &str) -> Step {
        self.damage = Some(Damage { since: position.base + begin as u64, reason: reason.to_owned(), tried: 0 });
        cursor.jump(begin);
        Step::Done
    }

    /// Searches for the next whole event after damage.
    fn seek_event(&mut self, cursor: &mut Cursor<'_>, position: ScanPosition, sink: &mut impl EventSink) -> Step {
        let Some(damage) = &mut self.damage else {
            return Step::Done;
        };
        let Some(distance) = cursor.bytes().get(cursor.at()..).and_then(|rest| memchr(b'{', rest)) else {
            cursor.jump(cursor.bytes().len());
            return Step::Waits;
        };
        let candidate = cursor.at() + distance;
        cursor.jump(candidate);
        let failed_at = match Event::read(cursor, position.base) {
            Ok(event) if is_surely_event(&event) => {
                let until = position.base + candidate as u64;
                let damage = damage.clone();
                self.damage = None;
                self.has_list = true;
                self.state = State::Events { needs_comma: false };
                sink.loss(damage.until(until));
                cursor.jump(candidate);
                return Step::Done;
            }
            Ok(_) => cursor.at(),
            Err(Stop::End) if position.more == MoreInput::Coming => {
                cursor.jump(candidate);
                return Step::Waits;
            }
            Err(Stop::End) => cursor.bytes().len(),
            Err(Stop::Bad { at, .. }) => at,
        };
        damage.tried += (failed_at - candidate) as u64;
        let passed = position.base + candidate as u64 - damage.since;
        let is_futile = damage.tried > TRIES_MIN + TRIES_PER_BYTE * passed;
        cursor.jump(if is_futile { failed_at.max(candidate + 1) } else { candidate + 1 });
        Step::Done
    }

    fn no_list(&self, offset: u64) -> Error {
        let expected = "a trace: a list of events, or an object with a list `traceEvents`";
        let found = match (self.state, self.keys.as_slice()) {
            (State::Start, _) => "nothing".to_owned(),
            (_, []) => "an object without fields".to_owned(),
            (_, keys) => format!("an object with the fields `{}`", keys.join("`, `")),
        };
        Error::malformed(if self.state == State::Start { offset } else { 0 }, expected, found)
    }
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

enum Step {
    Done,
    /// More bytes are needed.
    Waits,
}

#[derive(Clone, Copy)]
struct ScanPosition {
    base: u64,
    more: MoreInput,
}

impl ScanPosition {
    fn loss(self, at: usize, n_bytes: usize, reason: &str) -> Loss {
        Loss { offset: self.base + at as u64, n_bytes: n_bytes as u64, reason: reason.to_owned() }
    }
}

impl Damage {
    fn until(self, end: u64) -> Loss {
        Loss { offset: self.since, n_bytes: end.saturating_sub(self.since), reason: self.reason }
    }
}

/// Returns true if an object found after damage is an event, not the arguments of one.
fn is_surely_event(event: &Event<'_>) -> bool {
    event.phase != 0 && (event.pid.is_some() || event.start != Number::Missing)
}

/// Returns true if an object is an event rather than an object with a list of events, which may have the same fields.
fn is_event(cursor: &mut Cursor<'_>) -> bool {
    let mut has_phase = false;
    let mut has_list = || {
        cursor.expect(b'{', "`{`").ok()?;
        loop {
            cursor.skip_space();
            match cursor.key().ok()?.raw {
                b"ph" => has_phase = true,
                b"traceEvents" => return Some(()),
                _ => {}
            }
            cursor.skip_value().ok()?;
            cursor.expect(b',', "`,`").ok()?;
        }
    };
    has_list().is_none() && has_phase
}

/// Quotes the start of the input for a message.
pub(crate) fn describe(bytes: &[u8]) -> String {
    let Some(&first) = bytes.first() else {
        return "nothing".to_owned();
    };
    let start = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let is_text = start.iter().all(|&byte| byte >= b' ' || matches!(byte, b'\n' | b'\r' | b'\t'));
    match std::str::from_utf8(start) {
        Ok(text) if is_text => {
            let line = text.lines().next().unwrap_or_default();
            if line.is_empty() { "the end of a line".to_owned() } else { format!("`{line}`") }
        }
        _ => format!("byte {first:#04x}"),
    }
}
